"""The mask over sets of tags answers as the core's own test of tags does."""

from hypothesis import given
from hypothesis import strategies as st

from recallmesh.columns.tagsets import TagSets
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest, passes

TAGS = st.frozensets(st.sampled_from(["a", "b", "c", "d", "a b", "", "\x00"]), max_size=4)
LEAVES = st.builds(TagLeaf, TAGS, st.sampled_from(TagMode))


def _groups(inner: st.SearchStrategy[TagTest]) -> st.SearchStrategy[TagTest]:
    parts = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(st.builds(TagAnd, parts), st.builds(TagOr, parts), st.builds(TagNot, inner))


TESTS: st.SearchStrategy[TagTest] = st.recursive(LEAVES, _groups, max_leaves=6)


@given(st.lists(TAGS, max_size=12), TESTS)
def test_a_set_passes_where_the_core_lets_it_pass(held, test):
    sets = TagSets()
    numbers = [sets.number(tags) for tags in held]
    mask = sets.passing(test)
    assert [bool(mask[number]) for number in numbers] == [passes(test, tags) for tags in held]


def test_equal_sets_have_one_number():
    sets = TagSets()
    assert [sets.number(tags) for tags in (("a", "b"), ("b", "a", "a"), (), ("a",), ())] == [0, 0, 1, 2, 1]
