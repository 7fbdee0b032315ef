#!/usr/bin/env python3
"""The Mandarin teacher's reading of sentences from corpus_zh.py.

    python synth_zh.py FIRST LAST --voices DIR            shards -> data/zh_FIRST.pt ...: symbols, durations, pitch
    python synth_zh.py FIRST LAST --voices DIR --audio    data/zha_FIRST.pt ...: with mel and 16-bit audio as well

A shard has SHARD sentences, each in one of the two voices, in turn; it goes on where it stopped. Per sentence: text
tokens (characters' syllables, marks), and per symbol of the teacher the token it belongs to, so no alignment is needed.
"""

import itertools
import os

import numpy as np
import torch
from misaki.zh import ZHG2P

from common import VOICES, arguments, mel_transform, save_atomically
from corpus_zh import sentences, syllables
from synth import trim
from teacher_zh import Teacher

SHARD, AUDIO_SHARD = 250, 20
MARKS = ",.?!"


def spell(words):
    """Words and marks -> text tokens, phonemes, and for each phoneme its token; None where it cannot be read."""
    read = syllables(words)
    if read is None:
        return None
    tokens, phonemes, owner = [], "", []
    for i, (word, spoken) in enumerate(zip(words, read)):
        if i and word not in MARKS:
            phonemes += " "
            owner.append(len(tokens))
        for syllable in spoken:
            try:
                sound = syllable if syllable in MARKS else ZHG2P.py2ipa(syllable).replace(chr(815), "")
            except Exception:  # interjections that are no syllables
                return None
            phonemes += sound
            owner += [len(tokens)] * len(sound)
            tokens.append(syllable)
    return tokens, phonemes, owner


def sentence(teacher, mel, words, voice):
    spelt = spell(words)
    if spelt is None or any(c not in teacher.ids for c in spelt[1]):
        return None
    tokens, phonemes, owner = spelt
    durations, pitch, samples = teacher(phonemes, voice)
    start = trim(phonemes, durations)
    steps = int(durations.sum())
    window = slice(2 * start, 2 * (start + steps))
    record = dict(text="".join(words), tokens=tokens, ps=phonemes, owner=[0, *owner, len(tokens) - 1], voice=voice,
                  d=durations.astype(np.int16), f0=pitch[window].astype(np.float16))  # fmt: skip
    if samples is not None:
        wav = samples[512 * start : 512 * (start + steps)]
        frames = torch.log(torch.clip(mel(torch.from_numpy(wav)), min=1e-5))[:, :-1].T.numpy()
        record["mel"], record["wav"] = frames.astype(np.float16), (np.clip(wav, -1, 1) * 32767).astype(np.int16)
        assert len(frames) == 2 * steps
    return record


def main():
    args = arguments(
        __doc__,
        (["first"], dict(type=int)),
        (["last"], dict(type=int)),
        (["--voices"], dict(required=True, help="folder with zf_xiaobei.bin and zm_yunxi.bin")),
        (["--audio"], dict(action="store_true")),
    )
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    teacher, mel = Teacher(args.data, args.voices, args.audio), mel_transform()
    prefix, size = ("zha", AUDIO_SHARD) if args.audio else ("zh", SHARD)
    for shard in range(args.first, args.last):
        path = f"{args.data}/{prefix}_{shard:03d}.pt"
        if os.path.exists(path):
            continue
        texts = sentences(1000 * args.audio + shard)
        records = (sentence(teacher, mel, w, v) for w, v in zip(texts, itertools.cycle(VOICES)))
        records = list(itertools.islice(filter(None, records), size))
        save_atomically(records, path)
        print(path, sum(int(r["d"].sum()) for r in records) * 512 / 24000, "s", flush=True)


if __name__ == "__main__":
    main()
