#!/usr/bin/env python3
"""Trains the language model: text tokens -> symbolic codes.

    python train_gpt.py NAME STEPS                      one process
    for r in 0 1; do RANK=$r WORLD=2 python train_gpt.py NAME STEPS & done     two, gradients averaged

Use single-thread processes (OMP_NUM_THREADS=1): two of them give 1.75 times the speed of one with two threads.
Writes data/gpt_NAME.pt every SAVE_EVERY steps with weights, their running average (what gets exported), and the
optimizer, and goes on from that file if it is there; the number of processes may change in between. Nothing depends
on the clock: the processes may be stopped (SIGSTOP) and continued. data/total_NAME overrides STEPS while it runs;
data/stop_NAME ends it after saving.
"""

import datetime
import os
import time

import numpy as np
import torch
import torch.distributed as dist

from common import arguments, load, save_atomically
from gpt import GPT
from gpt_data import Batches

WEIGHT_DECAY, BETAS, CLIP = 0.05, (0.9, 0.98), 1.0
WARMUP, DECAY_FROM, FLOOR = 200, 0.5, 0.03  # steps; share of all steps; share of the peak rate
EMA = 0.999
BOOK_WEIGHT = torch.tensor([1.0, 1.0, 0.5, 0.5])
BEGIN_WEIGHT, INSIDE_WEIGHT = 2.0, 0.6  # a symbol's first step carries the decisions, the others count down
NORMALISER_WEIGHT = 0.01  # keeps logits near log-probabilities, so that the repetition penalty does no harm
GUIDE_WEIGHT, GUIDE_WEIGHT_LATER, GUIDE_STEPS = 0.5, 0.15, 2000
TOKEN, WORD_END = 0, 1  # what a guided head looks at
GUIDE = {1: {0: TOKEN}, 2: {0: TOKEN, 1: WORD_END}, 3: {0: TOKEN, 1: WORD_END}}  # layer: head: target
SAVE_EVERY = 500
PORT = 29517

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD", 1))


def parse():
    whole = dict(type=int)
    return arguments(
        __doc__,
        (["name"], {}),
        (["steps"], whole),
        (["--hidden"], dict(type=int, default=192)),
        (["--ff"], dict(type=int, default=512)),
        (["--heads"], dict(type=int, default=3)),
        (["--layers"], dict(type=int, default=5)),
        (["--tokens"], dict(type=int, default=1800, help="positions per batch and process")),
        (["--lr"], dict(type=float, default=2.5e-3)),
    )


def losses(model, batches, items, train=True):
    embed, heads = model.tables()
    x, scored, guides, target, begins = batches.collate(items, model.text, embed, train)
    guide = {layer: {head: guides[kind] for head, kind in heads_.items()} for layer, heads_ in GUIDE.items()}
    hidden, attention = model(x, guide)
    logits = (hidden[scored] @ heads.flatten(0, 1).T).view(-1, *heads.shape[:2])
    normaliser = logits.logsumexp(-1)
    nll = normaliser - logits.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    weight = torch.where(begins, BEGIN_WEIGHT, INSIDE_WEIGHT).unsqueeze(-1)
    loss = ((nll * weight).mean(0) * BOOK_WEIGHT).sum() / BOOK_WEIGHT.sum() + NORMALISER_WEIGHT * (normaliser**2).mean()
    return loss, nll, torch.stack(attention), logits.argmax(-1) == target, begins


@torch.no_grad()
def held_out(model, average, batches):
    """Loss and accuracy with the averaged weights, at the first step of each symbol and inside."""
    raw = {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(average)
    results = [losses(model, batches, batches.held[i : i + 15], False) for i in range(0, len(batches.held), 15)]
    model.load_state_dict(raw)
    nll, right, begins = (torch.cat([r[i] for r in results]) for i in (1, 3, 4))
    show = lambda t: t.float().mean(0).numpy().round(3)
    return f"   held out: begin nll {show(nll[begins])} top1 {show(right[begins])} inside top1 {show(right[~begins])}"


def average_gradients(parameters):
    have = [p for p in parameters if p.grad is not None]
    flat = torch.cat([p.grad.flatten() for p in have])
    dist.all_reduce(flat)
    for p, g in zip(have, (flat / WORLD).split([p.numel() for p in have])):
        p.grad.copy_(g.view_as(p))


def control(args):
    """Number of steps and whether to stop, from files, the same for all processes."""
    total = args.steps
    try:
        total = int(open(f"{args.data}/total_{args.name}").read())
    except (OSError, ValueError):
        pass
    state = torch.tensor([total, int(os.path.exists(f"{args.data}/stop_{args.name}"))])
    if WORLD > 1:
        dist.broadcast(state, 0)
    return state.tolist()


def rate(step, total):
    done = step / total
    decay = 1 if done < DECAY_FROM else max(FLOOR, 1 - (done - DECAY_FROM) / (1 - DECAY_FROM) * (1 - FLOOR))
    return min(1, (step + 1) / WARMUP) * decay


def main():
    args = parse()
    torch.set_num_threads(1)
    if WORLD > 1:
        patience = datetime.timedelta(hours=4)
        dist.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=RANK, world_size=WORLD, timeout=patience
        )
    path = f"{args.data}/gpt_{args.name}.pt"
    checkpoint = load(path) if os.path.exists(path) else None
    step = checkpoint["step"] if checkpoint else 0
    seed = 1 + RANK + 7 * step
    torch.manual_seed(seed)
    batches = Batches(args.data, np.random.default_rng(seed), args.hidden)
    config = dict(H=args.hidden, ff=args.ff, nh=args.heads, L=args.layers, n_text=batches.vocabulary)
    config = checkpoint["cfg"] if checkpoint else config
    model = GPT(**config)
    matrices = [p for n, p in model.named_parameters() if "layers" in n and p.dim() == 2]
    others = [p for n, p in model.named_parameters() if not ("layers" in n and p.dim() == 2)]
    groups = [dict(params=matrices, weight_decay=WEIGHT_DECAY), dict(params=others, weight_decay=0.0)]
    optimizer = torch.optim.AdamW(groups, lr=args.lr, betas=BETAS, eps=1e-9)
    average = {k: v.detach().clone() for k, v in model.state_dict().items()}
    seen, cpu_before = 0, 0.0
    if checkpoint:
        model.load_state_dict(checkpoint["sd"])
        if checkpoint["opt"]:  # none in what extend_zh.py makes
            optimizer.load_state_dict(checkpoint["opt"])
        average, seen, cpu_before = checkpoint["ema"], checkpoint["toks"], checkpoint["cpu"]
    cpu = lambda: cpu_before + time.process_time() * WORLD
    if RANK == 0:
        print(
            len(batches.items),
            "sentences",
            sum(p.numel() for p in model.parameters()),
            "parameters, from step",
            step,
            flush=True,
        )

    def save():
        state = dict(
            cfg=config, sd=model.state_dict(), ema=average, opt=optimizer.state_dict(), step=step, toks=seen, cpu=cpu()
        )
        save_atomically(state, path)

    stream, smooth, total, started, seen_before = batches.epochs(args.tokens), None, args.steps, time.time(), seen
    while True:
        if step % 20 == 0 or step >= total:
            total, stop = control(args)
            if stop or step >= total:
                break
        for group in optimizer.param_groups:
            group["lr"] = args.lr * rate(step, total)
        loss, nll, attention, right, begins = losses(model, batches, next(stream))
        loss = loss + (GUIDE_WEIGHT if step < GUIDE_STEPS else GUIDE_WEIGHT_LATER) * attention.mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if WORLD > 1:
            average_gradients(list(model.parameters()))
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        step, seen = step + 1, seen + len(nll) * WORLD
        with torch.no_grad():
            torch._foreach_lerp_(
                list(average.values()), list(model.state_dict().values()), 1 - min(EMA, (step + 1) / (step + 10))
            )
            figures = torch.cat([nll.mean(0), right[begins, 0].float().mean()[None], attention.detach()])
            smooth = figures if smooth is None else smooth * 0.98 + figures * 0.02
        if RANK == 0 and step % 100 == 0:
            values = [round(v, 3) for v in smooth.tolist()]
            speed = (seen - seen_before) / (time.time() - started)
            print(
                f"{step} nll {values[:4]} begin top1 {values[4]} attention {values[5:]} {speed:.0f} steps/s {cpu() / 3600:.2f} core-h",
                flush=True,
            )
        if RANK == 0 and step % SAVE_EVERY == 0:
            print(held_out(model, average, batches), flush=True)
            save()
    if RANK == 0:
        save()
        print("stopped at", step)


if __name__ == "__main__":
    main()
