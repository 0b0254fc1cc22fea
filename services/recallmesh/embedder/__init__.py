"""The embedder: makes unit vectors of texts."""
