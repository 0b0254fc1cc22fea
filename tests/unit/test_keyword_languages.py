"""Words of many languages: what is stored in one form is found in another, in a bank that speaks them all."""

import pytest

from recallmesh.core.memory import FactType
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.defaults import RANKING
from recallmesh.keyword.postings import Postings, StoredMemory
from recallmesh.keyword.ranking import terms_of
from recallmesh.keyword.store import KeywordDocument, KeywordQuery

ANALYSER = Analyser("english")

# Of each language: memories under a letter each, then what is asked and whose memory comes first.
TABLE: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "english": (
        {
            "a": "The children were running along the frozen harbour",
            "b": "She collects old maps and repairs clocks",
            "c": "We've been thinking about the mountains",
            "d": "Our neighbour's résumé mentions a naïve façade",
        },
        {"run harbours": "a", "clock repair": "b", "collecting a map": "b", "he thinks of a mountain": "c",
         "resume": "d", "naive facades": "d", "neighbours": "d", "The child RUNS": "a"},
    ),
    "german": (
        {
            "a": "Wir haben drei Häuser in der Altstadt gekauft",
            "b": "Die Katzen schlafen immer auf dem Balkon",
            "c": "Sie fährt mit dem Zug nach Zürich und nicht nach Genf",
            "d": "Die Größe der Straße ist nicht wichtig",
            "e": "Er hat sich über die Prüfungen geärgert",
        },
        {"Haus": "a", "Haeuser": "a", "eine Katze": "b", "Balkone": "b", "Zurich": "c", "Zuerich": "c", "ZÜRICH": "c",
         "strasse": "d", "Groesse der Strassen": "d", "Prüfung": "e", "pruefung": "e", "die Züge": "c"},
    ),
    "french": (
        {
            "a": "Elle a acheté deux chevaux et une maison au bord de la mer",
            "b": "L'amour de la musique l'a menée à Genève",
            "c": "Nous avons mangé des gâteaux aux amandes chez ma sœur",
            "d": "Il travaille dans les hôpitaux de Lyon",
        },
        {"acheter une maison": "a", "cheval": "a", "amour": "b", "musiques": "b", "geneve": "b", "gateau": "c",
         "amande": "c", "soeur": "c", "hopital": "d", "d'amour": "b", "travaillait": "d"},
    ),
    "spanish": (
        {
            "a": "Mi hermana compró unas canciones antiguas en el mercado",
            "b": "Los niños corrían por la montaña con sus perros",
            "c": "Ella está aprendiendo a cocinar pescado con su abuela",
            "d": "Los países del sur son más cálidos",
        },
        {"canción": "a", "cancion antigua": "a", "hermanas": "a", "perro": "b", "niño": "b", "NINOS": "b",
         "cocinando": "c", "aprender": "c", "el país": "d", "pais calido": "d"},
    ),
    "portuguese": (
        {
            "a": "Ela pediu informações sobre as viagens ao Porto",
            "b": "Os irmãos não gostam de cães grandes",
            "c": "Eu também comprei pães e maçãs na feira",
        },
        {"informação": "a", "informacoes": "a", "irmão": "b", "gostar de irmao": "b", "maçã": "c",
         "comprar maca": "c"},
    ),
    "italian": (
        {
            "a": "I cani dormono nel giardino della nonna",
            "b": "Ha comprato dell'olio e anche due bottiglie di vino",
            "c": "L'università è più lontana della stazione",
        },
        {"cane": "a", "giardini": "a", "olio": "b", "bottiglia": "b", "universita": "c", "le stazioni": "c"},
    ),
    "dutch": (
        {
            "a": "Hij heeft een nieuwe fiets gekocht en houdt van lange ritten",
            "b": "De kinderen spelen niet meer met het oude treintje",
            "c": "Wij wonen in een huis met een grote tuin",
        },
        {"fietsen": "a", "kinderen": "b", "spelend": "b", "huizen met tuinen": "c", "een lange rit": "a"},
    ),
    "swedish": (
        {
            "a": "Katterna sover inte i trädgården för att det är kallt",
            "b": "Hon har köpt en båt som heter Ängel",
        },
        {"katt": "a", "tradgard": "a", "båtar": "b", "baten": "b", "angel": "b"},
    ),
    "danish": (
        {
            "a": "Jeg har købt en cykel til min søster",
            "b": "Børnene er ikke hjemme, de har været i haven",
        },
        {"CYKEL": "a", "søstre": "a", "soester": "a", "sostre": "a", "haver": "b"},
    ),
    "norwegian": (
        {
            "a": "Jeg har ikke kjøpt bøkene som hun liker",
            "b": "Vi har bodd i Tromsø og hva skal vi gjøre nå",
        },
        {"liker boken": "a", "tromso": "b", "Tromsoe": "b", "gjore": "b"},
    ),
    "finnish": (
        {
            "a": "Minä en tiedä missä talossa hän asuu",
            "b": "Koirat ja kissat ovat puutarhassa, mutta se ei haittaa",
        },
        {"talo": "a", "talot": "a", "koira": "b", "kissa": "b", "puutarha": "b"},
    ),
    "hungarian": (
        {
            "a": "A gyerekek nem játszanak a kertben, hogy ne fázzanak",
            "b": "Ez egy nagyon szép könyv volt, és már elolvastam",
        },
        {"gyerek": "a", "kertek": "a", "konyv": "b", "könyvek": "b"},
    ),
    "polish": (
        {
            "a": "Nie lubię psów, ale koty są bardzo miłe",
            "b": "Mieszkam w Łodzi i jest to piękne miasto",
        },
        {"kot": "a", "mily kot": "a", "lodzi": "b", "piękny": "b", "MIASTA": "b"},
    ),
    "czech": (
        {
            "a": "Jsem rád, že děti si hrají v zahradě",
            "b": "Už nemám auto, protože jsou tady velmi drahá",
        },
        {"zahrada": "a", "dite a zahrady": "a", "auta": "b", "draha": "b"},
    ),
    "romanian": (
        {
            "a": "Copiii se joacă în parc și nu sunt obosiți",
            "b": "Mașinile din oraș sunt foarte vechi",
        },
        {"copii": "a", "parcul": "a", "masina": "b", "orașul": "b"},
    ),
    "turkish": (
        {
            "a": "Kediler bahçede uyuyor ve çok mutlu",
            "b": "Kitapları İstanbul'da bir dükkan için aldım",
            "c": "Bu yıl IŞIK şenliği var",
        },
        {"kedi": "a", "bahce": "a", "kitap": "b", "istanbul": "b", "ISTANBUL": "b", "ışık": "c", "isik senligi": "c"},
    ),
    "catalan": (
        {"a": "Els nens juguen amb els gossos perquè és diumenge", "b": "Hem comprat això a la botiga, no és meva"},
        {"gossa": "a", "nen": "a", "botigues": "b", "comprar a botigues": "b"},
    ),
    "indonesian": (
        {"a": "Anak-anak bermain di taman yang besar", "b": "Saya tidak suka makanan pedas dan asin"},
        {"main": "a", "taman": "a", "makan": "b"},
    ),
    "vietnamese": (
        {"a": "Tôi ăn phở ở Đà Nẵng", "b": "Hôm nay trời mưa ở Hà Nội"},
        {"pho da nang": "a", "Phở": "a", "ha noi": "b", "MƯA": "b"},
    ),
    "russian": (
        {
            "a": "Она читала интересные книги в библиотеке",
            "b": "Ёлка стоит на площади города",
            "c": "Мы купили новую машину",
        },
        {"книга": "a", "библиотеки": "a", "елка": "b", "города и площадь": "b", "новая машина": "c", "МАШИНЫ": "c"},
    ),
    "greek": (
        {"a": "Τα παιδιά παίζουν στον κήπο", "b": "Αγόρασα ένα βιβλίο για την Ελλάδα"},
        {"παιδια": "a", "κηπος": "a", "βιβλιο": "b", "ΕΛΛΑΔΑ": "b"},
    ),
    "arabic": (
        {"a": "اشترى الكِتَاب من المكتبة", "b": "سافرت إلى القاهرة سنة ٢٠٢٤"},
        {"كتاب": "a", "مكتبة": "a", "القاهرة": "b", "2024": "b"},
    ),
    "persian": (
        {"a": "کتاب‌های خوبی خریدم", "b": "در تهران زندگی می‌کنم"},
        {"تهران": "b", "زندگي": "b"},
    ),
    "hebrew": (
        {"a": "הַכֶּלֶב ישן בגינה", "b": "קניתי ספר בירושלים"},
        {"הכלב": "a", "ספר": "b"},
    ),
    "hindi": (
        {"a": "बच्चे बगीचे में खेल रहे हैं", "b": "उसने दो किताबें खरीदीं"},
        {"बच्चा": "a", "खेल": "a", "किताब": "b", "किताबों": "b"},
    ),
    "tamil": (
        {"a": "நான் புத்தகங்கள் வாங்கினேன்", "b": "மழை பெய்தது"},
        {"புத்தகம்": "a", "மழை": "b"},
    ),
    "armenian": (
        {"a": "Երեխաները խաղում են այգում", "b": "Գիրքը գնեցի Երևանում"},
        {"երեխա": "a", "ԳԻՐՔԸ": "b"},
    ),
    "bengali": ({"a": "আমি বই পড়ি", "b": "আজ বৃষ্টি হয়েছে"}, {"বই": "a", "বৃষ্টি": "b"}),
    "georgian": ({"a": "მე მიყვარს თბილისი", "b": "დღეს წვიმს"}, {"თბილისი": "a", "წვიმს": "b"}),
    "chinese": (
        {"a": "今天玩成语接龙", "b": "我在北京大学学习历史", "c": "我养了一只猫", "d": "他住在𠮷野家附近"},
        {"成语接龙": "a", "北京大学": "b", "历史": "b", "大学": "b", "猫": "c", "𠮷野家": "d", "她在学习": "b"},
    ),
    "japanese": (
        {
            "a": "今日は会議室でしりとりをした",
            "b": "ﾗｰﾒﾝを食べた",
            "c": "コンピューターを買いました",
            "d": "ジョン・スミスさんは佐々木さんの友達だ",
        },
        {"しりとり": "a", "会議室": "a", "シリトリ": "a", "ラーメン": "b", "らーめん": "b", "食べる": "b",
         "コンピュータ": "c", "スミス": "d", "佐々木": "d", "ジョンスミス": "d"},
    ),
    "korean": (
        {"a": "오늘 끝말잇기를 했다", "b": "작년에 서울에서 집을 샀다", "c": "민수는 학교에서 축구를 한다"},
        {"끝말잇기": "a", "끝말잇기는 언제": "a", "서울": "b", "서울로": "b", "집": "b", "집에서": "b", "민수가": "c",
         "축구": "c", "학교": "c"},
    ),
    "thai": (
        {"a": "ฉันกินข้าวผัดที่ตลาด", "b": "เขาอยู่ที่เชียงใหม่ตั้งแต่ปี ๒๕๖๗"},
        {"ข้าวผัด": "a", "ตลาด": "a", "เชียงใหม่": "b", "2567": "b"},
    ),
    "lao": ({"a": "ຂ້ອຍກິນເຂົ້າຢູ່ຕະຫຼາດ", "b": "ລາວຢູ່ວຽງຈັນ"}, {"ຕະຫຼາດ": "a", "ວຽງຈັນ": "b"}),
    "khmer": ({"a": "ខ្ញុំញ៉ាំបាយនៅផ្សារ", "b": "គាត់រស់នៅភ្នំពេញ"}, {"ផ្សារ": "a", "ភ្នំពេញ": "b"}),
    "burmese": ({"a": "ကျွန်တော် ဈေးမှာ ထမင်းစားတယ်", "b": "သူ ရန်ကုန်မှာ နေတယ်"}, {"ထမင်း": "a", "ရန်ကုန်": "b"}),
    "signs": (
        {"a": "great 👩\u200d🚀🎉", "b": "thumbs 👍🏽 from 🇩🇪", "c": "１２３ ＡＢＣ", "d": "hot ☕️ in the morning",
         "e": "greetings from 🇩🇰"},
        {"🎉": "a", "🚀": "a", "👍": "b", "👍🏿": "b", "🇩🇪": "b", "🇩🇰": "e", "123": "c", "abc": "c", "☕": "d"},
    ),
}  # fmt: skip
ROWS = [(language, query, first) for language, (_, asked) in TABLE.items() for query, first in asked.items()]


def analysed(memory_id: str, text: str) -> StoredMemory:
    document = KeywordDocument(memory_id, 1, FactType.WORLD, text)
    return StoredMemory(memory_id, document.fact_type, (), terms_of(document, ANALYSER))


@pytest.fixture(scope="module")
def bank() -> Postings:
    texts = ((f"{language} {key}", text) for language, (stored, _) in TABLE.items() for key, text in stored.items())
    return Postings(RANKING, [analysed(*row) for row in texts])


def ask(bank: Postings, query: str) -> list[str]:
    hits = bank.search(KeywordQuery("bank", query), ANALYSER.query(query, bank.languages))
    return [hit.memory_id for hit in hits]


def test_the_table_is_as_wide_as_it_says():
    assert len(ROWS) >= 160
    assert len(TABLE) >= 35


@pytest.mark.parametrize(("language", "query", "first"), ROWS)
def test_a_word_is_found_in_another_form_in_a_bank_of_all_languages(bank, language, query, first):
    assert ask(bank, query)[:1] == [f"{language} {first}"]


@pytest.mark.parametrize(
    ("query", "absent"),
    [
        ("Hunde", "german b"),
        ("poet", "english a"),
        ("スミ", "japanese c"),
        ("🇫🇷", "signs b"),
        ("🎊", "signs a"),
        ("el", "spanish d"),
        ("nicht", "german d"),
        ("犬", "chinese c"),
    ],
)
def test_what_shares_no_word_is_not_found(bank, query, absent):
    assert absent not in ask(bank, query)


def test_a_bank_of_one_language_asks_for_one_form():
    alone = Postings(RANKING, [analysed("m", "The children were running")])
    assert alone.languages == ("english",)
    assert all(len(term.forms) == 1 for term in ANALYSER.query("children running", alone.languages))
