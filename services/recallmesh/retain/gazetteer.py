"""Names that are names wherever they stand: common given names, countries, large cities; none that is a word too."""

# Frequent given names of many languages. Left out is every name that is an English word too (Mark, Grace, Will, Rose).
_GIVEN_WORDS = """
aaron abdul abigail abraham adam adrian adriana agnes ahmed aiden aisha akira alan albert alejandro alessandro alex
alexander alexandra alexis alfred ali alice alicia alina alison allison alma amanda amara amelia amina amir amy ana
anastasia andre andrea andreas andrei andrew angela anika anita anja anna annabelle anne annika anthony anton antonia
antonio anya ariel arjun arthur arun asha ashley astrid audrey ava barbara beatrice beatriz benjamin bernard beth
bianca bjorn bob boris brandon brenda brian bridget bruno caitlin calvin cameron camila camille carl carla carlos
carmen carolina caroline catherine cecilia celine charles charlotte chen chloe chris christina christine christopher
claire clara claudia clement colin connor cynthia damien daniel daniela david deborah dennis derek diana diego dimitri
dmitri dominic donald donna dorothy douglas dylan edgar edith eduardo edward edwin eileen elena eleanor eli elias
elijah elif elisa elizabeth ella ellen ellie elliot emil emilia emily emma enrique eric erica erik erin esther ethan
eugene eva evan evelyn fatima felipe felix fernando finn fiona frances francesca francesco francisco frederick gabriel
gabriela gabriella gary gemma geoffrey george gerald gina giovanni giulia greg gregory greta guillaume gustav hana
hannah hans harold harriet harry hassan hector heidi helen helena helga henrik henry hiroshi howard hugo ian ibrahim
ida igor ilya imani indira ines inga ingrid irene irina isaac isabel isabella ivan jacob jakob james jamie jane janet
jason javier jeff jeffrey jennifer jeremy jerome jessica jill jin joan joanna joao joel johan johanna john johnny
jonas jonathan jordan jorge jose joseph joshua juan judith julia julian juliana julie jurgen justin kamal karen karim
karin karl karla kate katherine kathleen katie katrin kayla keith kelly kenji kenneth kevin khalid kim klara klaus
kofi kristen kristin kristina kumar kurt kyle lars laura lauren laurent lea leah leila lena leo leon leonard leonardo
leticia lewis liam lila lilian lina linda lionel lisa liz louis louisa louise luca lucas lucia lucy luis luisa lukas
luke lydia madeleine magnus mahmoud malcolm malik manuel marc marcel marcus margaret maria mariam marie mario marion
marisa marius marta martha martin martina mary mateo mathias matilda matteo matthew maureen mehmet melanie melissa mia
michael michaela michel michelle miguel mila milan miriam mohamed mohammed moira monica monika moritz muhammad nadia
nadine nancy naomi natalia natalie natasha nathan neha neil nicholas nick nicola nicolas nicole nigel nikhil nikita
nikolai nils nina noah noor nora olaf oleg oliver olivia olga omar otto owen pablo pamela paolo patricia patrick paul
paula pauline pedro peter petra philip philippe phoebe pierre piotr priya rachel rafael rahul raj rajesh ralph ramon
raquel raul rebecca reza ricardo richard rita robert roberto rodrigo roger roland roman ronald rosa rosie ruben rune
ruth ryan sabine sabrina sally salma sam samantha samira samuel sandra santiago sara sarah sasha scott sean sebastian
sergei sergio shannon sharon sheila shirley simon simone sofia sonia sonja sophia sophie stefan stella stephanie
stephen steve steven stuart sunita susan susanne suzanne sven svetlana sylvia tamara tanya tara tariq tatiana teresa
thea theo theodore theresa thomas tim timothy tina tobias todd tom tomas tony tracy ulrich ursula valentina valerie
vanessa vera veronica victor victoria vijay viktor vincent vivian vladimir walter wanda wendy werner wilhelm william
wolfgang xavier yasmin yuki yusuf yvonne zara zoe
"""
_COUNTRY_NAMES = """
afghanistan albania algeria angola argentina armenia australia austria azerbaijan bahrain bangladesh belarus belgium
bolivia botswana brazil britain bulgaria burundi cambodia cameroon canada chile china colombia croatia cuba cyprus
czechia denmark ecuador egypt england eritrea estonia ethiopia fiji finland france gabon germany ghana greece
greenland guatemala haiti honduras hungary iceland india indonesia iran iraq ireland israel italy jamaica japan
kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon liberia libya liechtenstein lithuania luxembourg
madagascar malawi malaysia malta mauritius mexico moldova mongolia montenegro morocco mozambique myanmar namibia nepal
netherlands nicaragua nigeria norway oman pakistan panama paraguay peru philippines poland portugal qatar romania
russia rwanda scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan
tajikistan tanzania thailand tunisia uganda ukraine uruguay uzbekistan venezuela vietnam wales yemen zambia zimbabwe
africa antarctica asia europe scandinavia bavaria catalonia sicily tuscany crete corsica bali hawaii alaska california
texas florida oregon arizona ohio michigan colorado montana nevada massachusetts ontario quebec
deutschland österreich schweiz frankreich italien spanien norwegen españa italia polska
"""
_CITY_NAMES = """
accra amsterdam ankara antwerp athens atlanta auckland baghdad baltimore bangalore bangkok barcelona beijing beirut
belgrade berlin bern bilbao birmingham bogota bologna bordeaux boston brisbane bristol brooklyn brussels bucharest
budapest cairo calgary canberra caracas casablanca chennai chicago cologne copenhagen dakar dallas damascus delhi
denver detroit dhaka dubai dublin edinburgh eindhoven florence frankfurt geneva genoa glasgow gothenburg hamburg hanoi
havana helsinki houston istanbul jakarta jerusalem johannesburg kabul karachi kathmandu kiev kyiv köln krakow kyoto
lagos lahore leeds leipzig lisbon liverpool london lyon madrid malmö manchester manhattan manila marrakesh marseille
melbourne memphis miami milan minneapolis montreal moscow mumbai munich münchen nairobi naples nashville osaka oslo
ottawa oxford paris perth philadelphia pittsburgh porto portland prague rome rotterdam salzburg santiago seattle seoul
seville shanghai shenzhen sofia stavanger stockholm stuttgart sydney taipei tallinn tehran tokyo toronto trondheim
turin valencia vancouver venice vienna vilnius warsaw wellington wien zagreb zurich zürich bergen
"""
GIVEN = frozenset(_GIVEN_WORDS.split())
"""Given names, folded to small letters."""
# Milan, Santiago and Sofia are people and towns: the words around them decide.
PLACES = frozenset(_COUNTRY_NAMES.split() + _CITY_NAMES.split()) - GIVEN
"""Countries, regions and cities of one word, folded to small letters."""
CERTAIN = GIVEN | PLACES
"""What is a name even at the start of a sentence."""
_ALSO_WORD_NAMES = """
will mark may april june august rose grace hope joy faith art bill jack frank pat rob sue drew dawn summer autumn ivy
violet ruby amber crystal penny chase hunter mason cooper angel carter destiny harmony jade melody miles jean carol
heather jasmine viola iris olive daisy lily holly robin max rich guy dean earl duke king prince christian
"""
ALSO_WORDS = frozenset(_ALSO_WORD_NAMES.split())
"""Given names that are words as well: written small they are words."""


def gazetted_kind(name: str) -> str:
    """Return ``person`` for a name that begins with a given name, ``place`` for a known one, empty for others."""
    folded = name.casefold()
    if folded in PLACES:
        return "place"
    return "person" if folded.partition(" ")[0] in GIVEN and not any(char.isdigit() for char in name) else ""
