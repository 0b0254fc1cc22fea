"""Identifiers: met whole first, by their parts second, and not at all by a part that is everywhere."""

import pytest

from recallmesh.core.memory import FactType
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.defaults import RANKING
from recallmesh.keyword.postings import Postings, StoredMemory
from recallmesh.keyword.ranking import terms_of
from recallmesh.keyword.store import KeywordDocument, KeywordQuery

ANALYSER = Analyser("english")

# What is stored, what is asked, and the numbers of the memories found, the best first; those in one group in any order.
ROWS: list[tuple[list[str], str, list[set[int]]]] = [
    # Numbers of tickets, parts and flights
    (["A-20391 is open", "A-20392 is open", "B-20391 is shut"], "A-20391", [{0}, {2}]),
    (["A-20391 is open", "A-20392 is open", "B-20391 is shut"], "20391", [{0, 2}]),
    (["A-20391 is open", "A-20392 is open"], "a-20391", [{0}]),
    (["A-20391 is open", "A20391 is open", "A 20391 is open"], "A20391", [{0, 1}, {2}]),
    (["A-20391 is open", "A_20391 is open", "A-20391-2 is open"], "A-20391", [{0, 1}, {2}]),
    (["flight UA123", "flight UA124", "room 123"], "UA123", [{0}, {2}]),
    (["flight UA123", "flight UA124"], "UA124", [{1}]),
    (["part XK-47-B fits", "part XK-48-B fits"], "XK-47-B", [{0}, {1}]),
    (["order #4411 paid", "order #4412 paid"], "#4411", [{0}]),
    (["ISBN 978-3-16-148410-0", "ISBN 978-3-16-148411-7"], "9783161484100", [{0}]),
    (["invoice 2031/0042", "invoice 2031/0043"], "2031/0042", [{0}, {1}]),
    # Security bulletins, papers, standards
    (["fixed CVE-2031-4411", "fixed CVE-2031-4412", "port 4411"], "CVE-2031-4411", [{0}, {1}, {2}]),
    (["fixed CVE-2031-4411", "fixed CVE-2031-4412"], "cve 2031 4411", [{0}, {1}]),
    (["doi 10.7/x.y cited", "doi 10.7/x.z cited", "x and y"], "10.7/x.y", [{0}, {1}, {2}]),
    (["doi 10.7/x.y cited", "doi 10.8/x.y cited"], "10.7", [{0}, {1}]),
    (["see RFC 9110", "see RFC 9111"], "RFC9110", [{0}]),
    (["arXiv:2031.04411v2", "arXiv:2031.04412v2"], "2031.04411", [{0}, {1}]),
    # Versions
    (["release v2.10.3", "release 2.10.4", "release 3.10.3"], "2.10.3", [{0}, {1, 2}]),
    (["release 2.10.3", "release 2.10.4"], "v2.10.3", [{0}, {1}]),
    (["numpy==2.2.6", "numpy==2.2.7"], "2.2.6", [{0}, {1}]),
    # Addresses
    (["mail ida@example.org", "mail rune@example.org", "an example"], "ida@example.org", [{0}, {1}, {2}]),
    (["mail ida@example.org", "mail ida@example.net"], "example.org", [{0}, {1}]),
    (["mail ida.berg+news@example.org", "mail ida@example.org"], "ida.berg+news@example.org", [{0}, {1}]),
    (["see https://example.org/a?b=c", "see https://example.org/d"], "https://example.org/a?b=c", [{0}, {1}]),
    (["see https://docs.example.org/guide", "see https://www.example.com/guide"], "docs.example.org", [{0}, {1}]),
    (["host 10.0.0.1 is up", "host 10.0.0.2 is up"], "10.0.0.1", [{0}, {1}]),
    (["ssh ida@10.0.0.1:2222", "ssh ida@10.0.0.1:2223"], "10.0.0.1:2222", [{0}, {1}]),
    (["ask @ida_berg", "ask @ida_moe"], "@ida_berg", [{0}, {1}]),
    (["tagged #climate", "tagged #weather"], "#climate", [{0}]),
    # Paths
    (["edit /etc/hosts.conf", "edit /etc/hosts.bak", "hosts"], "/etc/hosts.conf", [{0}, {1}, {2}]),
    (["in C:\\Users\\ida\\notes.txt", "in C:\\Users\\rune\\notes.txt"], "C:\\Users\\ida\\notes.txt", [{0}, {1}]),
    (["src/app/main.py fails", "src/lib/main.py fails"], "src/app/main.py", [{0}, {1}]),
    (["src/app/main.py fails", "src/app/other.py fails"], "main.py", [{0}, {1}]),
    (["notes.tar.gz is here", "notes.zip is here"], "notes.tar.gz", [{0}, {1}]),
    # Names in programs
    (["call snake_case_name", "call snake_case_other", "a snake"], "snake_case_name", [{0}, {1}, {2}]),
    (["call getUserName", "call getUserMail", "the user"], "getUserName", [{0}, {1}, {2}]),
    (["call getUserName", "call setRoomName"], "getusername", [{0}]),
    (["call getUserName", "call setRoomSize"], "user name", [{0}]),
    (["the HTTPServer class", "the FTPServer class"], "HTTPServer", [{0}, {1}]),
    (["the HTTPServer class", "the parser class"], "http server", [{0}]),
    (["std::vector grows", "std::list grows"], "std::vector", [{0}, {1}]),
    (["ptr->next is null", "ptr->prev is null"], "ptr->next", [{0}, {1}]),
    (["os.path.join works", "os.path.split works"], "os.path.join", [{0}, {1}]),
    (["RECALL_PORT=9077", "RECALL_PORT=9078"], "RECALL_PORT=9077", [{0}, {1}]),
    (["set RECALL_PORT", "set RECALL_HOST"], "recall port", [{0}, {1}]),
    (["--dry-run is set", "a run in dry weather"], "--dry-run", [{0}, {1}]),
    # Languages and products with signs
    (["she writes C++ mostly", "she writes C mostly", "she writes C# mostly"], "C++", [{0}, {1, 2}]),
    (["she writes C++ mostly", "she writes C mostly", "she writes C# mostly"], "C#", [{2}, {0, 1}]),
    (["she writes C++", "she writes c mostly"], "c", [{1, 0}]),
    (["runs on .NET today", "a net for fish"], ".NET", [{0}, {1}]),
    (["runs on ASP.NET today", "runs on VB.NET today"], "ASP.NET", [{0}, {1}]),
    (["F# is fun", "F is a note"], "F#", [{0}, {1}]),
    (["built with Node.js", "built with Vue.js"], "node.js", [{0}, {1}]),
    (["g++ -std=c++17", "g++ -std=c++20"], "c++17", [{0}, {1}]),
    (["an AT&T phone", "at the tee"], "AT&T", [{0}]),
    (["the iPhone rang", "the phone rang"], "iphone", [{0}]),
    (["a YouTube video", "a tube video"], "youtube", [{0}]),
    (["McDonald sings", "Donald sings"], "mcdonald", [{0}]),
    # One writer's sign is another's nothing
    (["sent an e-mail", "sent a letter"], "email", [{0}]),
    (["sent an email", "sent a letter"], "e-mails", [{0}]),
    (["the wi-fi is down", "the door is down"], "wifi", [{0}]),
    (["O'Brien called", "Bryan called"], "OBrien", [{0}]),
    (["O'Brien called", "Bryan called"], "brien", [{0}]),
    (["O’Brien called", "Bryan called"], "O'Brien", [{0}]),
    (["paid 1,000 crowns", "paid 1 crown", "paid 2,000 crowns"], "1000", [{0}]),
    (["a state-of-the-art lab", "the art of a state"], "state-of-the-art", [{0}, {1}]),
    (["Ida's mother-in-law's house", "the house"], "mother-in-law", [{0}]),
    (["ran 10km today", "ran 10 miles today"], "10 km", [{0}, {1}]),
    (["the 2nd floor", "2 floors"], "2nd", [{0}]),
    (["non‑stop flight", "stop here"], "non-stop", [{0}, {1}]),
    # Telephone numbers, with and without the codes of country and area
    (["call +49 30 1234567", "call +49 30 1234568"], "+49 30 1234567", [{0}, {1}]),
    (["call +49 30 1234567", "call 5551234"], "030/1234567", [{0}]),
    (["call (030) 123-4567", "call (030) 123-4568"], "+49301234567", [{0}]),
    (["call 555-123-4567", "call 555-123-4568"], "(555) 123 4567", [{0}, {1}]),
    (["call 555 123 4567", "call 555 123 4568"], "5551234567", [{0}]),
    # Marks of text
    (["<|endoftext|> marker", "an end"], "<|endoftext|>", [{0}]),
    (["meet at 10:30 there", "meet at 10:45 there"], "10:30", [{0}, {1}]),
    (["due 2031-05-08", "due 2031-05-09"], "2031-05-08", [{0}, {1}]),
    (["a/b testing", "testing b"], "a/b", [{0}, {1}]),
]


def found(texts: list[str], query: str) -> list[int]:
    documents = [KeywordDocument(f"{n}", 1, FactType.WORLD, text) for n, text in enumerate(texts)]
    documents += [KeywordDocument(f"x{n}", 1, FactType.WORLD, "something else entirely") for n in range(5)]
    rows = [StoredMemory(each.memory_id, each.fact_type, (), terms_of(each, ANALYSER)) for each in documents]
    bank = Postings(RANKING, rows)
    hits = bank.search(KeywordQuery("bank", query), ANALYSER.query(query, bank.languages))
    return [int(hit.memory_id) for hit in hits]


@pytest.mark.parametrize(("texts", "query", "groups"), ROWS)
def test_an_identifier_is_met_whole_first_and_by_part_second(texts, query, groups):
    left = found(texts, query)
    for group in groups:
        assert set(left[: len(group)]) == group
        left = left[len(group) :]
    assert left == []


@pytest.mark.parametrize("texts", [[f"marker{n} is here" for n in range(30)], [f"unit-{n:04}x" for n in range(30)]])
def test_numbered_things_are_told_apart(texts):
    for number, text in enumerate(texts):
        assert found(texts, text.split()[0])[0] == number


def test_the_letters_of_a_numbered_thing_are_no_hit_by_themselves():
    assert found(["marker17", "marker18", "a marker"], "marker17") == [0]
    assert set(found(["UA123", "the ua"], "ua")) == {0, 1}
