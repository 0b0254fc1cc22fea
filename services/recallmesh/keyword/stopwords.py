"""Function words: they add to a score, but sharing only one of them is not sharing a word."""

# Closed classes only (articles, pronouns, prepositions, conjunctions, auxiliaries), without what is also a name or an
# ordinary word: "will", "may" and "us" are not here, since a question of that one word must find its memories.
WORDS = {
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
    "swedish": (
        "och att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan"
        " när hon ska eller hade nu sin där mig hur vad vem varför vilken deras din mitt min mina ni era blev"
        " blir detta"
    ),
    "danish": (
        "og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min"
        " havde ham hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil"
        " blev kunne ind når være dog noget efter ned hvorfor hvem hvornår"
    ),
    "norwegian": (
        "og i jeg det at en den til er som på de med han av for ikke der var meg seg men et har om vi min"
        " hadde ham hun nå over da fra du ut sin dem oss opp man hans hvor eller hva skal selv her alle vil"
        " ble kunne inn når være hvorfor hvem hvordan etter"
    ),
    "finnish": (
        "ja on ei että se hän oli ovat mutta kun niin en me te he minä sinä mitä missä milloin miksi kuka"
        " joka jotka kuin tai sekä myös minun sinun hänen meidän heidän tämä nämä nuo siinä olla olen olet"
        " ollut jos vain"
    ),
    "hungarian": (
        "a az és hogy nem is egy ez van volt meg de csak mint már ha még ki mit mi én te ő mikor hol miért"
        " azt ezt lesz vagy minden el fel be nincs nekem neki velem"
    ),
    "polish": (
        "i w z na się nie że do to jest o jak co po ale za tak od już dla czy przez ja ty on ona my wy oni"
        " jego jej ich był była było są być kiedy gdzie dlaczego kto który która które ze we"
    ),
    "czech": (
        "a v na se je že to s z do o i jak ale za by pro po si k jsem jsi jsme jste jsou byl byla bylo být"
        " kdy kde proč kdo co který která které nebo také už jen při od ve ze on ona oni můj moje ne není"
    ),
    "romanian": (
        "și în nu la o de cu că este pe un din să se am ce mai care pentru fost a fi sunt era eu tu el ea noi"
        " voi ei ele când unde cum cine lui sau dar prin ale ai au mea meu"
    ),
    "turkish": (
        "ve bir bu da de için ile ne mi mı ben sen o biz siz onlar çok ama gibi daha var yok değil ki nasıl"
        " neden nerede kim her şey olan olarak benim senin onun sonra kadar ya zaman"
    ),
    "catalan": (
        "el la els les un una uns unes de del dels i o però no que qui què quan on com per amb sense a al als"
        " en és són era ser va han ha he hi jo tu ell ella nosaltres vosaltres meu meva seu seva aquest"
        " aquesta això"
    ),
    "indonesian": (
        "yang dan di ke dari ini itu untuk dengan pada adalah tidak saya aku kamu dia kami kita mereka ada"
        " akan sudah telah juga karena atau tetapi apa siapa kapan mana bagaimana mengapa oleh dalam sebagai"
    ),
    "russian": (
        "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от"
        " меня о из ему для мы их был была были есть кто где когда почему это этот эта эти или ли мой моя мои"
    ),
    "greek": (
        "και το να του η της με που την από ο τα στο θα τον για οι των σε στην δεν είναι ένα μια μου σου μας"
        " σας τι ποιος πότε πού γιατί πώς ήταν ή αλλά στη στον τους τις"
    ),
    "arabic": (
        "من في على إلى عن مع هذا هذه ذلك التي الذي ما لا لم لن و أو ثم هو هي أنا نحن أنت هم كان كانت متى أين"
        " كيف لماذا هل قد أن إن كل بعد قبل"
    ),
    "hindi": (
        "का की के में से को है हैं था थी थे और पर यह वह ने भी कि जो तो हो एक नहीं मैं हम आप तुम मेरा मेरी मेरे क्या कब कहाँ कौन क्यों कैसे"
    ),
}

TELLING: dict[str, str] = {
    "english": (
        "can't i'll won't let's can will take get go see say know think want make like good great thanks hi"
        " hey hello yes please care really now today yesterday bye new"
    ),
    "german": ("mag gibt immer sehr heute gestern morgen schon noch danke gern möchte kann will muss soll haben waren"),
    "french": "très bien aussi aime aujourd'hui hier demain merci bonjour fait faire veux peut plus toujours",
    "spanish": "gusta gustan llamo llama muy hoy ayer mañana gracias hola quiero tengo tiene vive más",
    "italian": "molto oggi ieri domani grazie ciao piace piacciono anche vuole fatto più",
    "portuguese": "muito hoje ontem amanhã obrigado obrigada gosto gosta também mais dormem eu",
    "dutch": "veel vandaag gisteren morgen hou houdt graag wil kan gaat heel",
    "swedish": "tycker idag igår mycket gillar hej tack har köpt bor",
    "danish": "købt meget gerne kan lide hej tak bor",
    "norwegian": "kjøpt mye gjerne liker hei takk bor",
    "finnish": "tänään eilen paljon kiitos hei asuu pidän pitää",
    "hungarian": "ma tegnap nagyon köszönöm szia szereti szeretem",
    "polish": "moje moja mój bardzo dzisiaj wczoraj lubi lubię kocham dziękuję cześć mam ma mieszka",
    "czech": "velmi dnes včera děkuji ahoj mám má rád ráda bydlí",
    "romanian": "foarte azi ieri mulțumesc salut iubesc place",
    "turkish": "bugün dün teşekkürler merhaba seviyor seviyorum",
    "catalan": "molt avui ahir gràcies hola agrada",
    "indonesian": "suka sangat hari kemarin terima kasih halo tinggal",
}
"""Common words that tell a language and yet are words to look for: they count in guessing it, nowhere else."""

_ALSO_ENGLISH = (
    "ada als ben bin biz cine come dal dan dar dare das den der die dir dog door dos dove dun ed em er era ham"
    " han hans hari hat hem het hole hon hun ill ins jo ki kim lei mag mai man mas men met mint mir mis mit moi"
    " non om os over par pas pe per place plus pour pro qua salut sang sat sen sense ser sin ska son sous soy sue"
    " suit sur sus tack tai tan tar ten tes til till ton tot tu ty um under uns ut vain van var vet via vim vis"
    " volt von war waren wat wen ya yo za ze"
)
ALSO_ENGLISH = frozenset(_ALSO_ENGLISH.split())
"""Words of other languages that are also words or names in English texts: they tell nothing."""
