#!/usr/bin/env python3
"""Word error rate over the held-out sentences.

    python evaluate.py teacher|vocos|copy [--voice m]
    python evaluate.py gpt|decoder --gpt NAME [--voice f|m|empty|draw] [--sentences N] [--texts FILE]

teacher: the teacher's audio; vocos: true mels; copy: true codes; gpt: free running, from codes; decoder: free running,
from hidden states. The first audio files go to data/wav/.
"""

import os
import time

import numpy as np
import soundfile
import torch
import torch.nn.functional as F

import asr
import tokenizer
from codes import Coder, f0_levels
from common import FEMALE, MALE, SAMPLE_RATE, SPEAKER_COORDINATE, arguments, load, load_model
from export import DRAW_SCALE
from gpt import GPT
from models import DVAE, Vocos

KEEP_AUDIO = 12
BATCH = 30
TYPICAL = 8.0  # size of the speaker coordinate before normalisation, in the middle of what training draws


def parse():
    number = lambda default, kind=float: dict(type=kind, default=default)
    return arguments(
        __doc__,
        (["mode"], dict(choices=["teacher", "vocos", "copy", "gpt", "decoder"])),
        (["--gpt"], {}),
        (["--voice"], dict(default="empty", choices=[FEMALE, MALE, "empty", "draw"])),
        (["--sentences"], number(60, int)),
        (["--texts"], dict(help="a file of sentences instead of the held-out ones")),
        (["--prompt"], dict(default="[speed_5]")),
        (["--temperature"], number(0.3)),
        (["--top-p"], number(0.7)),
        (["--top-k"], number(20, int)),
        (["--penalty"], number(1.05)),
        (["--seed"], number(0, int)),
        (["--spell"], dict(action="store_true", help="print the symbols that were spoken")),
        (["--verbose"], dict(action="store_true", help="print every sentence with errors")),
    )


def speaker(hidden, voice, generator):
    v = torch.randn(hidden, generator=generator)
    v[SPEAKER_COORDINATE] = {FEMALE: TYPICAL, MALE: -TYPICAL, "draw": v[SPEAKER_COORDINATE] * DRAW_SCALE}[voice]
    return F.normalize(v, dim=0)


def speak(args, texts, gpt):
    tokens = tokenizer.build()
    generator = torch.Generator().manual_seed(args.seed + 99)
    prefixes = []
    for text in texts:
        mark = "[empty_spk]" if args.voice == "empty" else "[spk_emb]"
        ids = tokens.encode(f"[Stts]{mark}{args.prompt}{text}[Ptts]", add_special_tokens=False)
        embedded = gpt.text(torch.tensor(ids))
        if args.voice != "empty":
            embedded[1] = speaker(gpt.H, args.voice, generator)
        prefixes.append(embedded)
    results, ended = [], 0
    sampling = dict(
        temperature=args.temperature, top_p=args.top_p, top_k=args.top_k, penalty=args.penalty, seed=args.seed
    )
    for i in range(0, len(prefixes), BATCH):
        batch, ends = gpt.generate(prefixes[i : i + BATCH], **sampling)
        results, ended = results + batch, ended + int(ends.sum())
    return results, len(texts) - ended


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    data, voice = args.data, MALE if args.voice == MALE else FEMALE
    coder = Coder(data)
    records, items = load(f"{data}/heldout.pt"), load(f"{data}/align.pt")["sets"]["heldout.pt"]
    middle, half = len(records) // 2, min(args.sentences, len(records)) // 2  # half templates, half free text
    records, items = records[middle - half : middle + half], items[middle - half : middle + half]
    texts = (
        open(args.texts).read().strip().split("\n")[: args.sentences] if args.texts else [r["text"] for r in records]
    )
    vocos, codec = load_model(Vocos, f"{data}/vocos.pt"), load_model(DVAE, f"{data}/dvae.pt")
    remark, audio = "", lambda mel: vocos(mel)[0].numpy()
    started = time.time()
    if args.mode == "teacher":
        wavs = [r["wav_" + voice].astype(np.float32) / 32767 for r in records]
    elif args.mode == "vocos":
        wavs = [audio(torch.from_numpy(r["mel_" + voice].astype(np.float32)).T[None]) for r in records]
    elif args.mode == "copy":
        for item in items:
            item["level"], item["voicing"] = f0_levels(item["f0"])
        wavs = [audio(codec.decode_codes(torch.from_numpy(coder(item, voice)[0])[None])) for item in items]
    else:
        gpt = load_model(GPT, f"{data}/gpt_{args.gpt}.pt", "ema")
        results, runaways = speak(args, texts, gpt)
        remark = f"runaways {runaways}, {time.time() - started:.0f} s"
        if not args.texts:
            ratio = np.array([len(c) / sum(r["d"]) for (c, _), r in zip(results, records)])
            remark += (
                f", length ratio {ratio.mean():.2f}, under 0.7: {(ratio < 0.7).sum()}, over 1.4: {(ratio > 1.4).sum()}"
            )
        if args.spell:
            for text, (codes, _) in zip(texts, results):
                print("  ", text, "|", coder.spell(codes))
        if args.mode == "decoder":
            decoder = load_model(DVAE, f"{data}/decoder.pt")
            mels = [decoder.decode(h.T[None]) for _, h in results]
        else:
            mels = [codec.decode_codes(c[None]) for c, _ in results]
        wavs = [audio(m) for m in mels]
    folder = f"{data}/wav/{args.mode}_{args.voice}"
    os.makedirs(folder, exist_ok=True)
    for i, wav in enumerate(wavs[:KEEP_AUDIO]):
        soundfile.write(f"{folder}/{i:02d}.wav", np.clip(wav, -1, 1), SAMPLE_RATE)
    wer = asr.word_error_rate(texts, wavs, args.verbose)
    print(
        f"{args.mode} {args.gpt or ''} voice {args.voice} seed {args.seed} {args.prompt}: WER {100 * wer:.1f}% {remark}",
        flush=True,
    )


if __name__ == "__main__":
    main()
