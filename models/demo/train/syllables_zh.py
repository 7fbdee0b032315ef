#!/usr/bin/env python3
"""Which characters are text tokens: one for every toned syllable, and those whose reading depends on the context.

    python syllables_zh.py OUT      -> syllables_zh.txt here (token, syllable), OUT/homophones_map.json

The program's homophones map folds every other character into that of its usual reading, so that the model learns 1,300
syllables instead of thousands of characters. Token embeddings start as sums of initial, final and tone.
"""

import collections
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = f"{HERE}/syllables_zh.txt"
OWN = "还行长得地都着重了只为种中发好少分间数教觉乐当相便过空难几会要应将处转难差朝调传切和一不子头么上下里"


def table():
    """Token -> syllable, as shipped."""
    return dict(line.split() for line in open(TABLE).read().splitlines()) if os.path.exists(TABLE) else {}


def parts(tokens):
    """-> for every token number its initial, final and tone as rows of a table, 0 where it has none; and how many rows."""
    from pypinyin.contrib.tone_convert import to_finals, to_initials

    names, rows = {}, [[0, 0, 0] for _ in range(len(tokens))]
    row = lambda name: names.setdefault(name, len(names) + 1)
    for tone in "12345":
        row(tone)
    for token, syllable in table().items():
        three = "i:" + to_initials(syllable, strict=False), "f:" + to_finals(syllable, strict=False), syllable[-1]
        rows[tokens.convert_tokens_to_ids(token)] = [row(name) for name in three]
    return rows, names


def folded():
    """Character -> token, for every character of jieba's dictionary with a reading."""
    import jieba
    from pypinyin import Style, lazy_pinyin

    count = collections.Counter()
    with open(os.path.join(os.path.dirname(jieba.__file__), "dict.txt")) as file:
        for line in file:
            word, times, _ = line.split()
            for c in word:
                if "一" <= c <= "龥":
                    count[c] += int(times)
    reading = {c: lazy_pinyin(c, style=Style.TONE3, neutral_tone_with_five=True)[0] for c in count}
    reading = {c: r for c, r in reading.items() if r[-1] in "12345" and r[:-1].isascii() | ("ü" in r)}
    shipped, first = table(), {}
    for c, r in shipped.items():
        if c not in OWN:
            first[r] = c
    for c, _ in count.most_common():
        if c in reading and c not in OWN:
            first.setdefault(reading[c], c)
    return {c: c if c in OWN else first[r] for c, r in reading.items()}, reading


def write_map(out):
    changed = {c: to for c, to in sorted(folded()[0].items()) if c != to}
    with open(f"{out}/homophones_map.json", "w") as file:
        json.dump(changed, file, ensure_ascii=False, separators=(",", ":"))
    return len(changed)


def main():
    tokens, reading = folded()
    with open(TABLE, "w") as file:
        file.writelines(f"{c} {reading[c]}\n" for c in sorted(set(tokens.values()), key=lambda c: (reading[c], c)))
    print(len(set(tokens.values())), "tokens,", write_map(sys.argv[1]), "characters folded")


if __name__ == "__main__":
    main()
