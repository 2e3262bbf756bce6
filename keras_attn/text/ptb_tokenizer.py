"""The tokenizer of coco-caption in pure Python: Stanford PTBTokenizer without Java.

coco-caption scores are only comparable when the sentences were cut the same way: by Stanford
CoreNLP 3.4.1 `PTBTokenizer -preserveLines -lowerCase`, after which the punctuation tokens are
dropped. `ptb_tokenize` gives the same words. It was written against that program's answers: a list
of patterns, of which the longest match wins (the earlier one on a tie), as in any lexer.

Differs: the Java program reads all captions as one text, so that a caption ending in a single
letter or in "no." sees the first word of the next caption; here every caption stands alone. Line
breaks inside a caption count as spaces, and letters younger than that program count as letters.
"""

import functools
import itertools
import re
import unicodedata

# coco-caption's list. Brackets stay: they are lower-cased ("-lrb-") before the list is applied.
_PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])

# Which characters the Java lexer (Unicode of about 2010) takes for what, as hexadecimal ranges.
_MARKS = """2c2-2c5 2d2-2df 2e5-2eb 2ed 2ef-36f 375 378-379 384-385 3f6 483-487 55a-55f 591-5bd 5bf
5c1-5c2 5c4-5c5 5c7 615-61a 64b-65e 670 6d6-6e4 6e7-6ed 6fd-6fe 70f 711 730-74c 7a6-7b0 7eb-7f3
900-903 93c 93e-94e 951-955 962-963 981-983 9bc 9be-9c4 9c7-9c8 9cb-9cd 9d7 9e2-9e3 a01-a03 a3c
a3e-a4f a81-a83 abc abe-acf b82 bbe-bc2 bc6-bc8 bca-bcd c01-c03 c3e-c56 d3e-d44 d46-d48 e31 e34-e3a
e47-e4e eb1 eb4-ebc ec8-ecd"""
_SYMBOLS = """a1 a5-a9 ac ae-b4 b6-b9 bf d7 f7 37e 387 589 5be 5c0 5c3 5c6 5f3-5f4 600-603 606-60c
614 61b 61e-61f 66a 66d 6d4 700-70d 7f6-7f8 964-965 e3f e4f 1fbd 2016-2017 201a 201e-2023 2030-2038
203b 203e-2042 2044 2070 2074-207e 2080-208e 20a4 2100-2101 2103-2106 2108-2109 2114 2116-2118
211e-2123 2125 2127 2129 212e 213a-213b 2140-2144 214a-214d 214f 2155-215e 2190-2bff 3001-3002 3012
30fb ff01-ff0f ff1a-ff20 ff3b-ff40 ff5b-ff65 ffe0-ffe1 ffe5"""

# Abbreviations that keep their period: before anything, capitalized only, before a number only.
# The first group may also end a sentence, and then wins over a short hyphenated word.
_CLOSING = """al co ct ga jr ky md mo rd rt sq sr va vt ala apr aug bhd cos dak dec esq est etc ext
feb fla fri inc ind jan jul jun kan ltd mar mon neb nev nov oct plc pte pty sep seq sys tel thu tue
wed wis wyo ariz assn bldg blvd bros colo conn corp intl kans mich minn mont okla penn ppte ppty
ptes ptys sept tenn tues univ wisc assoc calif pptes pptys thurs ph.d"""
_CLOSING_CAPITALIZED = "Az La Pa Ark Del Ill Ore Tex Mass Miss Wash"
_TITLES = """cf dr ft lt mr ms mt ph st vs wm adj adm adv ave cie col cpl det drs ens gen gov hon
jos maj mfg mme mrs mtg pfc pvt rep rev sen sfc sgt spc ste alex asst atty brig capt cmdr dept elec
govs insp invt mlle msgr natl pres prof reps sens supt attys comdr lieut profs supts treas messrs"""
_BEFORE_NUMBERS = "ca no op pp art fig nos figs prop"
# After a single letter and a period, these words begin a new sentence.
_STARTERS = """A About According Additionally After An As At But Earlier He Her Here However If In
It Last Many More Now Once One Other Our She Since So Some Such That The Their Then There These
They This We What When While Yet You"""

_REPLACED = {
    **{"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"},
    **{"\xbc": "1/4", "\xbd": "1/2", "\xbe": "3/4", "\u2153": "1/3", "\u2154": "2/3"},
    **{"\xa2": "cents", "\xa3": "#", **dict.fromkeys("\x80\xa4\u20a0\u20ac", "$")},
    **dict.fromkeys(["---", "----", *"\x96\x97\xad\u2013\u2014\u2015", "&mdash;"], "--"),
    **dict.fromkeys(["\x85", "\u2026", ". . ."], "..."),
    **{"&lt;": "<", "&gt;": ">", "&amp;": "&", "&apos;": "'", "&quot;": "''", "&nbsp;": ""},
}
_QUOTES = {
    **dict.fromkeys("`\x91\u2018\u201b\u2039", "`"),
    **dict.fromkeys("'\x92\u2019\u203a", "'"),
    **dict.fromkeys("\x93\xab\u201c", "``"),
    **dict.fromkeys('"\x94\xbb\u201d', "''"),
    **{mark: mark for mark in "\u201a\u201e\u201f"},
}


def ptb_tokenize(text: str) -> list[str]:
    """The words coco-caption scores: Penn Treebank tokens, lower-cased, punctuation dropped.

    Args:
        text: one caption.

    Returns:
        tokens; a few kinds (fractions, telephone numbers, markup) hold a no-break space.

    Example:
        >>> ptb_tokenize("The dog's owner can't see it (or won't) .")
        ['the', 'dog', "'s", 'owner', 'ca', "n't", 'see', 'it', '-lrb-', 'or', 'wo', "n't", '-rrb-']
        >>> ptb_tokenize("Two T-shirts, size 1/2 ...")
        ['two', 't-shirts', 'size', '1/2']

    Source: Stanford CoreNLP 3.4.1 `PTBTokenizer`; `ptbtokenizer.py` of coco-caption.
    """
    text = re.sub("[\n\r\v\f\u2028\u2029]", " ", text) + "\n"
    tokens = []
    position = 0
    while position < len(text) - 1:
        match = _PLAIN_WORD.match(text, position) or _longest_match(text, position)
        token = _render(match.group(1)) if match else ""
        position = match.end(1) if match else position + 1
        if token and token not in _PUNCTUATION:
            tokens.append(token)
    return tokens


# The common case, for speed: letters only, up to a space, and none of the words that are split.
_PLAIN_WORD = re.compile("(?!(?i:cannot|gimme|gonna|gotta|lemme|wanna)[ \n])([A-Za-z]+)(?=[ \n])")


def _longest_match(text: str, position: int) -> re.Match[str] | None:
    """The longest match of any pattern at `position`, the earliest pattern's on a tie."""
    matches = (pattern.match(text, position) for pattern in _patterns())
    return max(filter(None, matches), key=re.Match.end, default=None)


def _render(token: str) -> str:
    """The token as the Java program writes it."""
    token = token.lower()
    if token in _REPLACED:
        return _REPLACED[token]
    if all(character in _QUOTES for character in token):
        return "".join(_QUOTES[character] for character in token)
    if re.fullmatch(rf"\.+|n{_ANY_APOSTROPHE}t|{_CLITIC}", token):
        token = re.sub(_APOSTROPHE, "'", re.sub("[\x91\u2018\u201b]", "`", token))
        return "..." if token[0] == "." else token
    token = token.replace("(", "-lrb-").replace(")", "-rrb-").replace("&amp;", "&")
    return token.replace("\xad", "").replace(" ", "\xa0").replace("\t", "\xa0")


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    categories = [(chr(point), unicodedata.category(chr(point))) for point in range(0x10000)]
    letter = _class_of_characters([c for c, kind in categories if kind[0] == "L"]) + "\u1885\u1886"
    digit = _class_of_characters([c for c, kind in categories if kind == "Nd"])
    mark, symbol = _class_of_ranges(_MARKS), _class_of_ranges(_SYMBOLS)
    first, later = f"[{letter}{mark}\xad]", f"[{letter}{digit}{mark}\xad]"
    word = f"{first}{later}*(?:[.!?]{first}{later}*)*"
    joined = _joined_words(word, letter, f"[{letter}{digit}]")
    table = _MARKUP + _split_words(word, letter) + _ABBREVIATIONS + joined
    table += _numbers(digit) + _symbols(symbol, mark)
    return tuple(re.compile(f"({own}){ahead}", re.ASCII) for own, ahead in table)


def _class_of_ranges(ranges: str) -> str:
    """The inside of a regular-expression class: "41-43 61" is A-Ca."""
    points = [[int(point, 16) for point in piece.split("-")] for piece in ranges.split()]
    return "".join("-".join(map(chr, ends)) for ends in points)


def _class_of_characters(characters: list[str]) -> str:
    runs = itertools.groupby(enumerate(characters), lambda pair: ord(pair[1]) - pair[0])
    ends = [[character for _, character in run] for _, run in runs]
    return "".join(f"{run[0]}-{run[-1]}" for run in ends)


def _any_of(words: str) -> str:
    longest_first = sorted(words.split(), key=len, reverse=True)
    return "(?:" + "|".join(map(re.escape, longest_first)) + ")"


# A pattern is a pair: the token itself, and what must follow it (counted in the length, not taken).
_Pattern = tuple[str, str]
_APOSTROPHE = "(?:['\x92\u2019]|&(?i:apos);)"
_ANY_APOSTROPHE = "(?:['`\x91\x92\u2018\u2019\u201b]|&(?i:apos);)"
_CLITIC = f"{_APOSTROPHE}(?i:[msd]|ll|re|ve)"
_INITIALS = r"[A-Za-z](?:\.[A-Za-z])+"
_CLOSED = rf"(?i:{_any_of(_CLOSING)})\.|(?=[A-Z])(?i:{_any_of(_CLOSING_CAPITALIZED)})\."

_ABBREVIATIONS: list[_Pattern] = [
    (rf"{_CLOSED}|(?i:{_any_of(_TITLES)})\.", ""),
    (rf"(?i:{_any_of(_BEFORE_NUMBERS)})\.", "[ \t\n\xa0]?[0-9]"),
    ("[A-Za-z]", rf"\.[ \t\n\xa0]+(?=[A-Z])(?i:{_any_of(_STARTERS)})[ \t\n\xa0]"),
    (rf"{_INITIALS}\.|[A-Za-z]\.", ""),
]


def _split_words(word: str, letter: str) -> list[_Pattern]:
    """Words and their parts: "can not", "do n't", "dog 's", "o'clock", "y' all"."""
    pairs = ["can not", "gon na", "got ta", "lem me", "gim me", "wan na", f"more {_APOSTROPHE}n"]
    exceptions = [
        f"{_APOSTROPHE}(?i:em|till?|cause|n{_APOSTROPHE}?)|{_APOSTROPHE}[2-9]0s",
        f"[A-HJ-XZn]{_ANY_APOSTROPHE}[{letter}]{{2}}[{letter}]*|[lL]i{_APOSTROPHE}l",
        f"(?i:[ldj]|ol|dunkin|somethin){_APOSTROPHE}|[cC]'[mM][oO][nN]",
        f"(?i:c{_APOSTROPHE}est|s{_APOSTROPHE}mores|cap{_APOSTROPHE}n|e{_APOSTROPHE}er)",
        f"(?i:ev{_APOSTROPHE}ry|nat{_APOSTROPHE}l|o{_ANY_APOSTROPHE}o)",
        f"[{letter}]+(?i:[aeiouy]{_ANY_APOSTROPHE})(?:[aeiouA-Z][A-Za-z]*)",
    ]
    return [
        *((f"(?i:{first})", f"(?i:{second})") for first, second in map(str.split, pairs)),
        ("[A-Za-z]*[A-MO-Za-mo-z]", f"(?i:n){_ANY_APOSTROPHE}(?i:t)"),
        (word, _CLITIC),
        ("'[tT]", "(?i:is|was)"),
        (word, ""),
        (_CLOSED, r"[\s\S]{2}"),
        ("|".join(exceptions), ""),
        (f"(?i:y){_APOSTROPHE}", f"[{letter}]"),
        (f"{_APOSTROPHE}[0-9][0-9]", "[ \t\n\xa0]"),
        (f"(?i:n){_ANY_APOSTROPHE}(?i:t)|{_CLITIC}", "[^A-Za-z]"),
        ("'", "[A-Za-z][^ \t\n]"),
        (_CLITIC, ""),
    ]


def _joined_words(word: str, letter: str, plain: str) -> list[_Pattern]:
    """Words with hyphens, slashes, underscores and periods; company names; hash tags."""
    elided = f"[dDoOlL]{_ANY_APOSTROPHE}{plain}"
    joined = f"(?:{elided})?{plain}+(?:[-_\u058a\u2010\u2011](?:{elided})?{plain}+)*"
    hyphened = rf"[A-Za-z0-9][A-Za-z0-9.,\xad]*(?:-(?:{_INITIALS}\.|[A-Za-z0-9\xad]+))+"
    kinds = """bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3
        pdf php pl png ppt ps py sql tar txt wav x xml zip"""
    side = "[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}"
    return [
        (rf"(?:{word}|{joined}|{hyphened})\.", "[,;:\u3001]"),
        (joined, ""),
        (rf"{hyphened}|(?i:anti|pro)-", ""),
        (rf"{side}(?:\\?/{side}){{1,2}}", ""),
        (rf"{plain}+(?:\.{plain}+)*\.(?i:{_any_of(kinds)})", r"[\s.!?,]"),
        (r"[A-Z]+(?:(?:[+&]|&(?i:amp);)[A-Z]+)+", ""),
        (f"#[{letter}]+|@[A-Za-z_][A-Za-z0-9_]*", ""),
        ("[cC][+][+]|[cCfF]#", ""),
    ]


def _numbers(digit: str) -> list[_Pattern]:
    gap = "[- \xa0]"
    area = rf"\([0-9]{{2,3}}\)[ \xa0]?|(?:\+\+?)?(?:[0-9]{{2,4}}{gap})?[0-9]{{2,4}}{gap}"
    dotted = r"(?:(?:\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}"
    fraction = rf"(?:[0-9]{{1,4}}{gap})?[0-9]{{1,4}}\\?[/\u2044][0-9]{{1,4}}"
    return [
        (f"[+-]?(?:[{digit}]*(?:[.,:\u066b\u066c][{digit}]+)+|[{digit}]+)", ""),
        (fraction, "(?![0-9])"),
        (f"(?:{area})[0-9]{{3,4}}{gap}?[0-9]{{3,5}}|{dotted}", ""),
        ("[0-9]{1,2}[-/][0-9]{1,2}[-/][0-9]{2,4}", ""),
    ]


_NAME = "[A-Za-z][A-Za-z0-9_:.@-]*"
_ATTRIBUTE = rf"""[ \t]+{_NAME}(?:=(?:"[^"\n]*"|'[^'\n]*'))?"""
_NOT_IN_URL = r' \t\n\f\r"<>|'
_URL_PATH = rf"[^{_NOT_IN_URL}()]+[^{_NOT_IN_URL}.!?(){{}},-]"
_NOT_IN_MAIL = r' \t\n\f\r"<>|(){}\xa0'
_MARKUP: list[_Pattern] = [
    (rf"<{_NAME}(?:{_ATTRIBUTE})*[ \t]*/?>|</{_NAME}[ \t]*>|<[!?][A-Za-z-][^>\n]*>", ""),
    ("&(?i:amp|lt|gt|quot|apos|mdash|nbsp);|&#[0-9]+;|&(?i:[aeiou](?:acute|grave|uml));", ""),
    (rf"(?:https?|ftp)://{_URL_PATH}", ""),
    (rf"www\.(?:[^{_NOT_IN_URL}.!?(){{}},]+\.)+[a-zA-Z]{{2,4}}(?:/{_URL_PATH})?", ""),
    (rf"(?:[^{_NOT_IN_URL}`'.!?(){{}},-_$]+\.)+(?:com|net|org|edu)(?:/{_URL_PATH})?", ""),
    (rf"<?[a-zA-Z0-9][^{_NOT_IN_MAIL}]*@(?:[^{_NOT_IN_MAIL}.]+\.)*[^{_NOT_IN_MAIL}.]+>?", ""),
]


def _symbols(symbol: str, mark: str) -> list[_Pattern]:
    eye = "[x='~^<>-]"
    others = "".join(c for c in (*_REPLACED, *_QUOTES) if len(c) == 1 and not c.isascii())
    return [
        (r"[<>]?[:;=][-o*']?[()DPdpO\\{@|\[\]]", "(?![A-Za-z0-9])"),
        (rf"{eye}_{eye}|\({eye}_?{eye}\)|[A-Z]*\$", ""),
        (r"\.{3,}|\.[ \xa0]\.[ \xa0]\.|''|[`\x91-\x94\u2018-\u201f\u2039\u203a\xab\xbb]{2}", ""),
        (r"[?!]+|\*+|\\\*|_+|@+|\#+|<<|>>|-{5,}|-{2,4}|(?i:-[lr][rsc]b-)", ""),
        (rf"[!-/:-@\[-`{{-~{others}{symbol}]|[{mark}]", ""),
    ]
