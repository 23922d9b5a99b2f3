"""The frequent English words by which `protorynet.prototypes.english` reads a sentence."""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


AUXILIARIES = _words(
    "am is are was were has have had do does did can could will would shall should may might must",
    "isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't can't couldn't won't",
    "wouldn't shouldn't mustn't ain't cannot",
)
BE_FORMS = _words("be been being")
NOMINATIVE = _words("i we they he she")
OTHER_SUBJECTS = _words(
    "it this these those there everyone everybody everything nothing someone somebody something",
    "anyone nobody",
)
OBJECTS = _words("me us him them myself itself yourself themselves ourselves himself herself")
DETERMINERS = _words(
    "the a an my our your his her its their some any every each no all both another one two three",
    "four five six seven eight nine ten many several few most more much such",
)
PREPOSITIONS = _words(
    "of in on at for from with without about into onto over under after before during through",
    "between among across behind beside beyond near within upon off out up down around along",
    "against like than as per despite toward towards throughout inside outside",
)
ADVERBS = _words(
    "not never always ever also just only even still already really very so too quite rather again",
    "often sometimes now then here soon almost actually pretty well far away back once overall",
    "today yesterday maybe perhaps",
)
CONJUNCTIONS = _words("and or nor yet")
SUBORDINATORS = _words(
    "that which who whom whose where when while if because since although though unless whether",
    "what how why whatever whenever wherever until till whereas",
)
ADJECTIVES = _words(
    "great good nice bad best better worst big small new old young awful terrible horrible amazing",
    "awesome excellent fantastic wonderful perfect poor cheap free clean dirty rude friendly other",
    "own same first second last next special main whole real true simple different high low long",
    "short full hard easy funny boring beautiful lovely delicious fresh cold hot decent solid",
    "early daily ugly lonely silly family likely",
)
PLURAL_NOUNS = _words("people men women children staff guys police")

VERBS = _words(
    "accept add admit agree allow appear appreciate arrive ask attempt avoid become begin believe",
    "belong book break bring build buy call capture care carry cause change charge check choose",
    "claim close combine come complain consider consist contain continue cost cover create cut",
    "decide deliver depend describe deserve develop die discover drag draw drive drop eat enable",
    "end enjoy enter exist expect experience explain explore fail fall feature feel fight fill",
    "find fit fix focus follow force forget get give go grow guess handle hang happen hate hear",
    "help hit hold hope imagine improve include inspire introduce involve join keep know lack last",
    "lead learn leave lie live look lose love make manage matter mean meet mention miss move need",
    "notice occur offer open order own pass pay perform pick play point prefer prove provide pull",
    "put reach read realize receive recommend refer refuse rely remain remember remind represent",
    "require return reveal rise ruin run save say see seem sell send serve set share shine show",
    "sit sleep smell sound speak spend stand start stay stick stop struggle succeed suck suffer",
    "suggest support take talk taste teach tell tend think throw treat try turn understand use",
    "visit wait walk want waste watch wear win wish work write beware cease compare ignore skip",
)
PAST_FORMS = _words(
    "ate became began blew broke came chose drank drew drove fell flew forgot gave grew knew ran",
    "rang rode rose sang saw shook spoke stank stole swam threw took tore went woke wore wrote",
)
# These are participles as well, and after a noun they often say more of it: "a film made in Rome".
PASTS_AND_PARTICIPLES = _words(
    "bought brought built caught cost cut felt fought found got heard held hit kept laid led left",
    "lost made meant met paid put said sat sent set slept sold spent stood struck stuck stunk",
    "taught told thought understood won",
)
# After a noun these hardly ever are its verb: "a film based on a novel".
PARTICIPLES = _words(
    "based located directed titled called named entitled situated filled packed loaded compared",
    "used supposed produced released published rated priced combined needed",
)

DANGLING_STARTS = _words(
    "and but or nor so because which also then plus however therefore though yet thus hence too",
    "besides otherwise instead still again moreover furthermore nevertheless nonetheless meanwhile",
    "anyway anyways alternatively similarly likewise conversely consequently accordingly",
    "additionally especially particularly firstly secondly thirdly finally lastly next except even",
    "first second third later afterwards well yes no yeah yep nope sure ok okay oh ah ugh wow hey",
    "hi hello lol not neither either whatever than what why how who whose whom where whether let",
    "lets let's please just as until till another other others same such both only very none maybe",
    "perhaps hopefully btw imo mind that's",
)
DANGLING_OPENINGS = (
    "after all", "after that", "apart from that", "as a result", "at least", "at this point",
    "by the way", "for example", "for instance", "for one", "for that", "in addition",
    "in contrast", "in fact", "in other words", "in short", "in that", "in this case",
    "of course", "on the other hand", "on top of", "once again", "other than that", "since then",
    "that being said", "that said", "this time", "to that", "with that",
)  # fmt: skip
DANGLING_ENDS = _words(
    "this that these those so then too either though although however anyway anyways else do did",
    "does is was are were one ones him them and or but the a of to",
)
LOOSE_LINKS = _words("however therefore nevertheless nonetheless furthermore moreover thus hence")
CARELESS = _words(
    "im ive id dont didnt doesnt isnt wasnt arent hasnt havent cant couldnt wont wouldnt thats",
    "weve youre youve youll theyre ur coz bc kinda gonna wanna",
)

FUNCTION_WORDS = frozenset().union(
    AUXILIARIES,
    BE_FORMS,
    NOMINATIVE,
    OTHER_SUBJECTS,
    OBJECTS,
    DETERMINERS,
    PREPOSITIONS,
    ADVERBS,
    CONJUNCTIONS,
    SUBORDINATORS,
    _words("you to by but"),
)
# Without the words that are frequent in another language too.
ENGLISH_ONLY = (FUNCTION_WORDS | ADJECTIVES | PLURAL_NOUNS) - _words(
    "a am an as at do he her here his him i in into it me no on or over own per so ten we men"
)
OTHER_LANGUAGES = _words(
    "der das und ist nicht ein eine einen einem den dem des wir ich sie es sehr mit auf für von zu",
    "waren hat aber auch wie le la les un une et est pas que qui dans pour sur très nous vous il",
    "elle du au aux ce cette mais avec el los las y en muy por con una lo del se más pero fue gli",
    "che è non di molto sono e os um uma não da em foi muito het een van zijn niet maar voor ook",
    "bij och det att som är inte på og af til jeg er ikke nie się jest na w z ve bir bu çok de",
    "yang dan ini",
)
