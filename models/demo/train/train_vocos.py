#!/usr/bin/env python3
"""Trains the vocoder (log-mel -> audio) with spectral losses at five resolutions; no adversary.

    python train_vocos.py STEPS [--resume]      -> data/vocos.pt

More than half of the inputs are the codec's own reconstructions, whose smoothness it has to get used to.
"""

import os
import time

import numpy as np
import torch

from codes import Coder
from common import HOP, arguments, audio_clips, load, load_model, mel_transform, save_atomically
from models import DVAE, Vocos

CONFIG = dict(dim=256, inter=768, layers=5)
BATCH, FRAMES = 8, 40
MARGIN = 16  # steps of codec context on both sides of a window
RATE, WARMUP, FLOOR = 1e-3, 100, 0.02
P_RECONSTRUCTED = 0.6
RESOLUTIONS = [(2048, 512), (1024, 256), (512, 128), (256, 64), (128, 32)]  # transform size, hop
SAVE_EVERY = 250


def magnitude(x, size, hop, window):
    s = torch.stft(x, size, hop, size, window, return_complex=True)
    return torch.sqrt(s.real**2 + s.imag**2 + 1e-9)


def log(x, floor):
    return torch.log(x.clip(min=floor))


class Loss:
    def __init__(self):
        self.mel = mel_transform()
        self.windows = {size: torch.hann_window(size) for size, _ in RESOLUTIONS}

    def __call__(self, output, target):
        spectral = 0
        for size, hop in RESOLUTIONS:
            p, q = (magnitude(x, size, hop, self.windows[size]) for x in (output, target))
            spectral = spectral + (log(p, 1e-4) - log(q, 1e-4)).abs().mean() + 2 * (p - q).abs().sum() / q.sum()
        mel = (log(self.mel(output), 1e-5) - log(self.mel(target), 1e-5)).abs().mean()
        return mel.detach(), spectral / len(RESOLUTIONS) + mel


@torch.no_grad()
def reconstruction(codec, codes, start):
    """The codec's mel for frames start to start + FRAMES."""
    low, high = max(0, start // 2 - MARGIN), min(len(codes), (start + FRAMES) // 2 + MARGIN)
    mel = codec.decode_codes(torch.from_numpy(codes[low:high].astype(np.int64))[None])[0].T
    return mel[start - 2 * low : start - 2 * low + FRAMES].numpy()


def batch(clips, codec, rng):
    mels, wavs = [], []
    for _ in range(BATCH):
        clip = clips[rng.integers(len(clips))]
        k = rng.integers(0, len(clip["mel"]) - FRAMES) // 2 * 2
        wavs.append(clip["wav"][k * HOP : (k + FRAMES - 1) * HOP])
        if rng.random() < P_RECONSTRUCTED:
            mels.append(reconstruction(codec, clip["codes"], k))
        else:
            mels.append(clip["mel"][k : k + FRAMES].astype(np.float32))
    return torch.from_numpy(np.stack(mels)).transpose(1, 2), torch.from_numpy(np.stack(wavs).astype(np.float32) / 32767)


def main():
    args = arguments(__doc__, (["steps"], dict(type=int)), (["--resume"], dict(action="store_true")))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng, path = np.random.default_rng(int(time.time())), f"{args.data}/vocos.pt"
    model, step = Vocos(**CONFIG), 0
    if args.resume and os.path.exists(path):
        checkpoint = load(path)
        model.load_state_dict(checkpoint["sd"])
        step = checkpoint["step"]
    codec, criterion = load_model(DVAE, f"{args.data}/dvae.pt"), Loss()
    clips = [c for c in audio_clips(args.data, Coder(args.data)) if len(c["mel"]) >= FRAMES + 8]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    smooth, started, first = None, time.time(), step
    save = lambda: save_atomically(dict(cfg=CONFIG, sd=model.state_dict(), step=step), path)
    while step < args.steps:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step - first + 1) / WARMUP) * max(FLOOR, 1 - step / args.steps)
        mel, wav = batch(clips, codec, rng)
        mel_error, loss = criterion(model(mel), wav)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        now = np.array([loss.item(), mel_error.item()])
        smooth = now if smooth is None else 0.98 * smooth + 0.02 * now
        if step % 100 == 0:
            print(
                f"{step} loss {smooth[0]:.3f} mel {smooth[1]:.3f} {(time.time() - started) / (step - first):.2f} s/step",
                flush=True,
            )
        if step % SAVE_EVERY == 0:
            save()
    save()


if __name__ == "__main__":
    main()
