"""Recall's answer within one message: what would not fit is left out, the least important first, and it says so."""

from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.v1 import recall_service_pb2 as pb

ANSWER_BYTES = MESSAGE_BYTES - 65_536
"""What an answer may have, with room for what counts what was left out."""


def fitted(answer: pb.RecallResponse) -> pb.RecallResponse:
    """Shorten an answer that is too large: the trace's texts, its candidates, source facts, chunks, last memories."""
    over = answer.ByteSize() - ANSWER_BYTES
    if over <= 0:
        return answer
    answer.truncated = True
    if answer.HasField("trace"):
        answer.trace.truncated = True
        for candidate in reversed(answer.trace.candidates):
            if over <= 0:
                return answer
            over -= len(candidate.text.encode())
            candidate.text = ""
    facts = len(answer.source_facts)
    for rows in (answer.trace.candidates, answer.source_facts, answer.chunks):
        while over > 0 and rows:
            over -= rows.pop().ByteSize()
    answer.omitted_source_fact_count += facts - len(answer.source_facts)
    while over > 0 and len(answer.memories) > 1:
        dropped = answer.memories.pop()
        over -= dropped.ByteSize()
        answer.omitted_count += 1
        answer.token_count -= dropped.memory.token_count
    return answer
