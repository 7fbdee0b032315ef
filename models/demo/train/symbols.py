#!/usr/bin/env python3
"""Places the teacher's symbols on the 5^4 grid of codebook 0 and numbers the text tokens for codebook 3.

    python symbols.py           data/align.pt, first shards -> data/symbols.pt

The codec's decoder sees a code as four numbers, so symbols that sound alike should be neighbours: mean spectra,
principal components, and an assignment of each symbol to a free grid point. Entries that exist already are kept, so
that models trained before an extension of the corpus stay valid.
"""

import glob
import os

import numpy as np
from scipy.optimize import linear_sum_assignment

import tokenizer
from codes import DIGITS, N_CODES, POINTER_MODULO
from common import arguments, load, save_atomically

SHARDS = 2
VOICING_WEIGHT, SLOPE_WEIGHT = 10, 0.5
# marks that are read like another one, and breaks that are read like [uv_break]
SAME_POINTER = {"!": ".", ";": ",", ":": ",", "[v_break]": "[uv_break]", "[lbreak]": "[uv_break]", "[llbreak]": "[uv_break]", "[laugh]": "[uv_break]"}  # fmt: skip


def mean_spectra(data, symbols):
    number = {c: i for i, c in enumerate(symbols)}
    total, count = np.zeros((len(symbols), 301)), np.zeros(len(symbols))
    for path in sorted(glob.glob(f"{data}/shard_*.pt"))[:SHARDS]:
        for r in load(path):
            symbol = np.repeat([0] + [number[c] for c in r["ps"]] + [0], r["d"])
            mel = r["mel_f"].astype(np.float64).reshape(len(symbol), 200)
            voicing = (r["f0"].reshape(-1, 2) > 40).mean(1, keepdims=True) * VOICING_WEIGHT
            slope = np.zeros((len(symbol), 100))
            slope[1:] = (mel[1:, :100] - mel[:-1, 100:]) * SLOPE_WEIGHT
            np.add.at(total, symbol, np.concatenate([mel, voicing, slope], 1))
            np.add.at(count, symbol, 1)
    return total, count


def place(data, symbols):
    total, count = mean_spectra(data, symbols)
    seen = np.where(count > 0)[0]
    mean = total[seen] / count[seen, None]
    u, s, _ = np.linalg.svd(mean - mean.mean(0), full_matrices=False)
    component = u[:, :DIGITS] * s[:DIGITS]
    rank = (component.argsort(0).argsort(0) / (len(seen) - 1) - 0.5) * 4  # -2 to 2, evenly filled
    points = np.stack(np.meshgrid(*[np.arange(-2, 3)] * DIGITS, indexing="ij"), -1).reshape(-1, DIGITS)
    code = ((points + 2) * 5 ** np.arange(DIGITS)).sum(1)
    row, column = linear_sum_assignment(((rank[:, None] - points[None]) ** 2).sum(-1))
    grid = np.full(len(symbols), -1)
    grid[seen[row]] = code[column]
    return grid


def main():
    data = arguments(__doc__).data
    aligned, path = load(f"{data}/align.pt"), f"{data}/symbols.pt"
    symbols, tokens = aligned["symbols"], tokenizer.build()
    old = load(path) if os.path.exists(path) else None
    grid = place(data, symbols) if old is None else np.append(old["grid"], [-1] * (len(symbols) - len(old["grid"])))
    free = iter(sorted(set(range(N_CODES)) - set(grid.tolist()), reverse=True))
    for i in np.where(grid < 0)[0]:
        grid[i] = next(free)

    convert = tokens.convert_tokens_to_ids
    used = {int(i) for records in aligned["sets"].values() for r in records if r for i in r["ids"]} | {
        convert("[uv_break]")
    }
    token_map = np.full(len(tokens), -1) if old is None else old["tokmap"].copy()
    for token in sorted(used):
        if token_map[token] < 0:
            token_map[token] = token_map.max() + 1
    for token, like in SAME_POINTER.items():
        token_map[convert(token)] = token_map[convert(like)]
    assert (token_map.max() + 1) * POINTER_MODULO <= N_CODES
    save_atomically(dict(symbols=symbols, grid=grid, tokmap=token_map), path)
    print(len(symbols), "symbols", "".join(symbols[1:]), token_map.max() + 1, "text tokens")


if __name__ == "__main__":
    main()
