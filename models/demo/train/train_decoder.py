#!/usr/bin/env python3
"""Trains ChatTTS's Decoder: the GPT's hidden states -> log-mel, the path that skips the codes. The GPT stays as it is.

    python train_decoder.py GPT_NAME STEPS [--resume]   -> data/decoder.pt

Hidden states come from true codes with jittered pitch as context; with symbolic codes those of a free run are alike.
Train it again after every change of the GPT (--resume starts from the weights that are there).
"""

import time

import numpy as np
import torch

import tokenizer
from codes import Coder, jitter_pitch
from common import FEMALE, arguments, audio_clips, load, load_model, save_atomically, speaker_vector
from gpt import GPT
from models import DVAE, mel_loss

SIZES = dict(n_layer=4, bn_dim=128, hidden=192)
BATCH, WINDOW = 8, 56
POOL_LOW, REFILL, CUTS = 160, 24, 4  # windows in the pool, sentences per refill, windows cut from each
RATE, WARMUP, FLOOR = 2e-3, 50, 0.02
P_PITCH_JITTER, P_NO_SPEED, P_SPEAKER = 0.2, 0.5, 0.5
SAVE_EVERY = 200


class HiddenStates:
    def __init__(self, gpt, rng):
        tokens = tokenizer.build()
        self.gpt, self.rng, self.id = gpt, rng, tokens.convert_tokens_to_ids
        self.tables = gpt.tables()[0].detach()

    @torch.no_grad()
    def __call__(self, clips):
        rows, places = [], []
        for clip in clips:
            prompt = ["[Stts]", "[empty_spk]"] + ([] if self.rng.random() < P_NO_SPEED else ["[speed_5]"])
            ids = self.id(prompt) + clip["item"]["ids"].tolist() + [self.id("[Ptts]")]
            text = self.gpt.text(torch.tensor(ids))
            if clip["voice"] != FEMALE or self.rng.random() < P_SPEAKER:
                text[1] = speaker_vector(self.gpt.H, clip["voice"])
            codes = torch.from_numpy(jitter_pitch(clip["codes"].astype(np.int64), self.rng, P_PITCH_JITTER, 1))
            rows.append(torch.cat([text, sum(t[codes[:, b]] for b, t in enumerate(self.tables))]))
            places.append((len(ids) - 1, len(codes)))
        hidden, _ = self.gpt(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True))
        return [hidden[i, p : p + n] for i, (p, n) in enumerate(places)]


def main():
    args = arguments(__doc__, (["gpt"], {}), (["steps"], dict(type=int)), (["--resume"], dict(action="store_true")))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng, path = np.random.default_rng(int(time.time())), f"{args.data}/decoder.pt"
    gpt = load_model(GPT, f"{args.data}/gpt_{args.gpt}.pt", "ema")
    hidden_states = HiddenStates(gpt, rng)
    config = dict(dim=gpt.H // 2, decoder=dict(idim=gpt.H // 2, odim=gpt.H // 2, **SIZES))
    model = DVAE(**config)
    if args.resume:
        model.load_state_dict(load(path)["sd"])
    else:
        model.coef.copy_(load(f"{args.data}/dvae.pt")["sd"]["coef"])
    clips = [c for c in audio_clips(args.data, Coder(args.data)) if len(c["codes"]) >= WINDOW]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    smooth, started, pool = None, time.time(), []
    save = lambda: save_atomically(
        dict(cfg=config, sd=model.state_dict(), gpt_step=load(f"{args.data}/gpt_{args.gpt}.pt")["step"]), path
    )
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * max(FLOOR, 1 - step / args.steps)
        if len(pool) < POOL_LOW:
            chosen = [clips[i] for i in rng.integers(0, len(clips), REFILL)]
            pool += [(h, c["mel"]) for h, c in zip(hidden_states(chosen), chosen)] * CUTS
            pool = [pool[i] for i in rng.permutation(len(pool))]
        inputs, targets = [], []
        for _ in range(BATCH):
            hidden, mel = pool.pop()
            k = rng.integers(0, len(hidden) - WINDOW + 1)
            inputs.append(hidden[k : k + WINDOW])
            targets.append(torch.from_numpy(mel[2 * k : 2 * (k + WINDOW)].astype(np.float32)))
        error, loss = mel_loss(model.decode(torch.stack(inputs).transpose(1, 2)), torch.stack(targets).transpose(1, 2))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        smooth = error.item() if smooth is None else 0.98 * smooth + 0.02 * error.item()
        if (step + 1) % SAVE_EVERY == 0:
            print(f"{step + 1} error {smooth:.3f} {(time.time() - started) / (step + 1):.3f} s/step", flush=True)
            save()
    save()


if __name__ == "__main__":
    main()
