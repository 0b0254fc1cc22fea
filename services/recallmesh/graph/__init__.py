"""The graph arm: memories reached through the entities they share and the links between them."""
