"""Files that a person has, as items to retain: one reader a kind of file, and a registry of them."""
