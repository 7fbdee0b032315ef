#!/usr/bin/env python3
"""Teacher's reading of every sentence; for the first shards also audio and mel in both voices.

    python synth.py WORKER WORKERS      (start one process per core; it goes on where it stopped)

Writes data/sym_*.pt (phonemes, durations in steps, pitch; all the GPT needs: 4.6 ms a sentence after the phonemes),
data/shard_*.pt (the same with mel and 16-bit audio, for codec and vocoder) and data/heldout.pt.
"""

import os

import numpy as np
import torch

import teacher
from common import VOICES, arguments, mel_transform, save_atomically

SHARD = 500  # sentences
AUDIO_SHARDS = 8  # 4,000 sentences in two voices, 5.6 hours, 3.6 GB
SILENCE_BEFORE, SILENCE_AFTER = 4, 8  # steps: 85 and 170 ms


def trim(phonemes, durations):
    """Cuts the silence at both ends. -> steps cut at the start; durations change in place."""
    start = max(0, durations[0] - SILENCE_BEFORE)
    durations[0] -= start
    closed = phonemes[-1] in ".?!"
    excess = max(0, durations[-1] + (durations[-2] if closed else 0) - SILENCE_AFTER)
    from_edge = min(excess, durations[-1] - 1)
    durations[-1] -= from_edge
    if closed:
        durations[-2] -= min(excess - from_edge, max(0, durations[-2] - 1))
    return start


class Synthesiser:
    def __init__(self, data):
        self.teacher = teacher.Teacher(data)
        self.mel = mel_transform()

    def sentence(self, text, audio):
        read = self.teacher(text, audio)
        if read is None:
            return None
        phonemes, durations, outputs = read
        start = trim(phonemes, durations)
        steps = int(durations.sum())
        outputs = [o[..., 2 * start : 2 * (start + steps)] for o in outputs]
        record = dict(text=text, ps=phonemes, d=durations.tolist(), f0=outputs[-1].astype(np.float16))
        for voice in VOICES if audio else ():
            wav = teacher.render(outputs, voice).astype(np.float32)
            mel = torch.log(torch.clip(self.mel(torch.from_numpy(wav)), min=1e-5))[:, :-1].T.numpy()
            assert len(mel) == 2 * steps
            record["mel_" + voice] = mel.astype(np.float16)
            record["wav_" + voice] = (np.clip(wav, -1, 1) * 32767).astype(np.int16)
        return record

    def shard(self, texts, path, audio):
        if os.path.exists(path):
            return
        records = [r for r in (self.sentence(t, audio) for t in texts) if r is not None]
        save_atomically(records, path)
        print(path, len(records), "of", len(texts), flush=True)


def read_lines(path):
    return open(path).read().strip().split("\n") if os.path.exists(path) else []


def main():
    args = arguments(__doc__, (["worker"], dict(type=int)), (["workers"], dict(type=int)))
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    if not os.path.exists(f"{args.data}/hibari_sym.onnx"):
        teacher.prepare(args.data)
    synthesiser = Synthesiser(args.data)
    train, extra = read_lines(f"{args.data}/train.txt"), read_lines(f"{args.data}/extra.txt")
    parts = lambda lines: [lines[i : i + SHARD] for i in range(0, len(lines), SHARD)]
    jobs = [(p, f"sym_{i:03d}.pt", False) for i, p in enumerate(parts(train))]
    jobs += [(p, f"shard_{i:03d}.pt", True) for i, p in enumerate(parts(train)[:AUDIO_SHARDS])]
    jobs += [(p, f"sym_x{i:03d}.pt", False) for i, p in enumerate(parts(extra))]
    jobs += [(read_lines(f"{args.data}/heldout.txt"), "heldout.pt", True)]
    for texts, name, audio in jobs[args.worker :: args.workers]:
        synthesiser.shard(texts, f"{args.data}/{name}", audio)


if __name__ == "__main__":
    main()
