"""Answers as server-sent events, in the words of the HTML standard."""

MEDIA_TYPE = "text/event-stream"
HEARTBEAT = b": still here\n\n"
"""A comment, which every reader of events passes over."""


def message(answer: bytes) -> bytes:
    """Write an answer: JSON without line breaks."""
    return b"data: " + answer + b"\n\n"


def end() -> bytes:
    """Write that all has been said; a browser would else take the end for a fault, and ask again."""
    return b"event: end\ndata: {}\n\n"


def problem(written: bytes) -> bytes:
    """Write why no more comes."""
    return b"event: problem\ndata: " + written + b"\n\n"
