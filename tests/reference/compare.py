#!/usr/bin/env python3
"""voxwire and the Python package in turn on the same full-size weights: 256 steps = 5.45 s of audio, end to end.

  compare.py --voxwire PATH --assets DIR [--pairs N] [--steps N]

Prints each pair, then minimum and median of both real-time factors and of their ratio. Loading is not counted on
either side. Run it on a quiet machine: a second busy process slows the Python package fourfold."""
import argparse, json, os, statistics, subprocess, tempfile, time

ap = argparse.ArgumentParser()
ap.add_argument("--voxwire", required=True)
ap.add_argument("--assets", required=True)
ap.add_argument("--pairs", type=int, default=3)
ap.add_argument("--steps", type=int, default=256)
ap.add_argument("--threads", type=int, default=os.cpu_count())
a = ap.parse_args()

import torch

torch.set_num_threads(a.threads)
import common, ChatTTS

TEXT = "hello world, this is a test of the speech model."
chat = common.load_chat("full", a.assets)
torch.manual_seed(1234)
speaker = chat.speaker._encode(chat.speaker._sample_random())
params = ChatTTS.Chat.InferCodeParams(spk_emb=speaker, max_new_token=a.steps, min_new_token=a.steps, manual_seed=42, show_tqdm=False)


def python():
    start = time.perf_counter()
    wav = chat.infer([TEXT], skip_refine_text=True, split_text=False, params_infer_code=params)[0]
    return (time.perf_counter() - start) / (wav.shape[-1] / 24000)


def voxwire(out):
    r = subprocess.run([a.voxwire, "say", TEXT, "--raw-text", "--model", a.assets, "--voice", speaker, "--seed", "42",
                        "--min-steps", str(a.steps), "--max-steps", str(a.steps), "--json", "-o", out],
                       check=True, capture_output=True, text=True)
    figures = json.loads(r.stdout)
    return figures["rtf"], figures["first_chunk_ms"]


python()  # the first run allocates
ours, theirs, firsts = [], [], []
with tempfile.TemporaryDirectory() as d:
    for i in range(a.pairs):
        theirs.append(python())
        rtf, first = voxwire(os.path.join(d, "o.wav"))
        ours.append(rtf); firsts.append(first)
        print(f"pair {i + 1}: Python RTF {theirs[-1]:.2f}, voxwire RTF {rtf:.3f}, ratio {theirs[-1] / rtf:.1f}, first chunk {first:.0f} ms", flush=True)
show = lambda xs, f: f"min {min(xs):{f}}, median {statistics.median(xs):{f}}"
print("Python  RTF", show(theirs, ".2f"))
print("voxwire RTF", show(ours, ".3f"))
print("ratio      ", show([t / o for t, o in zip(theirs, ours)], ".1f"))
print("first chunk", show(firsts, ".0f"), "ms")
