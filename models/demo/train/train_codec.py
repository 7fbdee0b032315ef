#!/usr/bin/env python3
"""Trains the codec: its decoder renders symbolic codes as log-mel, its encoder guesses the codes of a recording.

    python train_codec.py decoder STEPS [--resume]      -> data/dvae.pt
    python train_codec.py encoder STEPS [--resume]      adds the encoder (only voice prompts from a recording use it)

The decoder hears both voices; the speaker digit of codebook 2 tells them apart. Codebook 3 (the pointer into the
text) has zero weights, so a wrong pointer cannot be heard.
"""

import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from codes import Coder, jitter_pitch
from common import arguments, audio_clips, load, save_atomically
from models import DVAE, mel_loss

CONFIG = dict(
    dim=192,
    decoder=dict(idim=192, odim=192, n_layer=5, bn_dim=128, hidden=192),
    encoder=dict(idim=192, odim=384, n_layer=3, bn_dim=64, hidden=128),
    vq_dim=384,
    G=4,
    R=1,
)
POINTER_BOOK = 3
BATCH, WINDOW = 8, 56  # clips, steps
RATE, WARMUP, FLOOR = 2e-3, 100, 0.02
P_PITCH_JITTER = 0.15
COEF_SCALE = 1.5  # "coef" is what each mel bin's values are divided by
REPORT_EVERY = 200


def trained_part(name, part):
    mine = name.startswith(("decoder", "out_conv")) or "project_out" in name
    if f"rvqs.{POINTER_BOOK}.project_out.weight" in name:
        return False
    return mine if part == "decoder" else not mine


def windows(clips, weights, rng):
    codes, mels = [], []
    for i in rng.choice(len(clips), BATCH, p=weights):
        c, mel = clips[i]["codes"], clips[i]["mel"]
        k = rng.integers(0, len(c) - WINDOW + 1)
        codes.append(c[k : k + WINDOW].astype(np.int64))
        mels.append(mel[2 * k : 2 * (k + WINDOW)].astype(np.float32))
    return np.stack(codes), torch.from_numpy(np.stack(mels)).transpose(1, 2)


def encoder_loss(model, codes, mel):
    """Squared error of the digits before rounding; the pointer cannot be heard, so it is not asked for."""
    wanted = torch.cat([g[0] for g in model.vq_layer.from_index(torch.from_numpy(codes))[:POINTER_BOOK]], -1)
    parts = model.features(mel).chunk(model.vq_layer.G, -1)[:POINTER_BOOK]
    groups = model.vq_layer.quantizer.rvqs
    guess = torch.cat([model.vq_layer.bound(g.project_in(p)) for g, p in zip(groups, parts)], -1)
    return (guess - wanted).abs().mean().detach(), F.mse_loss(guess, wanted)


def main():
    args = arguments(
        __doc__,
        (["part"], dict(choices=["decoder", "encoder"])),
        (["steps"], dict(type=int)),
        (["--resume"], dict(action="store_true")),
    )
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng, path = np.random.default_rng(int(time.time())), f"{args.data}/dvae.pt"
    coder = Coder(args.data)
    clips = [c for c in audio_clips(args.data, coder) if len(c["codes"]) >= WINDOW]
    weights = np.array([len(c["codes"]) for c in clips], float)
    weights /= weights.sum()
    model, step = DVAE(**CONFIG), 0
    if args.part == "encoder" or args.resume:
        checkpoint = load(path)
        model.load_state_dict(checkpoint["sd"])
        step = checkpoint.get("step_" + args.part, 0) if args.resume else 0
    else:
        sample = np.concatenate([c["mel"] for c in clips[::20]]).astype(np.float32)
        model.coef.copy_(torch.from_numpy(sample.std(0) * COEF_SCALE).view(1, -1, 1))
        for group in model.vq_layer.quantizer.rvqs:
            nn.init.normal_(group.project_out.weight, std=1.0)
    with torch.no_grad():
        model.vq_layer.quantizer.rvqs[POINTER_BOOK].project_out.weight.zero_()
    parameters = [p for n, p in model.named_parameters() if trained_part(n, args.part)]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    smooth, started, first = None, time.time(), step
    print(len(clips), "clips", sum(p.numel() for p in parameters), "parameters", flush=True)

    def save():
        old = load(path) if os.path.exists(path) else {}
        save_atomically({**old, "cfg": CONFIG, "sd": model.state_dict(), "step_" + args.part: step}, path)

    while step < args.steps:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step - first + 1) / WARMUP) * max(FLOOR, 1 - step / args.steps)
        codes, mel = windows(clips, weights, rng)
        if args.part == "decoder":
            codes = jitter_pitch(codes, rng, P_PITCH_JITTER, 1)
            shown, loss = mel_loss(model.decode_codes(torch.from_numpy(codes)), mel)
        else:
            shown, loss = encoder_loss(model, codes, mel)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        step += 1
        smooth = shown.item() if smooth is None else 0.98 * smooth + 0.02 * shown.item()
        if step % REPORT_EVERY == 0:
            print(f"{step} error {smooth:.3f} {(time.time() - started) / (step - first):.3f} s/step", flush=True)
            save()
    save()


if __name__ == "__main__":
    main()
