"""The JSON door: the public services over HTTP, for those who do not speak gRPC."""
