"""The wire as a plug-in: the only package that knows gRPC, protobuf and the generated code."""
