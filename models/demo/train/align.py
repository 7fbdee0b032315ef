#!/usr/bin/env python3
"""Which text token does the teacher's each symbol belong to? Hard-EM alignment of graphemes and phonemes inside words.

    python align.py             data/sym_*.pt, data/heldout.pt -> data/align.pt

Per sentence: ids and idx (text tokens, position in the word), and per teacher symbol sym, tok (its text token), dur
(steps); f0 as the teacher gave it. The alignment guides attention heads and codebook 3; it need not be perfect.
Near copies of held-out sentences are left out here too, should text have been synthesised before they were written.
"""

import collections
import glob
import math
import os

import numpy as np

import tokenizer
from common import arguments, load, save_atomically
from corpus import HeldOut, held_out_lines

PUNCTUATION, STRESS = set(',.?!;:—…"“”'), set("ˈˌ")
EDGE = "<pad>"
ROUNDS = 7
MAX_PHONES = 4  # for one grapheme
SPLIT_COST = 0.7  # for each phone after a grapheme's first


class Words:
    """Splits a sentence into words with their graphemes and symbols."""

    def __init__(self, tokens):
        self.tokens, self.cache = tokens, {}

    def pieces(self, word):
        if word not in self.cache:
            self.cache[word] = self.tokens.tokenize(word)
        return self.cache[word]

    def __call__(self, text, phonemes):
        """-> per word: graphemes, has closing punctuation, phones, [(symbol, index of its phone or -1)]"""
        words = []
        for word, spoken in zip(text.split(" "), phonemes.split(" ")):
            graphemes = list(self.pieces(word))
            mark = graphemes.pop() if graphemes and graphemes[-1] in (",", ".", "?") else None
            phones = [c for c in spoken if c not in PUNCTUATION | STRESS]
            symbols, k = [], 0
            for c in spoken:
                if c in PUNCTUATION:
                    symbols.append((c, -1))
                elif c in STRESS:  # belongs to the phone that follows
                    symbols.append((c, min(k, len(phones) - 1)))
                else:
                    symbols.append((c, k))
                    k += 1
            words.append((tuple(graphemes), mark, tuple(phones), symbols))
        return words


def best_path(graphemes, phones, phone_cost, silent_cost):
    """Monotonic alignment, each grapheme 0 to 4 phones -> [(first, end)] per grapheme, or None."""
    m, n, never = len(graphemes), len(phones), -1e9
    score, back = np.full((m + 1, n + 1), never), {}
    score[0, 0] = 0
    for i, g in enumerate(graphemes):
        for j in range(n + 1):
            if score[i, j] <= never:
                continue
            total = score[i, j] + silent_cost(g)
            if total > score[i + 1, j]:
                score[i + 1, j], back[i + 1, j] = total, j
            total = score[i, j]
            for k in range(j, min(n, j + MAX_PHONES)):
                total += phone_cost(g, phones[k]) - SPLIT_COST * (k - j)
                if total > score[i + 1, k + 1]:
                    score[i + 1, k + 1], back[i + 1, k + 1] = total, j
    if score[m, n] <= never:
        return None
    path, j = [None] * m, n
    for i in range(m, 0, -1):
        path[i - 1] = (back[i, j], j)
        j = back[i, j]
    return path


def expectation_maximisation(types):
    """types: Counter of (graphemes, phones) -> {(graphemes, phones): path}"""
    plain = lambda g: g.replace("##", "")
    counts = collections.defaultdict(collections.Counter)
    for graphemes, phones in types:  # start from a proportional split
        for k, phone in enumerate(phones):
            counts[plain(graphemes[min(len(graphemes) - 1, k * len(graphemes) // len(phones))])][phone] += 1
    silent, paths = collections.Counter(), {}
    for round_ in range(ROUNDS):
        total = {g: sum(c.values()) for g, c in counts.items()}
        phone_cost = lambda g, p: math.log((counts[plain(g)][p] + 0.05) / (total.get(plain(g), 0) + 3))
        bias = 0.5 if round_ else 2.0
        silent_cost = (
            lambda g: math.log((silent[plain(g)] + 0.5) / (total.get(plain(g), 0) + silent[plain(g)] + 5)) - bias
        )
        new_counts, new_silent, paths = collections.defaultdict(collections.Counter), collections.Counter(), {}
        for graphemes, phones in types:
            path = best_path(graphemes, phones, phone_cost, silent_cost)
            if path is None:
                continue
            paths[graphemes, phones] = path
            for g, (first, end) in zip(graphemes, path):
                if first == end:
                    new_silent[plain(g)] += 1
                for k in range(first, end):
                    new_counts[plain(g)][phones[k]] += 1
        counts, silent = new_counts, new_silent
    return paths


def sentence(record, words, paths, number, convert):
    tokens, position, symbols, owner = [], [], [0], [0]
    for i, (graphemes, mark, phones, spoken) in enumerate(words(record["text"], record["ps"])):
        if (graphemes, phones) not in paths:
            return None
        base, of_phone = len(tokens), [0] * len(phones)
        if i:
            symbols.append(number[" "])
            owner.append(base)
        for k, (first, end) in enumerate(paths[graphemes, phones]):
            of_phone[first:end] = [base + k] * (end - first)
        tokens += graphemes
        position += range(len(graphemes))
        if mark:
            tokens.append(mark)
            position.append(len(graphemes))
        for symbol, phone in spoken:
            symbols.append(number[symbol])
            owner.append(of_phone[phone] if phone >= 0 else len(tokens) - 1)
    symbols.append(0)
    owner.append(len(tokens) - 1)
    assert len(symbols) == len(record["d"]), record["text"]
    array = lambda values: np.array(values, np.int16)
    return dict(text=record["text"], ids=array(convert(tokens)), idx=array(position), sym=array(symbols), tok=array(owner),
                dur=array(record["d"]), f0=record["f0"])  # fmt: skip


def main():
    data = arguments(__doc__).data
    tokens = tokenizer.build(f"{data}/tokenizer")
    paths = sorted(glob.glob(f"{data}/sym_*.pt")) + [f"{data}/heldout.pt"]
    keep = ("text", "ps", "d", "f0")
    sets = {os.path.basename(p): [{k: r[k] for k in keep} for r in load(p)] for p in paths}
    held = HeldOut(held_out_lines())
    for name in sets:
        if "held" not in name:
            sets[name] = [None if held.near(r["text"]) else r for r in sets[name]]
    words = Words(tokens)
    types = collections.Counter()
    for records in sets.values():
        for r in filter(None, records):
            types.update((g, p) for g, _, p, _ in words(r["text"], r["ps"]) if g and p)
    alignment = expectation_maximisation(types)
    print("word types", len(types), "without alignment", len(types) - len(alignment))
    table = f"{data}/symbols.pt"  # numbers never change once a model was trained; new symbols go last
    symbols = load(table)["symbols"] if os.path.exists(table) else [EDGE]
    symbols += sorted({c for records in sets.values() for r in filter(None, records) for c in r["ps"]} - set(symbols))
    number = {c: i for i, c in enumerate(symbols)}
    aligned = {
        name: [r and sentence(r, words, alignment, number, tokens.convert_tokens_to_ids) for r in records]
        for name, records in sets.items()
    }
    print("sentences", sum(map(len, aligned.values())), "left out", sum(x is None for s in aligned.values() for x in s))
    save_atomically(dict(sets=aligned, symbols=symbols), f"{data}/align.pt")


if __name__ == "__main__":
    main()
