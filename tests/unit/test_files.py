"""Files that a person has: what is read of each kind, and how each that cannot be read is told."""

import io
import json
import sys
from datetime import UTC, datetime, timedelta, timezone

import pypdf
import pytest

from recallmesh.cli.files.registry import FILE_BYTES, PART_BYTES, PART_ITEMS, READERS, document_id, read_file
from recallmesh.cli.files.source import Unreadable
from recallmesh.core.retain import RetainItem
from recallmesh.retain.intake import item_violations

PDF = """%%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R
 /Resources <</Font <</F <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>>>>> endobj
4 0 obj <</Length %d>> stream
%s
endstream endobj
5 0 obj <</Title (Minutes) /Author (Ida Berg) /CreationDate (D:20260305101500+01'00')>> endobj
xref
0 1
0000000000 65535 f
trailer <</Root 1 0 R /Info 5 0 R /Size 6>>
startxref
%d
%%%%EOF
"""
SHOWN = "BT /F 12 Tf 20 200 Td (The board met in the house of Nadia and de-) Tj 0 -14 Td (cided to buy the boat.) Tj ET"


def pdf(shown: str = SHOWN) -> bytes:
    # The table of places is empty: readers then look for the objects themselves.
    at = (PDF % (len(shown), shown, 0)).index("xref\n0 1")
    return (PDF % (len(shown), shown, at)).encode("latin-1")


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def items(path, **given) -> list[RetainItem]:
    documents = read_file(path, **given)
    assert all(not list(item_violations("x", item)) for one in documents for item in one.items)
    return [item for one in documents for item in one.items]


def told(item: RetainItem):
    return item.content[0], item.time, item.context


def test_a_text_is_one_item_that_has_no_time_unless_it_is_given(write):
    path = write("log.txt", "\ufeffIda bought a boat.\r\nIt is red.")
    (item,) = items(path)
    assert told(item) == ("Ida bought a boat.\nIt is red.", None, "log.txt")
    assert item.timeless
    assert item.metadata == {"file": "log.txt"}
    given = datetime(2026, 3, 1, tzinfo=UTC)
    (item,) = items(path, time=given)
    assert (item.time, item.timeless) == (given, False)


def test_the_id_is_of_the_whole_path_and_the_same_every_time(write, monkeypatch):
    path = write("log.txt", "text")
    monkeypatch.chdir(path.parent)
    (item,) = items(path)
    (again,) = items(type(path)("log.txt"))
    assert item.document_id == again.document_id == f"file:{path.resolve()}"
    long = document_id(path.parent / ("x" * 600))
    assert len(long.encode()) <= 512
    assert long != document_id(path.parent / ("x" * 601))


def test_markdown_has_what_its_front_matter_says(write):
    text = "---\ntitle: Trip\nauthor: Ida Berg\ndate: 2026-03-05\n---\n# Plans\n\nI booked a room.\n"
    (item,) = items(write("a.md", text))
    assert told(item) == (
        "# Plans\n\nI booked a room.\n",
        datetime(2026, 3, 5, tzinfo=UTC),
        "Trip, written by Ida Berg",
    )
    assert item.metadata == {"file": "a.md", "title": "Trip"}
    (plain,) = items(write("b.md", "---\nno front matter\n---\nbut lines"))
    assert plain.content == ("---\nno front matter\n---\nbut lines",)


def test_a_page_is_its_text_without_menus_and_scripts(write):
    html = (
        '<html><head><meta charset="iso-8859-1"><title>The\n bakery</title>'
        '<meta property="article:published_time" content="2026-02-01T08:00:00+01:00"><script>x()</script></head>'
        "<body><nav>Home</nav><article><h1>Bread</h1><p>Nadia <b>op</b>ened a\n caf\xe9.<br>In Asker.</p>"
        "<ul><li>Rye</li><li>Wheat</li></ul><pre>a = <b>1</b>\nb = 2</pre></article><footer>(c)</footer></body></html>"
    )
    (item,) = items(write("p.html", html.encode("latin-1")))
    assert item.content == ("Bread\n\nNadia opened a café.\n\nIn Asker.\n\nRye\n\nWheat\n\na = 1\nb = 2",)
    assert item.time == datetime(2026, 2, 1, 8, tzinfo=timezone(timedelta(hours=1)))
    assert item.context == "The bakery"


MAIL = """\
From: =?utf-8?q?J=C3=B8rgen_Lie?= <jorgen@example.org>
To: Ida Berg <ida@example.org>, Leo <leo@example.org>
Subject: =?utf-8?q?B=C3=A5ten?=
Date: Mon, 2 Mar 2026 09:30:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: multipart/alternative; boundary="y"

--y
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

I sold the b=E5t.

On Sun, 1 Mar 2026, Ida Berg <ida@example.org> wrote:
> Is it for sale?
--\x20
Jorgen
--y
Content-Type: text/html; charset=utf-8

<p>I sold the <b>boat</b>.</p>
--y--
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="receipt.pdf"
Content-Transfer-Encoding: base64

JVBERi0=
--x--
"""


def test_a_mail_is_what_its_sender_wrote_and_names_what_is_attached(write):
    (item,) = items(write("m.eml", MAIL))
    text, time, context = told(item)
    assert text == "Subject: Båten.\n\nI sold the båt.\n\n[attachment: receipt.pdf, application/pdf]"
    assert time == datetime(2026, 3, 2, 9, 30, tzinfo=timezone(timedelta(hours=1)))
    assert context == "Jørgen Lie is writing to Ida Berg, about Båten"


def test_a_mail_that_is_a_page_alone_is_its_text(write):
    (item,) = items(write("m.eml", "From: a@example.org\nContent-Type: text/html\n\n<p>Hello <i>you</i>.</p>"))
    assert told(item) == ("Hello you.", None, "a@example.org is writing")


def test_a_mail_in_an_encoding_that_does_not_exist_is_read_as_far_as_it_goes(write):
    (item,) = items(write("m.eml", "From: a@example.org\nContent-Type: text/plain; charset=klingon\n\nHello."))
    assert item.content == ("Hello.",)


def test_a_pdf_is_the_text_of_its_pages_with_lines_joined(write):
    (item,) = items(write("a.pdf", pdf()))
    text, time, context = told(item)
    assert text == "The board met in the house of Nadia and decided to buy the boat."
    assert time == datetime(2026, 3, 5, 10, 15, tzinfo=timezone(timedelta(hours=1)))
    assert context == "Minutes, written by Ida Berg"


CHATS = {
    "openai": {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "I avoid nuts.", "timestamp": 1772438400},
            {"role": "assistant", "content": [{"type": "text", "text": "Noted."}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "tool_calls": []},
        ]
    },
    "slack": [
        {
            "type": "message",
            "user": "U1",
            "user_profile": {"real_name": "user"},
            "text": "I avoid nuts.",
            "ts": "1772438400.000100",
        },
        {"type": "message", "user": "assistant", "text": "Noted."},
        {"type": "message", "subtype": "channel_join"},
    ],
    "telegram": {
        "name": "chat",
        "messages": [
            {
                "from": "user",
                "date": "2026-03-02T08:00:00",
                "text": ["I avoid ", {"type": "bold", "text": "nuts"}, "."],
            },
            {"from": "assistant", "text": "Noted."},
        ],
    },
    "chatgpt": {
        "title": "chat",
        "current_node": "c",
        "mapping": {
            "a": {"parent": None, "message": None},
            "b": {
                "parent": "a",
                "message": {
                    "author": {"role": "user"},
                    "create_time": 1772438400.0,
                    "content": {"content_type": "text", "parts": ["I avoid nuts."]},
                },
            },
            "x": {"parent": "b", "message": {"author": {"role": "assistant"}, "content": {"parts": ["Rejected."]}}},
            "c": {"parent": "b", "message": {"author": {"role": "assistant"}, "content": {"parts": ["Noted."]}}},
        },
    },
}


@pytest.mark.parametrize("kind", CHATS)
def test_a_chat_keeps_its_turns_with_speaker_time_and_addressee(kind, write):
    first, second = items(write("chat.json", json.dumps(CHATS[kind])))
    assert first.content == ("user: I avoid nuts.",)
    assert second.content == ("assistant: Noted.",)
    assert (first.time - datetime(2026, 3, 2, 8, tzinfo=UTC)) < timedelta(seconds=1)
    assert second.timeless
    assert first.context == "user is speaking to assistant, in chat"
    assert first.document_id == second.document_id


def test_each_conversation_of_an_export_is_a_document(write):
    two = [CHATS["chatgpt"] | {"id": name} for name in ("one", "two")]
    path = write("conversations.json", json.dumps(two))
    ids = {item.document_id for item in items(path)}
    assert ids == {f"file:{path.resolve()}#one", f"file:{path.resolve()}#two"}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (
            "[21/03/2026, 10:05:11] Leo: I adopted a dog!\nShe is Pixel.\n[21/03/2026, 10:06:00] Nadia: Well!",
            (3, 21, 10, 5),
        ),
        ("3/21/26, 10:05 PM - Leo: I adopted a dog!\nShe is Pixel.\n3/21/26, 10:06 PM - Nadia: Well!", (3, 21, 22, 5)),
        ("2026-03-04, 10:05 - Leo: I adopted a dog!\nShe is Pixel.\n2026-03-04, 10:06 - Nadia: Well!", (3, 4, 10, 5)),
        ("03/04/2026, 10:05 - Leo: I adopted a dog!\nShe is Pixel.\n03/04/2026, 10:06 - Nadia: Well!", None),
    ],
)
def test_a_whatsapp_chat_has_times_unless_day_and_month_could_be_either(text, time, write):
    first, second = items(write("chat.txt", text))
    assert first.content == ("Leo: I adopted a dog!\nShe is Pixel.",)
    assert second.context == "Nadia is speaking to Leo, in chat"
    if time is None:
        assert first.timeless
    else:
        assert (first.time.month, first.time.day, first.time.hour, first.time.minute) == time


def test_a_long_text_is_cut_into_parts_between_paragraphs_and_nothing_is_lost(write):
    text = "\n\n".join(f"Paragraph {n} says so." for n in range(20_000))
    documents = read_file(write("book.txt", text))
    assert len(documents) > 3
    pieces = [item.content[0] for one in documents for item in one.items]
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= PART_BYTES
    ids = [{item.document_id for item in one.items} for one in documents]
    assert len(set.union(*ids)) == len(documents) == sum(map(len, ids))
    assert [one.surplus is not None for one in documents] == [False] * (len(documents) - 1) + [True]
    assert documents[-1].surplus(1).endswith(f"({len(documents) + 1})")


def test_a_text_without_any_space_is_cut_all_the_same(write):
    pieces = [item.content[0] for item in items(write("a.txt", "é" * PART_BYTES))]
    assert "".join(pieces) == "é" * PART_BYTES
    assert max(len(piece.encode()) for piece in pieces) <= PART_BYTES


def test_a_long_chat_is_cut_into_parts(write):
    messages = [{"role": "user", "content": f"Message {n}."} for n in range(PART_ITEMS + 1)]
    assert [len(one.items) for one in read_file(write("c.json", json.dumps(messages)))] == [PART_ITEMS, 1]


def encrypted() -> bytes:
    writer, out = pypdf.PdfWriter(clone_from=io.BytesIO(pdf())), io.BytesIO()
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


BAD = {
    "x.docx": (b"x", "no known type; known are .md"),
    "noending": (b"x", "no known type"),
    "x.jsonl": (b"{}", "give it by --file"),
    "empty.txt": (b"", "holds no text"),
    "blank.md": (b" \n\t", "holds no text"),
    "empty.html": (b"", "holds no text"),
    "empty.eml": (b"", "is no e-mail"),
    "empty.json": (b"", "is no JSON"),
    "empty.pdf": (b"", "is no PDF"),
    "latin.txt": ("café".encode("latin-1"), "is not UTF-8, at byte 4"),
    "zeros.txt": (b"a\0b", "zero bytes"),
    "front.md": (b"---\na: [\n---\nx", "front matter that is no YAML"),
    "date.md": (b"---\ndate: 2026-13-45\n---\nx", "front matter that cannot be read"),
    "cut.json": (b'{"messages": [', "is no JSON"),
    "deep.json": (b"[" * 100_000, "nested too deeply"),
    "other.json": (b'{"a": 1}', "is no chat that is known"),
    "charset.html": (b'<meta charset="klingon"><p>x', "encoding that is not known"),
    "cut.pdf": (pdf()[:200], "is no PDF"),
    "image.pdf": (pdf("0 0 m"), "holds no text: its pages are images"),
    "locked.pdf": (encrypted(), "is encrypted"),
    "large.txt": (b"x" * (FILE_BYTES + 1), "a file is at most 20 MiB"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_told_with_the_file_and_why(name, write):
    content, why = BAD[name]
    path = write(name, content)
    with pytest.raises(Unreadable) as caught:
        read_file(path)
    (violation,) = caught.value.violations
    assert violation.field == str(path)
    assert why in violation.description


def test_a_folder_and_a_missing_file_are_told(tmp_path):
    with pytest.raises(Unreadable, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(Unreadable, match="No such file"):
        read_file(tmp_path / "missing.md")


@pytest.mark.parametrize(("name", "parser"), [("a.pdf", "pypdf"), ("a.html", "selectolax.lexbor"), ("a.md", "yaml")])
def test_without_the_extra_it_is_said_what_to_install(name, parser, write, monkeypatch):
    monkeypatch.delitem(sys.modules, f"recallmesh.cli.files.{READERS[name[1:]]}", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(parser.partition(".")[0]), *sys.meta_path])
    for loaded in [module for module in sys.modules if module.partition(".")[0] == parser.partition(".")[0]]:
        monkeypatch.delitem(sys.modules, loaded)
    with pytest.raises(Unreadable, match=r"recallmesh\[files\]"):
        read_file(write(name, "x"))


class Missing:
    """A finder for which one package is not installed."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, *_):
        if name.partition(".")[0] == self.name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=self.name)
