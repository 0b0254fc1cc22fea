"""Kinds of names: person, organisation, place or product, by what is written in and around a name; else concept."""

import re

from recallmesh.retain.gazetteer import gazetted_kind

TITLES = r"(?:Dr|Mr|Mrs|Ms|Prof|Professor|President|Sir|Lady|Captain|Judge|Herr|Frau|Mme|M|Sra?|Dott)\.?"
OFFICES = r"(?:Mayor|Senator|Governor|Minister|Chancellor|Officer|Detective|Sergeant|Colonel|General|Coach|Bishop)"
"""What some people do, said before their names."""
STYLES = (
    rf"(?:{OFFICES}|Dame|Lord|King|Queen|Prince|Princess|Pope|Father|Sister|Brother|Uncle|Aunt|Auntie|Grandma|Grandpa"
    r"|Granny|Nurse|Chef|Rabbi|Imam)"
)
"""What people are called by before their names, and what is a word by itself."""
REACH = 32
"""How many characters before and after a name ``kind_of`` needs to see."""
_TITLED = re.compile(rf"(?:{TITLES}|{STYLES}) ")
_INSTITUTIONS = (
    r"company|university|institute|college|school|bank|cooperative|co-op|foundation|association|agency|ministry|council"
    r"|hospital|clinic|committee|union|orchestra|academy|airline|newspaper|organization|organisation|institution"
)
_ORGANISATION = re.compile(
    rf"\b(?:Inc|Ltd|LLC|PLC|GmbH|AG|SE|ASA|BV|Oy|Corp|Corporation|Co|Labs?|Group|Department|Club|Studios?|Team|Church"
    rf"|Society|Party|Air|Bakery|Partners|Holdings|Systems|Technologies|Industries|Services|Media|Records|Press|Seafood|Motors|Pharma|Energy|Universit\u00e4t|Stiftung|Verein|Airways|Parliament|{_INSTITUTIONS.title()})\b\.?"
    r"|\b[A-Z]\w{2,}bank$"
)
_PLACE = re.compile(
    r"\b(?:City|Street|Avenue|Road|River|Lake|Park|Mountains?|Beach|Island|Valley|Bay|Canyon|Airport|Station|Square|"
    r"Room|Museum|Caf[\u00e9e]|Restaurant|Hotel|National Park|Stra\u00dfe|Platz|Bahnhof)\b"
)
_ROLE_WORDS = """
mother father mom mum mama dad papa parents sister brother son daughter wife husband friend colleague coworker boss
partner cousin uncle aunt neighbour neighbor teacher coach girlfriend boyfriend fiancé fiancée nephew niece grandma
grandpa grandmother grandfather apprentice
"""
_ROLES = "|".join(_ROLE_WORDS.split())
_OF_PERSON = re.compile(rf"(?i)\b(?:{_ROLES})(?:,| called| named)? $")
_KIN = "mother|father|mom|mum|dad|wife|husband|son|daughter|sister|brother"
_PERSON_ACTS = re.compile(
    r"^ (?:said|says|told|tells|asked|asks|thinks|thought|wrote|writes|smiled|laughed|cried|married|and I|was born"
    r"|quit|hugged|cooked|cooks|plays|loves|hates|forgot|works (?:at|for|in|as))\b"
    rf"|^, \d\d,|^['\u2019]s (?:birthday|{_KIN}|car|room|house)\b"
)
# What companies do, and what is theirs.
_COMPANY_VERBS = "unveil|recall|acquir|announc|launch|merge|hire|deliver|cancel|delay|declar|manufactur|report"
_COMPANY_ACTS = re.compile(
    rf"^ (?:(?:has|have|will|would) )?(?:{_COMPANY_VERBS})\w*"
    r"|^['\u2019]s (?:CEO|shares|stock|board|employees|app|profits?|customers|founder)\b"
    r"|^ (?:shares|stock|employees|customers)\b"
)
_COMPANY_BEFORE = re.compile(
    r"(?i)\b(?:shares (?:of|in)|stake in|spokes(?:man|woman|person) for|ceo of|founder of|customer of|behalf of"
    r"|(?:jobs|profits?|losses) at|subscribed to|invoice (?:from|to)|contract with|deal with|bank(?:s|ed|ing)? with) $"
)
# "At Tidewise" alone may be a place; with work before it, it is who employs.
_EMPLOYER = re.compile(
    r"(?i)\b(?:work(?:s|ed|ing)?|jobs?|position|career|interned|internship|employed|years|hired|ceo|employee)"
    r"(?: \w+)? (?:at|for|by|of)(?: the)? $"
)
_IS_INSTITUTION = re.compile(rf"(?i)^ (?:[a-z]+ )?(?:{_INSTITUTIONS})\b")
# Someone is written to, told to and heard from; a place is gone to and come from.
_MOVES = (
    r"(?:go(?:es|ing|ne)?|went|mov(?:e[sd]?|ing)|travel\w*|trip|fly|flies|flew|flight|flying|driv(?:e[sn]?|ing)|drove"
    r"|came|com(?:e[sn]?|ing)|back|return(?:s|ed|ing)?|head(?:s|ed|ing)?|sail(?:s|ed|ing)?|walk(?:s|ed|ing)?|way|road"
    r"|ticket|train|ferry|bus|been|off|out|over|down|up|live[sd]?|am|is|are|was|were)"
)
_AT_PLACE = re.compile(
    rf"(?i)(?<!believe )(?<!believed )(?<!interested )(?<!faith )\b(?:in|near|at|nach|aus|visit(?:s|ed|ing)?) $"
    rf"|\b{_MOVES}(?: \w+)?(?: to| from) $|\bm(?:e|y) from $|\b(?:bei|à|chez|desde) $"
    r"|\b(?:parts|coast|capital|city|town|village|outskirts|streets|north|south|east|west) of(?: the)? $"
    r"|\b(?:across|towards?)(?: the)? $"
)
# MIT, DHL: one is at it, and it is no town.
_INITIALS = re.compile(r"(?!US|USA|UK|UAE|NYC|LA|DC|EU|SF)[A-Z]{2,5}")
# What one is "in" or "at" without being there: languages and feasts.
_NO_PLACE_WORDS = """
english german french spanish italian portuguese dutch norwegian swedish danish russian chinese japanese korean latin
arabic python java rust christmas easter thanksgiving halloween passover ramadan diwali hanukkah god
"""
_NO_PLACES = frozenset(_NO_PLACE_WORDS.split())
_PRODUCT_NOUNS = (
    r"vessel|ship|boat|yacht|car|van|phone|laptop|tablet|camera|guitar|piano|console|app|software|oven|bike|printer"
)
_IS_PRODUCT = re.compile(rf"(?i)\b(?:{_PRODUCT_NOUNS}),? $")
_BOUGHT = re.compile(
    r"(?i)\b(?:b[uo](?:y|ys|ying|ught)|order(?:s|ed)?|driv(?:e[sn]?|ing)|drove|us(?:e[sd]?|ing)|install(?:s|ed)?"
    r"|download(?:s|ed)?|owns?|sold)(?: (?:an?|the|my|our|his|her|their))?(?: (?:new|old|used|second-hand))? $"
)
_ONE_OF = re.compile(r"(?i)\ban? (?:new |old |used |second-hand )?$")
# "A Norwegian Forest cat": a noun after the name makes it say what sort of cat.
_STANDS_ALONE = re.compile(r"^(?:$|[.,;:!?)]| (?:from|for|that|which|with|and|or|in|on|at|to|is|was)\b)")


def kind_of(name: str, before: str, after: str) -> str:
    """Return what a name seems to be by its own words and those around it; ``concept`` where nothing tells."""
    gazetted = gazetted_kind(name)
    rules = (
        ("person", lambda: _TITLED.match(name) or _OF_PERSON.search(before)),
        # A name's own words tell more than what stands around it: "the Bank of England wrote".
        ("organisation", lambda: _ORGANISATION.search(name) or _EMPLOYER.search(before)),
        ("place", lambda: _PLACE.search(name)),
        ("organisation", lambda: _IS_INSTITUTION.match(after)),
        (gazetted, lambda: gazetted),
        ("person", lambda: _PERSON_ACTS.match(after)),
        ("organisation", lambda: _COMPANY_ACTS.match(after) or _COMPANY_BEFORE.search(before)),
        ("product", lambda: _is_product(name, before, after)),
        ("place", lambda: _INITIALS.fullmatch(name) is None and _is_place(name, before)),
        ("organisation", lambda: _INITIALS.fullmatch(name) is not None and _is_place(name, before)),
    )
    return next((kind for kind, says in rules if says()), "concept")


def _is_place(name: str, before: str) -> bool:
    named = name.casefold() not in _NO_PLACES and not any(char.isdigit() for char in name)
    return named and _AT_PLACE.search(before) is not None


def _is_product(name: str, before: str, after: str) -> bool:
    if _IS_PRODUCT.search(before):
        return True
    if _STANDS_ALONE.match(after) is None:
        return False
    return _BOUGHT.search(before) is not None or (" " in name and _ONE_OF.search(before) is not None)
