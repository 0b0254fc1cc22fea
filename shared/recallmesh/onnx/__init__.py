"""What the encoders on ONNX Runtime share: model files, sessions, tokenizers and the pool of workers."""
