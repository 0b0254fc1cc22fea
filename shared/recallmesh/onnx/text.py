"""Text as tokenizers take it."""


def well_formed(text: str) -> str:
    """Return a text without lone surrogates, which no tokenizer takes; halves of a pair are joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
