"""Who calls: API keys, tokens, and the key by which the mesh's own processes know each other."""
