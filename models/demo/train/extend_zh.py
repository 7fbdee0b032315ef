#!/usr/bin/env python3
"""Starts Mandarin from the shipped English model.

    python extend_zh.py NAME [--model DIR]  -> data/gpt_NAME.pt, dvae.pt, vocos.pt, decoder.pt, symbols.pt

The shipped fp16 files become checkpoints that the training scripts go on from (step 0, fresh optimizer). The symbol
table of this folder gets Mandarin's phonemes on free points of the grid beside what they sound like, and pointers for
Chinese text tokens: one for each final. Run align.py after this, the text tokens' numbers have changed.
"""

import json
import os

import numpy as np
import torch
from safetensors.torch import load_file

import syllables_zh
import tokenizer
from codes import DIGITS, LEVELS, N_CODES
from common import arguments, load, save_atomically
from gpt import GPT
from export import HEADS

HERE = os.path.dirname(os.path.abspath(__file__))
LIKE = {"a": "ɑ", "e": "ɛ", "o": "ɔ", "x": "h", "y": "i", "ɕ": "ʃ", "ʂ": "ʃ", "ɻ": "ɹ", "ʐ": "ʒ", "ɤ": "ʌ", "ʦ": "s", "ʨ": "ʧ",
        "ꭧ": "ʧ", "ʰ": "h", "ɥ": "j", "ɨ": "ə", "ɚ": "ɜ", "→": "ə", "↗": "ə", "↓": "ɐ", "↘": "ɐ", "!": ".", "q": "k", "c": "k"}  # fmt: skip


def digits(code):
    return np.array([code // LEVELS**i % LEVELS for i in range(DIGITS)])


def symbol_table(tokens):
    old = load(f"{HERE}/symbols.pt")
    symbols, grid = list(old["symbols"]), list(old["grid"])
    for symbol, like in LIKE.items():
        if symbol in symbols:
            continue
        at = digits(grid[symbols.index(like)])
        free = [c for c in range(N_CODES) if c not in grid]
        grid.append(min(free, key=lambda c: ((digits(c) - at) ** 2).sum()))
        symbols.append(symbol)
    finals, names = syllables_zh.parts(tokens)
    base = old["tokmap"].max() + 1
    order = {names[n]: i for i, n in enumerate(n for n in names if n.startswith("f:"))}
    han = [base + order[finals[tokens.convert_tokens_to_ids(t)][1]] for t in syllables_zh.table()]
    english = len(tokenizer.vocabulary()) - len(han)
    return dict(symbols=symbols, grid=np.array(grid), tokmap=np.insert(old["tokmap"], english, han))


def language_model(asset, tokens):
    embed, layers = load_file(f"{asset}/Embed.safetensors"), load_file(f"{asset}/gpt/model.safetensors")
    shape = json.load(open(f"{asset}/gpt/config.json"))
    before = json.load(open(f"{asset}/tokenizer/tokenizer.json"))
    numbers = before["model"]["vocab"] | {t["content"]: t["id"] for t in before["added_tokens"]}
    config = dict(H=shape["hidden_size"], ff=shape["intermediate_size"], nh=shape["num_attention_heads"],
                  L=shape["num_hidden_layers"], n_text=len(tokens), parts=syllables_zh.parts(tokens)[0])  # fmt: skip
    torch.manual_seed(1)
    gpt = GPT(**config)
    state = gpt.state_dict() | {k: v.float() for k, v in layers.items()}
    state["emb_text.weight"] = torch.zeros(len(tokens), config["H"])
    for token, number in tokens.get_vocab().items():
        if token in numbers:
            state["emb_text.weight"][number] = embed["emb_text.weight"][numbers[token]].float()
    tables = torch.stack([embed[f"emb_code.{b}.weight"].float() for b in range(gpt.vq)])
    direction = [embed[HEADS.format(b) + "1"].float() for b in range(gpt.vq)]
    length = [embed[HEADS.format(b) + "0"].float() for b in range(gpt.vq)]
    heads = torch.stack([d / d.norm(dim=1, keepdim=True) * n for d, n in zip(direction, length)])
    for name, table in (("e", tables), ("h", heads)):
        state[name + "_dig"] = torch.linalg.pinv(gpt.dig) @ table
        state[name + "_res"] = table - gpt.dig @ state[name + "_dig"]
    gpt.load_state_dict(state)
    return dict(cfg=config, sd=state, ema={k: v.clone() for k, v in state.items()}, opt=None, step=0, toks=0, cpu=0.0)


def main():
    args = arguments(__doc__, (["name"], {}), (["--model"], dict(default=os.path.dirname(HERE))))
    asset, data = f"{args.model}/asset", args.data
    import train_codec
    import train_decoder
    import train_vocos

    tokens = tokenizer.build()
    save_atomically(symbol_table(tokens), f"{data}/symbols.pt")
    save_atomically(language_model(asset, tokens), f"{data}/gpt_{args.name}.pt")
    own = lambda name: {k: v.float() for k, v in load_file(f"{asset}/{name}.safetensors").items() if "mel_spec" not in k}
    half = load(f"{data}/gpt_{args.name}.pt")["cfg"]["H"] // 2
    decoder = dict(dim=half, decoder=dict(idim=half, odim=half, **train_decoder.SIZES))
    save_atomically(dict(cfg=train_codec.CONFIG, sd=own("DVAE")), f"{data}/dvae.pt")
    save_atomically(dict(cfg=train_vocos.CONFIG, sd=own("Vocos"), step=0), f"{data}/vocos.pt")
    save_atomically(dict(cfg=decoder, sd=own("Decoder")), f"{data}/decoder.pt")


if __name__ == "__main__":
    main()
