"""A bank that keeps secrets and personal data out: nothing of them is found anywhere, over the wire and on disk."""

import pytest
from deployment import NOW, every, until

from recallmesh.core.bank import BankConfig
from recallmesh.core.defense import DefenseAction, DefenseTuning
from recallmesh.core.errors import DefenseBlocked
from recallmesh.core.operation import FINISHED
from recallmesh.core.retain import RetainItem

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

REDACT, BLOCK = DefenseAction
WORD = "hunter2" + "!zq"
MAIL = "nadia.berg" + "@mail.example"


def traces(mesh, *words):
    """Return the files and logs that hold one of the words."""
    files = [path for path in mesh.data.rglob("*") if path.is_file()]
    held = [path.name for path in files if any(word.encode() in path.read_bytes() for word in words)]
    return held + [name for name, said in mesh.logs() if any(word in said for word in words)]


@pytest.mark.parametrize("wait", [True, False])
async def test_what_is_redacted_is_on_no_disk_and_in_no_log(mesh, wait):
    diary = await mesh.diary(BankConfig(defense=DefenseTuning(secret=REDACT, personal_data=REDACT)))
    said = f"The boathouse's password is {WORD}, ask {MAIL}."
    answer = await diary.retain(
        RetainItem((said,), time=NOW, metadata={"by": MAIL}, receipt_uri="urn:receipt:1"), wait=wait
    )
    if not wait:

        async def done():
            state = (await mesh.faces.admin.get_operation(diary.ref, answer.operation_id)).state
            return state in FINISHED

        await until(done)
    kept = "The boathouse's password is [redacted: password], ask [redacted: email]."
    assert await diary.words("boathouse") == [kept]
    [memory] = await diary.memories()
    assert dict(memory.metadata) == {"by": "[redacted: email]"}
    decisions = await every(lambda page: mesh.faces.admin.list_security_events(diary.ref, page), size=1)
    assert [(one.violation.message, one.receipt_uri) for one in decisions] == [
        ("password in content", "urn:receipt:1"),
        ("email in content and metadata, 2 times", "urn:receipt:1"),
    ]
    assert traces(mesh, WORD, MAIL) == []


async def test_a_call_of_which_all_is_refused_says_why_and_keeps_nothing(mesh):
    diary = await mesh.diary(BankConfig(defense=DefenseTuning(secret=BLOCK)))
    with pytest.raises(DefenseBlocked) as caught:
        await diary.retain(RetainItem((f"My password is {WORD}.",), time=NOW))
    assert [(one.field, one.description) for one in caught.value.violations] == [
        ("items[0]", "password in content (secret, high)")
    ]
    assert await diary.memories() == []
    assert len(await every(lambda page: mesh.faces.admin.list_security_events(diary.ref, page))) == 1
    assert traces(mesh, WORD) == []


async def test_of_some_refused_items_the_rest_go_on_and_the_answer_is_the_same_again(mesh):
    diary = await mesh.diary(BankConfig(defense=DefenseTuning(secret=BLOCK)))
    items = (RetainItem((f"My password is {WORD}.",), time=NOW), RetainItem(("The pier is closed.",), time=NOW))
    answer = await diary.retain(*items, request_id="r")
    assert [[one.action for one in item.violations] for item in answer.items] == [[BLOCK], []]
    assert [len(item.memory_ids) for item in answer.items] == [0, 1]
    again = await diary.retain(*items, request_id="r")
    assert (again.items, again.replayed) == (answer.items, True)
