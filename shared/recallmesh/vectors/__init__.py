"""The vector index: embedded in a worker process, or on a Qdrant server, behind the port of ``core.vectors``."""
