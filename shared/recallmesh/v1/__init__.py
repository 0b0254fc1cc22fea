"""Generated from protos/recallmesh/v1 by protos/generate.py; never edited."""
