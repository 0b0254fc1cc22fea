"""The tokenizers of the models: what a model reads instead of text."""

import json
from pathlib import Path

from tokenizers import Tokenizer

from recallmesh.core.errors import StoreUnavailable

PADDING = ("[PAD]", "<pad>")
"""What models of the two common families call it."""


def load_tokenizer(path: Path) -> Tokenizer:
    """Return a model's tokenizer without the padding and truncation it was saved with; text stays text.

    Raises:
        StoreUnavailable: the file is none.

    """
    message = f"tokenizer of model {path.parent.name!r} cannot be loaded"
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
    except (OSError, ValueError) as error:
        raise StoreUnavailable(message) from error
    # Looked at first because the library raises a bare Exception, which nothing here may catch.
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise StoreUnavailable(message)
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "[SEP]" in somebody's text must not end the text
    return tokenizer


def padding(tokenizer: Tokenizer) -> int:
    """Return the token that a model's batches are filled up with; it is masked, so that any is better than none."""
    known = (tokenizer.token_to_id(name) for name in PADDING)
    return next((token for token in known if token is not None), 0)
