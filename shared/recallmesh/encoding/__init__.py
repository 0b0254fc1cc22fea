"""What encoders of any make share: how texts are put into batches, and torch, where a model runs on it."""
