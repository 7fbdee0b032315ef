#!/usr/bin/env python3
"""Synthetic English text: templates and grammars of our own over word lists (wordfreq, wonderwords).

    python corpus.py            -> data/train.txt, data/extra.txt, data/heldout.txt

Text is what the server's front end leaves: lower case letters, space, comma, full stop, question mark, apostrophe;
numbers spelt out; 1 to 17 words. train.txt uses the commonest 5,000 words, extra.txt 12,000 (for the readings of
rarer words). heldout.txt, listen.txt and endings.txt of this folder were written by hand; no sentence within a third
of the words of one of them (edit distance) is used for training. heldout.txt is copied: it is watched during training.
"""

import os
import random
import re
import shutil

from rapidfuzz.distance import Levenshtein

from common import arguments
from corpus_words import *  # noqa: F403 - word lists in capitals

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = dict(seed=7, top=5_000, count=26_000)
EXTRA = dict(seed=11, top=12_000, count=26_000)
MAX_WORDS = 17
HELD_OUT = ("heldout.txt", "listen.txt", "endings.txt")
NEAR = 3  # a training sentence must differ from a held-out one by more than a third of its words


def frequent_words(top):
    from wordfreq import top_n_list

    words = [w for w in top_n_list("en", top) if w.isascii() and w.isalpha() and (len(w) > 2 or w in SHORT_WORDS)]
    return [w for w in words if w not in UNWANTED and w not in set(asset("profanitylist.txt"))]


def asset(name):
    import wonderwords

    return [line.strip().lower() for line in open(os.path.join(os.path.dirname(wonderwords.__file__), "assets", name))]


def dictionary_words(words):
    """Only what the teacher's dictionary knows, or an inflected form of it: its guesses at names would teach noise."""
    import gzip
    import json

    import hibari

    path = os.path.join(os.path.dirname(hibari.__file__), "assets/lexicon_us_gold.json.gz")
    known = json.load(gzip.open(path))
    endings = ("s", "es", "ed", "d", "ing", "ly", "er", "est")
    base = lambda w: any(w.endswith(e) and (w[: -len(e)] in known or w[: -len(e)] + "e" in known) for e in endings)
    return [w for w in words if w in known or base(w)]


def plural(word):
    irregular = dict(
        man="men", woman="women", child="children", fish="fish", knife="knives", wife="wives", shelf="shelves"
    )
    if word in irregular:
        return irregular[word]
    if re.search("(s|x|ch|sh)$", word):
        return word + "es"
    return word[:-1] + "ies" if re.search("[^aeiou]y$", word) else word + "s"


def with_article(words):
    vowel = words[0] in "aeiou" and not words.startswith(("uni", "use", "eu", "one"))
    return ("an " if vowel or words in ("hour", "honest") else "a ") + words


class Grammar:
    def __init__(self, seed, top, flat):
        self.r = random.Random(seed)
        self.words = frequent_words(top)
        if flat:
            self.words = dictionary_words(self.words)
        known = set(self.words)
        self.nouns, self.adjectives, self.verbs = (
            [w for w in asset(f) if w in known] for f in ("nounlist.txt", "adjectivelist.txt", "verblist.txt")
        )
        self.salad_words = self.words[: top * 4 // 5]
        self.salad_odds = [1 / (60 + i) ** (0.1 if flat else 0.35) for i in range(len(self.salad_words))]

    # ---- parts

    def of(self, *choices):
        """One of the choices; a choice may be a text with {...}, a list, or a function."""
        choice = self.r.choice(choices)
        while not isinstance(choice, str):
            choice = choice() if callable(choice) else self.r.choice(choice)
        return choice

    def one(self, text):
        """One of the alternatives that | separates."""
        return self.r.choice(text.split("|"))

    def chance(self, p):
        return self.r.random() < p

    def noun(self):
        return self.r.choice(THINGS if self.chance(0.4) else self.nouns)

    def adjective(self):
        return self.r.choice(ADJECTIVES if self.chance(0.55) else self.adjectives)

    def number(self, big=True):
        r = self.r.random()
        if r < 0.45:
            return self.of(ONES)
        if r < 0.6:
            return self.of(TENS)
        if r < 0.8 or not big:
            return f"{self.of(TENS)} {self.of(ONES[:9])}"
        if r < 0.92:
            return f"{self.of(ONES[:9])} hundred" + (f" and {self.number(False)}" if self.chance(0.6) else "")
        return f"{self.of(ONES)} thousand" + (f" {self.of(ONES[:9])} hundred" if self.chance(0.5) else "")

    def time(self):
        hour = self.of(ONES[:12])
        around = "{h} o'clock|half past {h}|quarter past {h}|quarter to {h}|{h} thirty|{h} fifteen|{h} in the morning|{h} in the evening|noon|midnight"
        return self.one(around).format(h=hour)

    def thing(self):
        if self.chance(0.12):
            return self.one("it|them|this|that|everything|something|nothing")
        first = self.one("the|the|the|my|your|his|her|our|their|this|that|another|every|a|a|some|no")
        words = self.noun() if self.chance(0.6) else f"{self.adjective()} {self.noun()}"
        if first == "a":
            return with_article(words)
        if first == "some":
            return "some " + (plural(words) if self.chance(0.7) else words)
        return f"{first} {words}"

    def subject(self):
        r = self.r.random()
        if r < 0.33:
            return self.one("i|you|he|she|we|they|it|everyone|nobody|somebody")
        if r < 0.5:
            return self.of(NAMES)
        several = ("some", "many", "most", "two", "three")
        single = (
            "the",
            "the",
            "my",
            "your",
            "his",
            "her",
            "our",
            "an old",
            "a young",
            "the new",
            "the " + self.adjective(),
        )
        first = self.of(single + several)
        word = self.of(PEOPLE) if self.chance(0.7) else self.noun()
        return f"{first} {plural(word) if first in several else word}"

    def where(self):
        before = "in|at|near|behind|to|from|around|across|outside|into|through|past|over|under|beside|toward"
        return f"{self.one(before)} the " + (self.adjective() + " " if self.chance(0.3) else "") + self.of(PLACES)

    def when(self):
        return self.of(
            lambda: self.one("this|every|last|next")
            + " "
            + self.one("morning|week|month|year|summer|winter|spring|autumn|night|day|weekend"),
            lambda: "on " + self.of(DAYS),
            lambda: "in " + self.of(MONTHS),
            lambda: "at " + self.time(),
            lambda: f"for {self.number(False)} {self.of(UNITS[:6])}",
            lambda: f"{self.number(False)} {self.of(UNITS[:6])} ago",
            lambda: self.one("after|before|during")
            + " "
            + self.one("lunch|dinner|breakfast|work|school|the meeting|the war|the game|the storm"),
            lambda: self.one("today|tomorrow|yesterday|tonight|again|now|soon"),
        )

    def verb_phrase(self):
        verb = self.of(VERBS) if self.chance(0.6) else self.of(self.verbs)
        modal = "will|can|should|must|could|would|might|did not|do not|cannot|want to|have to|used to|tried to|need to|like to|don't|can't|won't"
        return f"{self.one(modal)} {verb} {self.thing()}"

    def clause(self):
        r = self.r.random()
        if r < 0.4:
            text = f"{self.subject()} {self.of(VERBS_PAST)} {self.thing()}"
        elif r < 0.6:
            text = f"{self.subject()} {self.of(VERBS_PAST_ALONE)} " + (
                self.where() if self.chance(0.6) else self.of(ADVERBS)
            )
        elif r < 0.72:
            who = self.of(
                "he",
                "she",
                "it",
                NAMES,
                "the " + self.noun(),
                "the " + self.of(PEOPLE),
                "this " + self.noun(),
                "my " + self.noun(),
            )
            text = f"{who} {self.one('is|was|looks|seems|will be|has been|became|felt')} {self.one('|very |too |so |quite |not |really |always ')}{self.adjective()}"
        elif r < 0.86:
            text = f"{self.one('i|you|we|they')} {self.verb_phrase()}"
        else:
            what = with_article(self.of("", self.adjective() + " ") + self.noun())
            text = f"there {self.one('is|was|will be|has to be')} {what} {self.where()}"
        if self.chance(0.35):
            text += " " + self.of(self.where, self.when)
        return text

    # ---- sentences

    def grammatical(self):
        r = self.r.random()
        if r < 0.5:
            return self.clause() + "."
        if r < 0.6:
            return f"{self.when()}, {self.clause()}."
        if r < 0.78:
            return (
                self.clause()
                + self.one(
                    " and | but | because | when | so | while |, and |, but | after | before | until | although | since | if "
                )
                + self.clause()
                + "."
            )
        if r < 0.85:
            return f"{self.one('if|when|because|after|before|while|although|as soon as')} {self.clause()}, {self.clause()}."
        if r < 0.93:
            asked = "do you know|can you tell me|did you hear|are you sure|do you think|who said"
            return f"{self.one(asked)} {self.one('that|why|when|how|if|where')} {self.clause()}?"
        said = "i think|i hope|i know|she said|he told me|they say|we believe|it seems|i am sure|remember|people say"
        return f"{self.one(said)} that {self.clause()}."

    def salad(self):
        """Words in no order: nothing to lean on but the spelling."""
        words = self.r.choices(self.salad_words, self.salad_odds, k=self.r.randint(3, 9))
        if len(words) > 5 and self.chance(0.4):
            words[len(words) // 2] += ","
        return " ".join(words) + self.r.choice([".", ".", ".", ""])

    def single(self):
        return self.of(self.words[:6000]) + self.r.choice([".", ".", "?", ""])

    def template(self):
        return self.r.choice(TEMPLATES)(self)


def greeting(g):
    rest = ", how are you today?|, nice to meet you.|, how can i help you?|, thank you for calling.|, it is good to see you again.|, my name is {}.|, what can i do for you?|."
    first = g.one("hello|hi|good morning|good afternoon|good evening|welcome|hey") + g.of(
        ", " + g.of(NAMES), " there", " everyone", ""
    )
    return first + g.one(rest).format(g.of(NAMES))


def request(g):
    ask = "please|could you please|would you please|can you please|you should|do not|let us|let me|try to|remember to|never"
    return f"{g.one(ask)} {g.of(VERBS)} {g.thing()}{g.of('', ' ' + g.where(), ' ' + g.when(), ' carefully')}."


def question(g):
    what = g.of(
        "what",
        "which " + g.noun(),
        "how many " + plural(g.noun()),
        "how much " + g.of(FOODS),
        "what kind of " + g.noun(),
    )
    who = g.one("do you want|did he {v}|should we {v}|will they {v}|can i {v}|would you like|does she need").format(
        v=g.of(VERBS)
    )
    return f"{what} {who}{g.of('', ' ' + g.when())}?"


def schedule(g):
    what = "train|bus|plane|meeting|movie|show|shop|bank|class|game|boat|concert"
    does = "leaves|arrives|starts|opens|closes|ends|begins|returns"
    return f"the {g.one(what)} {g.one(does)} at {g.time()}{g.of('', ' on ' + g.of(DAYS), ' every day', ' tomorrow')}."


def amount(g):
    first = "it costs|that will be|the price is|you owe me|we paid|i need|there are|it takes|he waited|we drove|they walked|she counted|about|at least|more than|less than"
    return f"{g.one(first)} {g.number()} {g.of(UNITS)}."


def digits(g):
    groups = g.r.choice([(3, 4), (3, 3, 4), (4,), (5,), (2, 2, 2)])
    return "the number is " + ", ".join(" ".join(g.of(ONES[:9], "zero", "oh") for _ in range(k)) for k in groups) + "."


def date(g):
    first = g.one("today is|the date is|my birthday is|the party is on|we meet on|it was")
    return f"{first} {g.of(DAYS)}, {g.of(MONTHS)} {g.of(ORDINALS)}."


def weather(g):
    when = g.of("today", "tomorrow", "this week", "in " + g.of(MONTHS))
    sky = g.one("sunny|cloudy|rainy|windy|cold|warm|hot|cool|dry|wet|nice|foggy")
    more = g.of(
        "",
        f" and {g.one('sunny|dry|cold|windy')}",
        f" with some {g.one('rain|snow|clouds|wind|sunshine|fog')}",
        f" in the {g.one('north|south|east|west|morning|afternoon')}",
    )
    return f"the weather {when} will be {sky}{more}."


def food(g):
    first = "i would like|i want|we need|can i have|could we get|please bring me|i'd like|she ordered|he ate|they drank"
    much = "some|a little|more|no|a cup of|a glass of|two plates of|a lot of|fresh"
    more = g.of(
        "", " and " + g.of(FOODS), " with " + g.of(FOODS), " for " + g.one("breakfast|lunch|dinner"), ", please"
    )
    return f"{g.one(first)} {g.one(much)} {g.of(FOODS)}{more}."


def contraction(g):
    who = (
        g.one("i'm|we're|they're|you're|he's|she's|it's|that's|i am|we are")
        + " "
        + g.one("not |very |so |almost |still |")
    )
    what = g.of(
        g.adjective,
        lambda: "going " + g.where(),
        "sorry",
        "ready",
        "here",
        "at home",
        "on the way",
        "late",
        "from " + g.of(PLACES[:20]),
        "waiting for " + g.thing(),
        "looking for " + g.thing(),
    )
    return f"{who}{what}{g.of('', ' ' + g.when())}."


def telephone(g):
    texts = """your call is important to us|please hold the line|please leave a message after the tone|press one for english
|the office is closed now|you have reached {name}|nobody can take your call|please call back later|your order is on the way
|goodbye and have a nice day|see you {day}|talk to you soon|press {digit} to continue|your code is {code}|one moment please
|hold on, please|could you repeat that|the line is busy|you have {count} new messages""".replace(
        "\n", ""
    )
    code = " ".join(g.of(ONES[:9]) for _ in range(4))
    text = g.one(texts).format(name=g.of(NAMES), day=g.of(DAYS), digit=g.of(ONES[:9]), code=code, count=g.of(ONES[1:]))
    return text + g.of(".", ".", ", " + g.clause() + ".")


TEMPLATES = [
    greeting,
    lambda g: f"{g.one('thank you|thanks|thank you very much|many thanks')} for {g.of('your help', 'your time', 'calling', 'waiting', 'coming', 'the ' + g.noun(), 'your message', 'your patience')}.",
    request,
    question,
    lambda g: f"{g.one('where|when|why|how')} {g.one('did|do|will|can|should|could|would')} {g.one('you|they|we|i|he')} {g.of(VERBS)} {g.thing()}?",
    lambda g: f"{g.one('is|was|where is|how far is|what time does|how do i get to')} the {g.of(g.adjective() + ' ', '')}{g.of(PLACES)}{g.one('| from here| open| on the left| on the right')}?",
    schedule,
    amount,
    digits,
    date,
    weather,
    food,
    contraction,
    lambda g: f"{g.one('yes|no|well|okay|of course|sure|sorry|excuse me|please|oh|maybe|right')}, {g.clause()}.",
    telephone,
    lambda g: f"the {g.of(ADJECTIVES)} {g.noun()} and the {g.of(ADJECTIVES)} {g.noun()} {g.one('are|were|look|seem')} {g.one('|very |almost |not ')}{g.of('the same', 'different', g.adjective, 'here', 'gone')}.",
    lambda g: f"{g.one('this is|that was|here is|it is')} {g.one('the|my|our|your')} {g.one('best|first|last|only|favorite|biggest|oldest|next|second')} {g.noun()}{g.of('', ' of the ' + g.one('day|week|year|world|city'), ' so far')}.",
]


def held_out_lines():
    return [line for name in HELD_OUT for line in open(os.path.join(HERE, name)).read().strip().split("\n")]


class HeldOut:
    def __init__(self, lines):
        self.sentences = [self.words(line) for line in lines]

    @staticmethod
    def words(text):
        return re.sub("[.,?]", "", text).split()

    def near(self, text):
        words = self.words(text)
        for other in self.sentences:
            limit = max(1, len(other) // NEAR)
            if (
                abs(len(words) - len(other)) <= limit
                and Levenshtein.distance(words, other, score_cutoff=limit) <= limit
            ):
                return True
        return False


def generate(seed, top, count, odds, flat, seen, held):
    """odds: shares of templates, grammar and single words; the rest is salad."""
    grammar, out = Grammar(seed, top, flat), []
    kinds = (grammar.template, grammar.grammatical, grammar.single, grammar.salad)
    weights = (*odds, 1 - sum(odds))
    while len(out) < count:
        text = re.sub(r"\s+", " ", grammar.r.choices(kinds, weights)[0]().strip())
        if text in seen or len(text.split()) > MAX_WORDS or held.near(text):
            continue
        seen.add(text)
        out.append(text)
    return out


def main():
    data = arguments(__doc__).data
    os.makedirs(data, exist_ok=True)
    shutil.copy(os.path.join(HERE, "heldout.txt"), f"{data}/heldout.txt")
    held, seen = HeldOut(held_out_lines()), set()
    sets = {
        "train": generate(**TRAIN, odds=(0.36, 0.42, 0.0), flat=False, seen=seen, held=held),
        "extra": generate(**EXTRA, odds=(0.25, 0.30, 0.03), flat=True, seen=seen, held=held),
    }
    for name, lines in sets.items():
        open(f"{data}/{name}.txt", "w").write("\n".join(lines) + "\n")
        words = {w for line in lines for w in re.findall("[a-z']+", line)}
        print(name, len(lines), "sentences,", len(words), "words")


if __name__ == "__main__":
    main()
