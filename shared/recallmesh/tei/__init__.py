"""Hugging Face's Text Embeddings Inference, a server of encoders, as the embedder and the reranker use it."""
