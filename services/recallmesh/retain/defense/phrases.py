"""What texts say that want to instruct a model, in several languages, as one expression.

Everything is bounded: between two words at most eight signs, at most so many words between two that count.
"""

import re


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


def _any(text: str) -> str:
    return f"(?:{'|'.join(words(text))})"


GAP = r"[\s\W]{1,8}"
FORGET = _any("""
    ignor(?:e|iere|ieren|a|á|ez|eer|are|ar) disregard forget override bypass vergiss missachte oublie[zs]? négligez
    olvida dimentica esqueça esquece vergeet negeer
""")
ALL = _any("""
    all any every the your my these those of alle[ns]? die deine toutes? les tes vos des todas? las? los? tus sus
    tutt[ei] le as suas os de je jouw uw
""")
EARLIER = _any("""
    previous prior above earlier preceding former initial original existing system vorherigen bisherigen obigen
    précédentes? antérieures ci-dessus anteriores previas precedenti vorige eerdere bovenstaande
""")
ORDERS = _any("""
    instructions? prompts? rules guidelines directions? directives commands? programming training safeguards
    anweisungen regeln befehle vorgaben consignes règles instrucciones reglas órdenes istruzioni regole instruções
    regras instructies regels opdrachten
""")
BEHIND = _any("above before précédentes anteriores previas precedenti oben hierboven")
SHOW = _any("reveal print show repeat output display leak tell give")
SHOW_ROMANCE = _any("""
    révèle montre affiche répète revela muestra imprime repite rivela mostra stampa revele mostre toon onthul
""")
WHOLE = _any("me full entire complete exact hidden secret all any the your my")
MODES = _any("developer debug god jailbreak dan admin sudo")
FREED = _any("dan jailbroken unrestricted unfiltered")
LIMITS = _any("restrictions? rules limits limitations filters? guidelines ethics?")


CAME = _any("came was")
ACT = _any("act behave respond answer pretend")
WITHOUT = "(?:no|not|without|free of)"
READER = _any("assistant ai model agent")
READS = _any("reads? sees? process(?:es)? retrieves? recalls?")
MUST = _any("must always send reply respond ignore execute call")
TELL = _any("tell inform alert")


def _said(phrase: str) -> str:
    """Return a phrase's expression: spaces are gaps, words in braces are sets of this page."""
    return phrase.format_map(globals()).replace(" ", GAP)


PHRASES = tuple(
    map(
        _said,
        (
            "{FORGET} (?:{ALL} ){{0,4}}{EARLIER} (?:\\w{{1,16}} ){{0,2}}{ORDERS}",
            "{FORGET} (?:{ALL} ){{0,4}}{ORDERS} (?:{BEHIND}|you (?:were|have been) given)",
            "{FORGET} (?:everything|all|anything) (?:you (?:were|have been|know)|above|(?:that {CAME} )?before)",
            "do not (?:follow|obey|comply with) (?:{ALL} ){{0,3}}{EARLIER} {ORDERS}",
            "you are now (?:in )?(?:a |an |the )?(?:{FREED}|developer mode|free from all)",
            "(?:enter|enable|activate|switch to) {MODES} mode",
            "{SHOW} (?:{WHOLE} ){{0,4}}(?:system|initial|hidden) (?:prompt|message|instructions?)",
            "(?:zeige?|nenne|verrate|gib) (?:mir )?(?:deinen?|den|die) (?:system-?prompt|systemanweisung(?:en)?)",
            "{SHOW_ROMANCE}[\\w-]{{0,6}} (?:\\w{{1,8}} ){{0,3}}prompt (?:du|del?|de|do|di) (?:système|sistema)",
            "{SHOW_ROMANCE}[\\w-]{{0,6}} (?:\\w{{1,8}} ){{0,3}}{ORDERS} (?:du |del |di |do )?(?:système|sistema)",
            "(?:toon|onthul|geef) (?:\\w{{1,8}} ){{0,2}}systeemprompt",
            "{ACT} (?:as (?:if|though)|like|that) you (?:have|had|are|were) {WITHOUT} (?:bound by )?(?:any )?{LIMITS}",
            "(?:when|if|whenever) (?:you|the {READER}) {READS} this(?: \\w{{1,16}}){{0,6}} (?:you must|{MUST})",
            "(?:do not|don['’]t|never) (?:{TELL}|(?:mention|reveal) (?:this |it )?to) the (?:user|human|operator)",
        ),
    )
)
OVERRIDE = re.compile(
    rf"\b(?:{'|'.join(PHRASES)})\b|\b(?:new|updated|real|actual){GAP}(?:system{GAP})?instructions?\s{{0,3}}:"
)
"""For texts in lower case: a search that has to ignore the case takes twice as long."""
UNSPACED = re.compile(
    "(?:忽略|無視|无视|忘记|忘記|不要理会)[^。\n]{0,8}(?:之前|以上|上述|先前|前面|所有)[^。\n]{0,6}"
    "(?:指令|指示|说明|說明|规则|規則|提示)"
    "|(?:以前|これまで|上記|前|すべて)の[^。\n]{0,6}(?:指示|命令|ルール|プロンプト)を?[^。\n]{0,4}(?:無視|忘れ)"
    "|(?:이전|위의|앞의|모든)[^.\n]{0,8}(?:지시|명령|규칙|프롬프트)[^.\n]{0,6}(?:무시|잊)"
    "|(?:显示|顯示|输出|透露|告诉我)[^。\n]{0,6}系统(?:提示词?|指令)"
    "|システム(?:プロンプト|の?指示)を[^。\n]{0,6}(?:表示|教え|出力|見せ)"
    "|시스템 ?프롬프트[를을]?[^.\n]{0,6}(?:보여|출력|알려)"
)
MARKUP = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|begin_of_text)\|>"
    r"|\[/?INST\]|<</?SYS>>|</?(?:system|assistant)(?:_prompt|_message|-prompt)?>"
    r"|^\s{0,3}(?:#{2,4}\s{0,3}|\*\*)?(?:system|assistant)(?:\s(?:prompt|message|instruction)s?)?\s?(?:\*\*)?:"
    r"\s{0,3}(?:you\s(?:are|must|will)|ignore|disregard|from\snow)"
    r"|!\[[^\]\n]{0,80}\]\(https?://[^\s)]{1,300}[?&][\w-]{1,40}=[^\s)]{0,20}(?:\{|%7B|<|\[)",
    re.IGNORECASE | re.MULTILINE,
)
TAGS = re.compile("[\U000e0020-\U000e007f]{3,}|[\u202a-\u202e\u2066-\u2069]{2,}|[\u200b\u2060-\u2064\ufeff]{8,}")
"""Unicode's tag characters, which show as nothing and spell ASCII; runs of direction marks and of no width."""
VERBS = words("""
    ignor disregard forget overrid bypass vergiss missacht oubli néglig olvid dimentic esque vergeet negeer not never
    don you enter enable activate switch reveal print show repeat output display leak tell give zeig nenne verrat gib
    révèl montr affich répèt revel muestr imprim repit rivel mostr stamp toon onthul geef act behave respond
    answer pretend new updated real if when
""")
OBJECTS = words("""
    instru anweis befehl vorgab consigne órden istruz regol regel regl règl regra opdracht prompt rules guideline direct
    command programming training safeguard everything anything dan jailbr unrestrict unfilter mode restrict limit filter
    ethic free this user human operator system
""")
"""A phrase holds one of each: to look for them costs a tenth of the search."""
