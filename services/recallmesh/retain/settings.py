"""What an operator may set about retain."""

from enum import StrEnum
from typing import Self

from pydantic import BaseModel, Field, SecretStr, model_validator


class LlmSettings(BaseModel, extra="forbid", frozen=True):
    """A language model that makes facts and observations, at any endpoint of OpenAI's protocol. Absent: rules do."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    """Where the endpoint is, up to ``/chat/completions``: ``https://api.openai.com/v1``. Absent: there is none."""
    model: str = ""
    """The model's name at the endpoint; needed with ``url``."""
    api_key: SecretStr = SecretStr("")
    """The key that the endpoint asks for. Empty: none is sent that means anything."""
    vision: bool = False
    """Whether the model reads images; without, what is retained with attachments is refused."""
    timeout_s: float = Field(default=45.0, gt=0)
    """The longest that one answer of the model may take, in seconds; then it is asked again."""
    in_flight: int = Field(default=4, ge=1, le=256)
    """The most questions that this process has the model answer at once."""
    reply_tokens: int = Field(default=8192, ge=256)
    """The longest answer, in tokens; one that would be longer is asked for in parts."""
    call_tokens: int = Field(default=1_000_000, ge=1000)
    """The most tokens, read and written, that one call of retain may cost; beyond, it fails and keeps nothing."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.url and not self.model:
            raise ValueError("a url needs a model: which of the endpoint's is meant?")
        return self


class Names(StrEnum):
    """What finds the names in a text where no LLM does."""

    RULES = "rules"
    SPACY = "spacy"
    GLINER = "gliner"


class RetainSettings(BaseModel, extra="forbid", frozen=True):
    """Settings of the retain service."""

    address: str | None = None
    """Where the retain service is (``host:port``). Absent: in this process."""
    timeout_s: float = Field(default=60.0, gt=0)
    """The longest a retain may take, in seconds."""
    names: Names = Names.RULES
    """What finds names: ``rules`` alone, or with them a model of ``spacy`` or ``gliner``, each an extra of its own."""
    names_model: str = ""
    """The model: for ``spacy`` a pipeline's package or folder (``en_core_web_sm``), for ``gliner`` a folder of ONNX."""
    arm_timeout_s: float = Field(default=10.0, gt=0)
    """How long a retain waits for an arm, in seconds; what is not stored then, the outbox delivers."""
    batches: int = Field(default=4, ge=1, le=64)
    """How many batches of bulk loads are worked on at once, over all of them; so that one embeds while another is
    written. A stream has as many in hand, and is held back beyond them."""
    outbox_poll_s: float = Field(default=0.5, gt=0)
    """How often the outbox is looked at when nobody woke its worker, in seconds."""
    outbox_batch: int = Field(default=200, ge=1, le=1000)
    """The most memories delivered to an arm at once."""
    outbox_lease_s: float = Field(default=15.0, gt=0)
    """How long after a worker's death another may deliver its batch, in seconds; one alive keeps it longer."""
    consolidation: bool = False
    """Whether new facts are consolidated into observations, in banks that do not say themselves."""
    consolidation_delay_s: float = Field(default=5.0, ge=0)
    """How long after a retain its bank is consolidated, in seconds: what comes meanwhile is consolidated with it."""
    consolidation_again_s: float = Field(default=30.0, gt=0)
    """How long after a consolidation its bank is consolidated once more, in seconds, if an index had yet to get some of
    its facts, or something was away."""
    job_lease_s: float = Field(default=30.0, gt=0)
    """How long after a worker's death another takes its operation over, in seconds; one alive keeps it longer."""
