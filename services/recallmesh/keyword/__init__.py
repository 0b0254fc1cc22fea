"""The keyword arm: BM25 over the words of memories, and its embedded store."""
