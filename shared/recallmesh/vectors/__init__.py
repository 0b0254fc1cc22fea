"""The vector index: an embedded one in a worker process of its own, behind the port of ``core.vectors``."""
