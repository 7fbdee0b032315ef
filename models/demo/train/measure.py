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
from listen import EARLY, LATE, VOICES, Product, parser, sentences

RATE, FRAME = 24_000, 240  # 10 ms
QUIET = -45  # dBFS, below which a frame is a pause
EDGE = 30  # frames at either end where silence is no pause
PAUSE = 0.15  # seconds of silence that are heard as a pause
NEAR_JOIN = 120  # samples at either side of a join
MOST_WRONG_DRAWN = 0.30
MALE_BELOW = 140  # Hz


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


def pitch(samples):
    """Median pitch in Hz of the loud 40 ms frames: the first strong peak of their autocorrelation, 60 to 330 Hz."""
    size, low, high, found = 960, RATE // 330, RATE // 60, []
    loud = np.percentile(levels(samples), 70)
    unbiased = 1 - np.arange(high) / size
    for i in range(0, len(samples) - size, size):
        frame = samples[i : i + size]
        if levels(frame).mean() > loud:
            spectrum = np.fft.rfft(frame - frame.mean(), 2 * size)
            spectrum[2 * size * 800 // RATE :] = 0  # formants above are no pitch
            correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:high] / unbiased
            peak = correlation[1:-1] >= np.maximum(correlation[:-2], correlation[2:])
            peaks = [k + 1 for k in np.where(peak)[0] if k + 1 >= low]
            strong = [k for k in peaks if correlation[k] > 0.95 * max(correlation[p] for p in peaks)]
            found += [RATE / strong[0]] if strong else []
    return float(np.median(found)) if found else 0.0


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
                steps.append(np.abs(np.diff(around)).max())
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


def drawn(product):
    texts, valid, male = sentences("listen.txt")[5::6], 0, 0
    for seed in range(20):
        counts, sound = [], []
        for i, text in enumerate(texts):
            samples, _, count = heard(product, text, str(seed), i)
            counts.append(count)
            sound.append(samples)
        wrong, words = np.sum(counts, 0)
        tone = pitch(np.concatenate(sound))
        valid, male = valid + (wrong / words < MOST_WRONG_DRAWN), male + (tone < MALE_BELOW)
        print(f"drawn {seed}: {share(counts)}, pitch {tone:.0f} Hz", flush=True)
    print(f"drawn: {valid} of 20 valid (under {MOST_WRONG_DRAWN:.0%} wrong words), {male} of them male", flush=True)


def sample(product):
    texts = sentences("listen.txt")[::6]
    words = "please remember to bring your umbrella because it will rain tomorrow."
    for voice in VOICES:
        recording, _ = product.say(words, voice, 1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sample.wav")
            with wave.open(path, "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes((recording * 32_767).astype(np.int16).tobytes())
            counts, tones, ratios = [], [], []
            for i, text in enumerate(texts):
                samples, _, count = heard(product, text, path, i, "--voice-text", words)
                counts.append(count)
                tones.append(pitch(samples))
                ratios.append(len(samples) / len(product.say(text, voice, i)[0]))
        ends = sum(not EARLY <= r <= LATE for r in ratios)
        print(f"sample {voice} (pitch {pitch(recording):.0f} Hz): {share(counts)}, pitch {np.median(tones):.0f} Hz, "
              f"{ends} of {len(texts)} with a bad end", flush=True)  # fmt: skip


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
