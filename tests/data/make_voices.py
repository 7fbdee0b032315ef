"""Writes voices.json, the golden values of tests/voices.rs, with PyTorch 2.15 and the Python package chattts 0.2.5.

usage: python make_voices.py > voices.json
The speaker statistics in here are made up; nothing of the published model's is stored.
"""
import hashlib
import json

import numpy as np
import pybase16384
import torch
from ChatTTS.model.speaker import Speaker


def bits(t):
    return t.numpy().view(np.uint32).reshape(-1).tolist()


def digest(t):
    return hashlib.sha256(t.contiguous().numpy().tobytes()).hexdigest()


def randn(seed, n, dtype=torch.float32):
    torch.manual_seed(seed)
    return torch.randn(n, dtype=dtype)


def stream(seed):
    words = torch.empty(8, dtype=torch.int32).random_(generator=torch.Generator().manual_seed(seed))
    noise = torch.empty(4, 626).exponential_(1, generator=torch.Generator().manual_seed(seed))
    ramp = ((torch.arange(626) * 7919) % 626 + 1).to(torch.float32) / 1024
    probs = torch.stack([ramp, ramp.flip(0), ramp**4, ramp.clamp(min=0.5)])
    ids = torch.multinomial(probs, 1, generator=torch.Generator().manual_seed(seed))
    return {
        "seed": seed,
        "words_low31": words.tolist(),
        "randn768_first8": bits(randn(seed, 8 + 760)[:8]),
        "randn768_sha256": digest(randn(seed, 768)),
        "randn773_sha256": digest(randn(seed, 773)),
        "randn15": bits(randn(seed, 15)),
        "exponential_first8": bits(noise)[:8],
        "exponential2504_sha256": digest(noise),
        "multinomial": ids.reshape(-1).tolist(),
    }


def halves(values):
    return np.asarray(values, dtype=np.float16)


def speaker(std, mean):
    text = pybase16384.encode_to_string(np.concatenate([halves(std), halves(mean)]).tobytes())
    return text, Speaker(len(std), text, torch.device("cpu"))


def strings(hidden, seed, steps):
    _, spk = speaker([1.0] * hidden, [0.0] * hidden)
    vector = randn(seed, hidden, torch.float16)
    codes = torch.tensor([[(q * 131 + t * 37 + t * t) % 625 for t in range(steps)] for q in range(4)], dtype=torch.int32)
    return {
        "hidden": hidden,
        "seed": seed,
        "steps": steps,
        "speaker_string": spk._encode(vector),
        "normalized_bits": torch.nn.functional.normalize(vector, p=2.0, dim=0, eps=1e-12).numpy().view(np.uint16).tolist()[:64],
        "sample_string": spk.encode_prompt(codes),
    }


def statistics():
    std = [0.25 + i / 32 for i in range(64)]
    mean = [(i - 32) / 16 for i in range(64)]
    text, _ = speaker(std, mean)
    s, m = (torch.from_numpy(halves(v)).to(torch.float32) for v in (std, mean))
    voices = [{"seed": seed, "values": (randn(seed, 64) * s + m).tolist()} for seed in (0, 2222, 4294967295)]
    return {"text": text, "voices": voices}


print(json.dumps({
    "streams": [stream(s) for s in (0, 42, 2222, 2**31 + 7, 4294967295)],
    "strings": [strings(768, 2222, 200), strings(64, 7, 1)],
    "statistics": statistics(),
}, ensure_ascii=False, indent=1))
