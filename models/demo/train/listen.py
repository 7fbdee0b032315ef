#!/usr/bin/env python3
"""Listens to the product: `voxwire say` speaks held-out sentences, an offline recogniser writes down what it hears.

    python listen.py                    the 60 sentences of listen.txt, both voices: wrong words, ends
    python listen.py --sentences 10     ten of them
    python listen.py --ends             all 200 sentences (listen, heldout, endings): runaways and early ends alone

Prints a table, with the teacher's own figures (teacher.json) beside it, and ends with status 1 if the bar is missed:
at most 15% wrong words in each voice, within 10 points of the teacher, no runaway and no early end. The runs are
repeatable: sentence i is spoken with sampling seed SEED + i, everything else at the product's defaults.
"""

import argparse
import json
import os
import subprocess
import tempfile
import wave

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.dirname(HERE)
SENTENCES = ("listen.txt", "heldout.txt", "endings.txt")
VOICES = {"female": "f", "male": "m"}
MOST_WRONG, MOST_WORSE = 0.15, 0.10  # share of the words; difference to the teacher's
FEW_WRONG = 0.20  # for a part of the sentences, where one bad sentence weighs more
EARLY, LATE = 0.6, 1.6  # shares of the teacher's length


def sentences(name):
    with open(os.path.join(HERE, name)) as file:
        return file.read().strip().split("\n")


class Product:
    """`voxwire say`, one process for each text."""

    def __init__(self, program, model, more=()):
        self.program, self.model, self.more = program, model, list(more)
        with open(os.path.join(model, "voices.json")) as file:
            self.voices = json.load(file)

    def say(self, text, voice, seed, *more):
        """-> samples (-1 to 1, 24 kHz), the product's own figures. voice: a name in voices.json or what --voice takes."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "said.wav")
            command = [self.program, "say", text, "--model", self.model, "--voice", self.voices.get(voice, voice)]
            command += ["--seed", str(seed), "--json", "-o", path, *self.more, *more]
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                raise SystemExit(f"voxwire say {text!r}: status {done.returncode}: {done.stderr.strip()}")
            with wave.open(path) as file:
                assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24_000, 1, 2)
                samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
            return samples.astype(np.float32) / 32_768, json.loads(done.stdout)


class Tally:
    """What is counted for one voice."""

    def __init__(self):
        self.words = self.wrong = self.capped = self.retried = self.early = self.late = self.number = 0
        self.ratio = 0.0

    def end(self, samples, figures, teacher):
        """Adds how an utterance ended. -> its length as a share of the teacher's."""
        ratio = len(samples) / 24_000 / teacher["seconds"]
        self.number, self.ratio = self.number + 1, self.ratio + ratio
        self.capped, self.retried = self.capped + figures["capped"], self.retried + figures["retries"]
        self.early, self.late = self.early + (ratio < EARLY), self.late + (ratio > LATE)
        return ratio

    def bad_ends(self):
        return self.capped + self.retried + self.early + self.late


def parser(description):
    """The command line shared with measure.py."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--voxwire", default="target/release/voxwire", help="the program (default: %(default)s)")
    options.add_argument("--model", default=MODEL, help="model folder (default: the one this script belongs to)")
    options.add_argument("--decode", choices=["codes", "hidden"], help="instead of the model's own choice")
    return options


def parse():
    options = parser(__doc__)
    options.add_argument("--sentences", type=int, default=60, help="how many of the 60")
    options.add_argument("--ends", action="store_true", help="only how the 200 sentences end, without the recogniser")
    options.add_argument("--seed", type=int, default=1, help="sampling seed of the first sentence")
    options.add_argument("--verbose", action="store_true", help="print every sentence with errors")
    return options.parse_args()


def run(product, texts, teacher, args, errors):
    """Speaks and counts. errors: asr.errors, or None where only the ends count."""
    tallies = {}
    for voice in VOICES:
        tally = tallies[voice] = Tally()
        for i, text in enumerate(texts):
            samples, figures = product.say(text, voice, args.seed + i)
            ratio = tally.end(samples, figures, teacher[text])
            if figures["capped"] or figures["retries"] or not EARLY <= ratio <= LATE:
                print(f"  {voice}, {ratio:.2f} of the teacher's length: {text}", flush=True)
            if errors:
                wrong, words, heard = errors(text, samples)
                tally.wrong, tally.words = tally.wrong + wrong, tally.words + words
                if args.verbose and wrong:
                    print(f"  {voice}, {wrong} wrong | {text} | {heard}", flush=True)
    return tallies


def report(tallies, texts, teacher, part):
    """Prints the table. -> what misses the bar, one line each."""
    missed = []
    print("voice    sentences  words  wrong  share   teacher  retried  capped  early  late  length of the teacher's")
    for voice, tally in tallies.items():
        if tally.words:
            share, own = tally.wrong / tally.words, sum(teacher[t]["wrong_" + VOICES[voice]] for t in texts) / tally.words
            heard = f"{tally.words:5}  {tally.wrong:5}  {share:5.1%}   {own:7.1%}"
            if share > (FEW_WRONG if part else MOST_WRONG):
                missed.append(f"{voice}: expected at most {FEW_WRONG if part else MOST_WRONG:.0%} wrong words, found {share:.1%}")
            elif share - own > MOST_WORSE and not part:
                missed.append(f"{voice}: expected at most {MOST_WORSE:.0%} more wrong words than the teacher's, found {share - own:.1%}")
        else:
            heard = f"{'-':>5}  {'-':>5}  {'-':>5}   {'-':>7}"
        ends = f"{tally.retried:7}  {tally.capped:6}  {tally.early:5}  {tally.late:4}"
        print(f"{voice:7}  {tally.number:9}  {heard}  {ends}  {tally.ratio / tally.number:.2f}")
        if tally.bad_ends():
            missed.append(f"{voice}: expected no retry, cap, early or late end, found {tally.bad_ends()}")
    return missed


def main():
    args = parse()
    with open(os.path.join(HERE, "teacher.json")) as file:
        teacher = json.load(file)
    texts, errors = sentences(SENTENCES[0]), None
    if args.ends:
        texts = [text for name in SENTENCES for text in sentences(name)]
    else:
        import asr

        args.sentences = min(max(args.sentences, 1), len(texts))
        texts, errors = [texts[i * len(texts) // args.sentences] for i in range(args.sentences)], asr.errors
    product = Product(args.voxwire, args.model, ["--decode", args.decode] if args.decode else [])
    missed = report(run(product, texts, teacher, args, errors), texts, teacher, len(texts) < 60)
    for line in missed:
        print("missed:", line)
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
