#!/usr/bin/env python3
"""What else the demo voice can do, measured through the product.

    python measure.py [breaks] [joins] [open] [drawn] [sample]      all of them, or those named

breaks: the pause that [uv_break] makes between two words. joins: texts of two sentences, their words and the steps in
the signal where pieces meet. open: sentences without a closing mark. drawn: 20 drawn voices. sample: a recording of
either voice, made by the product itself, as voice sample.
"""

import os
import tempfile
import wave

import numpy as np

import asr
from listen import VOICES, Product, parser, sentences

RATE, FRAME = 24_000, 240  # 10 ms
QUIET = -45  # dBFS, below which a frame is a pause
EDGE = 30  # frames at either end where silence is no pause
PAUSE = 0.15  # seconds of silence that are heard as a pause
NEAR_JOIN = 120  # samples at either side of a join
MOST_WRONG_DRAWN = 0.30


def levels(samples):
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    return 10 * np.log10((frames**2).mean(1) + 1e-10)


def longest_pause(samples):
    """Seconds of the longest silence inside the speech."""
    longest = run = 0
    for level in levels(samples)[EDGE:-EDGE]:
        run = run + 1 if level < QUIET else 0
        longest = max(longest, run)
    return longest * FRAME / RATE


def spectrum(samples):
    """The long-term spectrum in dB around its mean, 1024-sample frames."""
    frames = samples[: len(samples) // 1024 * 1024].reshape(-1, 1024) * np.hanning(1024)
    power = 10 * np.log10((np.abs(np.fft.rfft(frames)) ** 2).mean(0) + 1e-8)
    return power - power.mean()


def nearest(samples, references):
    """Which of the named voices sounds most alike. references: name -> samples of the same texts."""
    own = spectrum(samples)
    return min(references, key=lambda name: np.abs(own - spectrum(references[name])).mean())


def share(counts):
    wrong, words = np.sum(counts, 0)
    return f"{wrong} of {words} words wrong, {wrong / words:.1%}"


def heard(product, text, voice, seed, *more):
    samples, figures = product.say(text, voice, seed, *more)
    return samples, figures, asr.errors(text, samples)[:2]


def breaks(product):
    texts = [t for t in sentences("listen.txt") if len(t.split()) >= 8 and "," not in t][:20]
    for voice in VOICES:
        pauses, plain, counts = [], [], []
        for i, text in enumerate(texts):
            words = text.split()
            middle = len(words) // 2
            broken = " ".join(words[:middle] + ["[uv_break]"] + words[middle:])
            plain.append(longest_pause(product.say(text, voice, i)[0]))
            samples, _, count = heard(product, broken, voice, i)
            pauses.append(longest_pause(samples))
            counts.append(count)
        quartiles = " / ".join(f"{q:.2f}" for q in np.percentile(pauses, [25, 50, 75]))
        made = sum(p >= PAUSE for p in pauses)
        print(f"breaks {voice}: {made} of {len(texts)} with a pause of {PAUSE} s or more, quartiles {quartiles} s; "
              f"without the mark {np.median(plain):.2f} s; {share(counts)}", flush=True)  # fmt: skip


def joins(product):
    texts = sentences("listen.txt")[:40]
    for voice in VOICES:
        counts, steps, loud, usual = [], [], [], []
        for i in range(0, len(texts), 2):
            samples, figures, count = heard(product, f"{texts[i]} {texts[i + 1]}", voice, i)
            counts.append(count)
            usual.append(np.abs(np.diff(samples)).max())
            at = 0
            for piece in figures["pieces"][:-1]:
                at += piece["samples"]
                around = samples[at - NEAR_JOIN : at + NEAR_JOIN]
                steps.append(abs(float(samples[at] - samples[at - 1])))
                loud.append(levels(around).max())
        print(f"joins {voice}: {share(counts)}", end="; ")
        if steps:
            print(f"{len(steps)} joins of pieces, largest step at one {max(steps):.5f} of full scale (in speech "
                  f"{np.median(usual):.3f}), loudest {max(loud):.0f} dBFS", flush=True)  # fmt: skip
        else:
            print("spoken in one piece", flush=True)


def open_ended(product):
    texts = sentences("listen.txt")[::3]
    for voice in VOICES:
        counts = [heard(product, t.rstrip(".?!"), voice, i)[2] for i, t in enumerate(texts)]
        print(f"open {voice}: {len(texts)} sentences without a closing mark: {share(counts)}", flush=True)


def references(product, texts):
    return {v: np.concatenate([product.say(t, v, i)[0] for i, t in enumerate(texts)]) for v in VOICES}


def drawn(product):
    texts, valid, like = sentences("listen.txt")[5::6], 0, []
    named = references(product, texts)
    for seed in range(20):
        sounds, _, counts = zip(*(heard(product, text, str(seed), i) for i, text in enumerate(texts)))
        wrong, words = np.sum(counts, 0)
        valid += wrong / words < MOST_WRONG_DRAWN
        like.append(nearest(np.concatenate(sounds), named))
        print(f"drawn {seed}: {share(counts)}, sounds {like[-1]}", flush=True)
    print(f"drawn: {valid} of 20 valid (under {MOST_WRONG_DRAWN:.0%} wrong words); "
          + ", ".join(f"{like.count(v)} {v}" for v in VOICES), flush=True)  # fmt: skip


def sample(product):
    texts = sentences("listen.txt")[::6]
    words = "please remember to bring your umbrella because it will rain tomorrow."
    named = references(product, texts)
    for voice in VOICES:
        recording, _ = product.say(words, voice, 1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sample.wav")
            with wave.open(path, "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes((recording * 32_767).astype(np.int16).tobytes())
            said = [heard(product, text, path, i, "--voice-text", words) for i, text in enumerate(texts)]
        sounds, _, counts = zip(*said)
        ratio = sum(map(len, sounds)) / len(named[voice])
        print(f"sample {voice}: {share(counts)}, sounds {nearest(np.concatenate(sounds), named)}, "
              f"{ratio:.2f} of the named voice's length", flush=True)  # fmt: skip


PARTS = dict(breaks=breaks, joins=joins, open=open_ended, drawn=drawn, sample=sample)


def main():
    description = parser(__doc__)
    description.add_argument("parts", nargs="*", metavar="PART", help="which (default: all)")
    args = description.parse_args()
    product = Product(args.voxwire, args.model, ["--decode", args.decode] if args.decode else [])
    for name in args.parts or PARTS:
        PARTS[name](product)


if __name__ == "__main__":
    main()
