"""Function words: they add to a score, but sharing only one of them is not sharing a word."""

# Closed classes only (articles, pronouns, prepositions, conjunctions, auxiliaries), without what is also a name or an
# ordinary word: "will", "may" and "us" are not here, since a question of that one word must find its memories.
_WORDS = {
    "english": (
        "a an the this that these those and or but nor not no if then than so as of at by for from in into on onto"
        " to with without about i me my you your he him his she her hers it its we our they them their am is are"
        " was were be been being do does did done have has had having would should could there here what which who"
        " whom whose when where why how s t m d ll re ve isn aren wasn weren don doesn didn hasn haven hadn wouldn"
        " shouldn couldn don't didn't doesn't isn't wasn't aren't weren't hasn't haven't i'm i've i'd you're we're"
        " they're"
    ),
    "german": (
        "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine wenn dann als so"
        " von vom zu zum zur mit ohne für auf in im ins an am aus bei beim nach über unter um durch ich mich mir"
        " mein meine du dich dir dein deine er ihn ihm sein seine sie ihr ihre es wir uns unser unsere euch bin"
        " bist ist sind war waren sei habe hat haben hatte hatten wird werden wurde wurden was wer wen wem wann wo"
        " warum wie welche welcher welches da dort hier dass auch nur"
    ),
    "french": (
        "le la les un une des du de d l et ou mais ne pas ni si que qu qui quoi dont où quand comment pourquoi"
        " quel quelle quels quelles à au aux en dans sur sous par pour avec sans chez ce cet cette ces c je j me m"
        " moi mon ma mes tu te t toi ton ta tes il elle on se s son sa ses nous notre nos vous votre vos ils elles"
        " leur leurs lui y est es sont suis était étaient être a ai as ont avait avoir n"
    ),
    "spanish": (
        "el la los las un una unos unas de del y e o u pero no ni si que qué quien quién cual cuál cuando cuándo"
        " donde dónde como cómo por para con sin en a al sobre entre yo me mi mis mí tú te tu tus él ella ello se"
        " su sus nosotros nos nuestro nuestra vosotros os ellos ellas les le lo es son era eran fue ser soy está"
        " están ha han he había haber este esta estos estas ese esa eso esto"
    ),
    "italian": (
        "il lo la i gli le un uno una di del dello della dei degli delle e ed o ma non né se che chi cui quale"
        " quali quando dove come perché a al allo alla ai agli alle da dal dalla in nel nella nei su sul sulla con"
        " per tra fra io mi me mio mia tu ti te tuo tua egli lui lei si suo sua noi ci nostro voi vi vostro loro è"
        " sono era erano essere ha hanno ho aveva avere questo questa questi queste quello quella l d c un"
    ),
    "portuguese": (
        "o a os as um uma uns umas de do da dos das e ou mas não nem se que quem qual quais quando onde como por"
        " porque para com sem em no na nos nas ao à aos às sobre entre eu me mim meu minha tu te ti teu tua ele ela"
        " si seu sua nós nosso vós eles elas lhe lhes é são era eram foi ser está estão há tem têm tinha ter este"
        " esta isto esse essa isso"
    ),
    "dutch": (
        "de het een en of maar niet geen als dan dat die dit deze van voor met zonder op in aan uit bij naar over"
        " onder om door te tot ik mij me mijn jij je jouw u uw hij hem zijn zij ze haar wij we ons onze jullie hun"
        " is ben bent was waren heb heeft hebben had hadden wordt worden werd wat wie waar wanneer waarom hoe welke"
        " welk er daar hier ook"
    ),
}


def stop_words(language: str) -> frozenset[str]:
    """Return the language's function words as written; none for a language that has no list here."""
    return frozenset(_WORDS.get(language, "").split())
