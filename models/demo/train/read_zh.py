#!/usr/bin/env python3
"""How well the language model reads Mandarin, without sound: the phonemes it speaks against the teacher's.

    python read_zh.py NAME [--sentences N] [--voice f|m]

Free-running at the product's sampling over listen_zh.txt; prints wrong phonemes (edit distance, with tone marks and
without), how many did not end, and the length as a share of the teacher's.
"""

import os

import jieba
import numpy as np
import torch

import syllables_zh
import tokenizer
from asr import wrong_words
from codes import Coder
from common import MALE, arguments, load_model
from evaluate import speaker
from gpt import GPT
from synth_zh import spell

HERE = os.path.dirname(os.path.abspath(__file__))
WESTERN = str.maketrans("，。？！", ",.?!")
SILENT, TONES = " ,.?!#", "→↗↓↘"


def main():
    args = arguments(
        __doc__,
        (["name"], {}),
        (["--sentences"], dict(type=int, default=60)),
        (["--voice"], dict(default="f")),
        (["--verbose"], dict(action="store_true")),
    )
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    texts = open(f"{HERE}/listen_zh.txt").read().translate(WESTERN).split()[: args.sentences]
    gpt, coder, tokens = load_model(GPT, f"{args.data}/gpt_{args.name}.pt", "ema"), Coder(args.data), tokenizer.build()
    folded, generator = syllables_zh.folded()[0], torch.Generator().manual_seed(1)
    prefixes = []
    for text in texts:
        said = "".join(folded.get(c, c) for c in text)
        x = gpt.text(torch.tensor(tokens.encode(f"[Stts][spk_emb][speed_5]{said}[Ptts]", add_special_tokens=False)))
        x[1] = speaker(gpt.H, args.voice, generator)
        prefixes.append(x)
    spoken, ended = [], 0
    for i in range(0, len(prefixes), 30):
        batch, ends = gpt.generate(prefixes[i : i + 30], max_new=400)
        spoken, ended = spoken + batch, ended + int(ends.sum())
    sound = lambda s, without: [c for c in s if c not in without]
    for name, without in (("phonemes with tones", SILENT), ("phonemes", SILENT + TONES)):
        wrong = total = 0
        for text, (codes, _) in zip(texts, spoken):
            wanted, heard = sound(spell(jieba.lcut(text))[1], without), sound(coder.spell(codes).replace("<pad>", ""), without)
            wrong, total = wrong + wrong_words(wanted, heard), total + len(wanted)
            if args.verbose and without == SILENT:
                print("  ", text, "".join(wanted), "|", "".join(heard))
        print(f"{args.voice}: {name}: {wrong / total:.1%} of {total} wrong")
    print(f"{len(texts) - ended} of {len(texts)} did not end; {np.mean([len(c) for c, _ in spoken]):.0f} steps a sentence")


if __name__ == "__main__":
    main()
