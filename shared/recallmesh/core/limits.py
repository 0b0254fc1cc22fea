"""The sizes beyond which a request is refused; each error names its limit, and docs/limits.md lists them."""

BANK_ID_CHARS = 128
CONTENT_BYTES = 1_048_576
"""UTF-8 bytes of the text of one item: below gRPC's default message limit of 4 MiB with room for the rest."""
ITEMS_PER_CALL = 1_000
TAG_BYTES = 256
TAGS_PER_ITEM = 64
METADATA_KEYS = 64
METADATA_BYTES = 8_192
"""UTF-8 bytes of all keys and values of one item."""
CONTEXT_BYTES = 4_096
DOCUMENT_ID_BYTES = 512
REQUEST_ID_BYTES = 128
ENTITIES_PER_ITEM = 64
QUERY_TOKENS = 500
QUERY_BYTES = 65_536
"""A query of more bytes is refused unread: it cannot be within QUERY_TOKENS in any language people write."""
MAX_TOKENS = 1_000_000
MESSAGE_BYTES = 4_194_304
"""gRPC's own default for what a client accepts; no response of ours exceeds it."""
