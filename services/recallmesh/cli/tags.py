"""``recallmesh tag``: the tags of a bank's memories."""

import argparse

from recallmesh.cli.listing import Listing, every
from recallmesh.cli.places import open_place
from recallmesh.core.bank import BankRef
from recallmesh.core.entity import TagCount
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode, TagTest
from recallmesh.rpc.text import tag_json


async def run(words: argparse.Namespace) -> int:
    """List the tags, by tag."""
    ref = BankRef(words.bank)
    listing: Listing[TagCount] = Listing(
        ("tag", "memories"),
        lambda row: (row.tag, str(row.memory_count)),
        tag_json,
        frozenset({0}),
        f"no memory of bank {words.bank} has a tag",
    )
    async with open_place(words) as faces:
        admin = faces.admin
        await listing.show(every(lambda page: admin.list_tags(ref, page)), json=words.json)
    return 0


def tag_test(words: argparse.Namespace) -> TagTest:
    """Return the test of ``--tags`` and ``--tags-match``."""
    mode = TagMode(words.tags_match)
    filtered = bool(words.tags) or mode is TagMode.EXACT
    return TagLeaf(frozenset(words.tags), mode) if filtered else EVERYTHING
