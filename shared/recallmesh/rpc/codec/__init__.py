"""Translates every noun and request between the core and the protos, both ways."""
