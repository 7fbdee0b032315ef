#!/usr/bin/env python3
"""What the teacher makes of the sentences that listen.py speaks: the figures to stand beside.

    python teacher_figures.py       listen.txt, heldout.txt, endings.txt -> teacher.json

For every sentence its length in seconds, as training would have it (the silence at both ends trimmed); for those of
listen.txt also the words that the recogniser gets wrong in the teacher's own audio, in both voices.
"""

import json
import os

import numpy as np
import torch

import asr
from common import STEPS_PER_SECOND, VOICES, arguments
from listen import SENTENCES, sentences
from synth import Synthesiser

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    data = arguments(__doc__).data
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    synthesiser, figures = Synthesiser(data), {}
    for name in SENTENCES:
        for text in sentences(name):
            record = synthesiser.sentence(text, name == SENTENCES[0])
            if record is None:
                raise SystemExit(f"{name}: expected a sentence that the teacher reads word for word, found {text!r}")
            figures[text] = dict(seconds=round(sum(record["d"]) / STEPS_PER_SECOND, 2))
            if name == SENTENCES[0]:
                wavs = {voice: record["wav_" + voice].astype(np.float32) / 32767 for voice in VOICES}
                figures[text] |= {"wrong_" + voice: asr.errors(text, wav)[0] for voice, wav in wavs.items()}
    with open(os.path.join(HERE, "teacher.json"), "w") as file:
        json.dump(figures, file, indent=0)
    words = sum(len(asr.normalise(text)) for text in sentences(SENTENCES[0]))
    for voice in VOICES:
        wrong = sum(f.get("wrong_" + voice, 0) for f in figures.values())
        print(f"{voice}: {wrong} of {words} words wrong, {100 * wrong / words:.1f}%")


if __name__ == "__main__":
    main()
