"""The sizes beyond which a request is refused; each error names its limit, and docs/limits.md lists them."""

BANK_ID_CHARS = 128
"""Characters of a bank's id."""
BANK_NAME_BYTES = 512
"""UTF-8 bytes of a bank's name for people."""
CONTENT_BYTES = 1_048_576
"""UTF-8 bytes of the text of one item: below gRPC's default message limit of 4 MiB with room for the rest."""
ATTACHMENT_BYTES = 2_097_152
"""Bytes of one attachment."""
ATTACHMENTS_PER_ITEM = 16
"""Attachments of one item."""
CALL_ATTACHMENT_BYTES = 3_145_728
"""Bytes of all attachments of one call of retain: below gRPC's default message limit with room for the text."""
ATTACHMENT_PIECE_BYTES = 1_048_576
"""Bytes of an attachment that come at once when it is read."""
ITEMS_PER_CALL = 1_000
"""Items of one call of retain."""
TAG_BYTES = 256
"""UTF-8 bytes of one tag."""
TAGS_PER_ITEM = 64
"""Tags of one item, those of its call among them."""
METADATA_KEYS = 64
"""Keys of one item's metadata."""
METADATA_BYTES = 8_192
"""UTF-8 bytes of all keys and values of one item."""
CONTEXT_BYTES = 4_096
"""UTF-8 bytes of one item's context."""
DOCUMENT_ID_BYTES = 512
"""UTF-8 bytes of a document's id."""
RECEIPT_BYTES = 2_048
"""UTF-8 bytes of an item's pointer into a receipt system: as long as a URL may be."""
REQUEST_ID_BYTES = 128
"""UTF-8 bytes of a request id."""
ENTITIES_PER_ITEM = 64
"""Entities that one item names."""
SCOPES = 32
"""Scopes of consolidation that one item, or a bank of its own, names. Facts with more by their tags are in as many."""
MISSION_BYTES = 16_384
"""UTF-8 bytes of a bank's mission, and as many of its instructions: each goes into every prompt."""
AGENT_NAMES = 64
"""Names under which a bank's own agent speaks; each is as long as a tag at most."""
LANGUAGE_BYTES = 35
"""Bytes of the name of a language; RFC 5646 knows none that is longer."""
LABELS_BYTES = 1_048_576
"""UTF-8 bytes of all keys, values and descriptions of a vocabulary: a bank is told in one message."""
LABEL_KEYS = 64
"""Keys of a bank's vocabulary of labels."""
LABEL_VALUES = 1_000
"""Values of one key of a vocabulary; a label, `key:value`, is as long as a tag at most."""
LABEL_ABOUT_BYTES = 1_024
"""UTF-8 bytes of what a vocabulary says that a key means."""
ENTITIES_PER_MERGE = 100
"""Entities that one call merges into another."""
MEMORIES_PER_SPLIT = 1_000
"""Memories, and aliases, that one call of a split moves."""
QUERY_TOKENS = 500
"""Tokens of a query."""
QUERY_BYTES = 65_536
"""A query of more bytes is refused unread: it cannot be within QUERY_TOKENS in any language people write."""
MAX_TOKENS = 1_000_000
"""Tokens that a recall may be asked to return (`max_tokens`)."""
WEBHOOKS_PER_BANK = 16
"""Webhooks of one bank."""
WEBHOOK_URL_BYTES = 2_048
"""UTF-8 bytes of a webhook's URL."""
WEBHOOK_SECRET_BYTES = 256
"""UTF-8 bytes of a webhook's secret, which has at least 16."""
MESSAGE_BYTES = 4_194_304
"""gRPC's own default for what a client accepts; no response of ours exceeds it."""
JSON_BYTES = 8_388_608
"""Bytes of one request as JSON, at the JSON door: of a body, or of a line of a stream. JSON writes bytes and escapes
longer than a message does, which is held to MESSAGE_BYTES all the same."""
