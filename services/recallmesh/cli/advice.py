"""What to do next, for every error that a person meets."""

import argparse
import shlex
from collections.abc import Iterator

from recallmesh.cli.address import SERVER, address_of, place_of
from recallmesh.core.errors import InvalidArgument, MeshError

ELSEWHERE = "the mesh may be starting, or too busy; try again, and see the server's log"
ADVICE = {
    "BANK_NOT_FOUND": "see the banks: recallmesh bank list{place}\n  make one: recallmesh bank create {bank}{place}",
    "BANK_EXISTS": "use it as it is, or delete it first: recallmesh bank delete {bank}{place}",
    "ATTACHMENT_NOT_FOUND": "the ids of images are in recall: recallmesh recall --bank {bank} QUERY --json{place}",
    "ENTITY_NOT_FOUND": "see them: recallmesh entity list --bank {bank}{place}",
    "NOT_READY": "nothing was changed: put right what the line above names, then say it again",
    "NO_VISION_MODEL": "set up a model that reads images (RECALLMESH_LLM__VISION, docs/settings.md), or leave them out",
    "REQUEST_ID_REUSED": "an earlier call has that request id and said something else: choose another",
    "FORBIDDEN": "ask whoever runs the mesh for the right to do this",
    "UNAUTHENTICATED": "set RECALLMESH_KEY to a key that is good: whoever runs the mesh makes one (recallmesh key new)",
    "QUOTA_EXCEEDED": "try again in a while, or ask whoever runs the mesh for more",
    "DEFENSE_BLOCKED": "what the bank keeps out: recallmesh bank show {bank} --effective{place}",
    "NAME_TAKEN": "see whose it is: recallmesh entity show --bank {bank} NAME{place}",
    "DOCUMENT_NOT_FOUND": "see the documents: recallmesh document list --bank {bank}{place}",
    "MEMORY_NOT_FOUND": "see the memories: recallmesh memory list --bank {bank}{place}",
    "OPERATION_NOT_FOUND": "see the operations: recallmesh operation list --bank {bank}{place}",
    "CONFLICTING_WRITE": "somebody else has changed it meanwhile: look, and say it again",
    "RECALL_UNAVAILABLE": "no arm answered: the server's log has the reason of each",
    "EMBEDDING_MISMATCH": "set the embedder back, or choose another --data folder and retain again",
    "DEADLINE_EXCEEDED": "try again with --budget low, or raise the part's …__TIMEOUT_S (docs/settings.md)",
    "OVERLOADED": "try again in a moment; fewer calls at once help",
    "EXTRACTION_FAILED": "nothing was kept; try again, or see the server's log for what was wrong with the answers",
    "UNIMPLEMENTED": "the server is of another version or hosts no such part: recallmesh serve all",
    "INTERNAL": "this is a fault of recallmesh; the log has the details",
}

CALLERS_OWN = {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "UNIMPLEMENTED"}
"""Codes of what the caller has to put right: the server's log says nothing of it."""


def lines_of(error: MeshError, words: argparse.Namespace) -> Iterator[str]:
    """Yield the message, a line for each refused field, then what to do next."""
    if isinstance(error, InvalidArgument):
        for violation in error.violations:
            yield f"recallmesh: {violation.field}: {violation.description}"
    else:
        yield f"recallmesh: {error.message}"
    yield f"  {_next(error, words)}"
    request_id = error.metadata.get("request_id")
    if request_id and error.code not in CALLERS_OWN:
        yield f"  request id {request_id}, as in the server's log"


def _next(error: MeshError, words: argparse.Namespace) -> str:
    if isinstance(error, InvalidArgument):
        return _look_up(error, words)
    if error.reason == "STORE_UNAVAILABLE":
        return _reach(error, words)
    bank = getattr(words, "bank", None)
    quoted = shlex.quote(bank) if bank else "BANK"
    return ADVICE.get(error.reason, ELSEWHERE).format(bank=quoted, place=place_of(words))


def _look_up(error: InvalidArgument, words: argparse.Namespace) -> str:
    fields = {violation.field for violation in error.violations}
    if fields == {"listen"}:
        return "choose another address: --listen HOST:PORT, or RECALLMESH_SERVE__LISTEN; port 0 takes any free one"
    if fields == {SERVER}:
        return f"set {SERVER} right, or unset it: then the mesh is in this process, on the files of --data"
    if any(field.upper().startswith("RECALLMESH_") for field in fields):
        return "unset it or set it right; every setting: recallmesh check-config --all, or docs/settings.md"
    return f"{_hint(fields, words)}how it is used: recallmesh {words.usage} --help"


def _hint(fields: set[str], words: argparse.Namespace) -> str:
    """Return what else to know, as lines before the last."""
    if getattr(words, "file", None) and any(field.startswith("line ") for field in fields):
        return (
            "--skip-bad leaves wrong lines out, and says which"
            "\n  a file that is no JSONL (.md, .eml, .html, .pdf, a chat) goes without --file\n  "
        )
    if fields == {"url"} and words.usage.startswith("webhook"):
        allowing = "RECALLMESH_EVENTS__WEBHOOK_HTTP, RECALLMESH_EVENTS__WEBHOOK_PRIVATE"
        return f"whoever runs the mesh may allow more: {allowing}\n  "
    return ""


def _reach(error: MeshError, words: argparse.Namespace) -> str:
    if words.usage == "health":
        return "its log says why; one that starts lives before it is ready: recallmesh health --live"
    address = address_of(words)
    return _reach_there(error, address) if address else _reach_here(error)


def _reach_there(error: MeshError, address: str) -> str:
    if "TLS" in error.message or "certificate" in error.message:
        return (
            f"what does the mesh at {address} speak? --ca FILE (RECALLMESH_CA) names whose certificate it has, "
            "--server-name the name in it\n  --cert and --cert-key are a certificate of one's own, for a mesh that asks"
        )
    return f"is a mesh at {address}? start one: recallmesh serve all; or leave --server (RECALLMESH_SERVER) away"


def _reach_here(error: MeshError) -> str:
    if error.message.startswith("the embedder at "):
        return (
            "start it: recallmesh serve embedder; or unset RECALLMESH_EMBEDDER__ADDRESS: then it runs in this process"
        )
    if error.message.startswith(("the server of encoders ", "the embedder's endpoint ")):
        return "is it running, and do RECALLMESH_EMBEDDER__URL and RECALLMESH_RERANKER__URL lead to it? docs/models.md"
    if error.message.startswith("the ledger's database "):
        return "is it running, and does RECALLMESH_LEDGER__URL lead to it? recallmesh doctor looks at every store"
    if "another process" in error.message:
        return (
            "a folder has one process: if that is `recallmesh serve`, talk to it: --server 127.0.0.1:7070 (its address)"
            "\n  else wait for it to end, or choose another folder with --data"
        )
    return "check the folder (--data, RECALLMESH_DATA) and its rights; recallmesh check-config shows which it is"
