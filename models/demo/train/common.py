"""Paths, the two voices, and loading of the prepared data. Every script takes --data DIR (default ./data)."""

import argparse
import glob
import os

import numpy as np
import torch

SAMPLE_RATE = 24_000
HOP = 256  # samples per mel frame
FRAMES_PER_STEP = 2  # mel frames per code step: 512 samples, 46.875 steps a second
STEPS_PER_SECOND = SAMPLE_RATE / (HOP * FRAMES_PER_STEP)
N_FFT, N_MELS = 1024, 100

FEMALE, MALE = "f", "m"
VOICES = (FEMALE, MALE)

# The speaker vector's first coordinate selects the voice: positive female, negative male.
SPEAKER_COORDINATE = 0


def arguments(description, *extra):
    """The command line shared by all scripts. extra: (flags, keywords) pairs for argparse."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="data", help="working folder (default: data)")
    for flags, keywords in extra:
        parser.add_argument(*flags, **keywords)
    return parser.parse_args()


def save_atomically(value, path):
    """A reader, or an interrupted run, never meets half a file."""
    torch.save(value, path + ".tmp")
    os.replace(path + ".tmp", path)


def load(path):
    return torch.load(path, weights_only=False, map_location="cpu")


def load_model(cls, path, key="sd"):
    """A model of class cls from a checkpoint with its own configuration in it; key "ema" takes the averaged weights."""
    checkpoint = load(path)
    model = cls(**checkpoint["cfg"])
    model.load_state_dict(checkpoint[key])
    return model.eval()


def mel_transform():
    import torchaudio

    return torchaudio.transforms.MelSpectrogram(SAMPLE_RATE, N_FFT, hop_length=HOP, n_mels=N_MELS, center=True, power=1)


def speaker_vector(hidden, voice, generator=None):
    """A random unit vector in the region of the voice, as training draws it."""
    v = torch.randn(hidden, generator=generator)
    size = torch.exp(torch.rand(1, generator=generator) * float(np.log(30.0)))  # 1 to 30, against 1 for the others
    v[SPEAKER_COORDINATE] = size * (1 if voice == FEMALE else -1)
    return torch.nn.functional.normalize(v, dim=0)


def mandarin_items(data, coder, pattern):
    """Records of synth_zh.py in the form of align.py's: text token numbers instead of syllables, one voice each."""
    import syllables_zh
    import tokenizer
    from codes import PITCH_SCALE_ZH, f0_levels

    number, folded = tokenizer.build().convert_tokens_to_ids, syllables_zh.folded()[0]
    symbol = {c: i for i, c in enumerate(coder.symbols)}
    for path in sorted(glob.glob(f"{data}/{pattern}")):
        for r in load(path):
            if any(c not in symbol for c in r["ps"]) or any(c not in folded for c in r["text"] if c not in ",.?!"):
                continue
            level, voicing = f0_levels(r["f0"].astype(np.float32) * PITCH_SCALE_ZH[r["voice"] == MALE])
            ids = np.array(number([folded.get(c, c) for c in r["text"]]))
            item = dict(text=r["text"], ids=ids, idx=np.zeros(len(ids), np.int16), tok=np.array(r["owner"]),
                        sym=np.array([0, *(symbol[c] for c in r["ps"]), 0]), dur=r["d"], level=level, voicing=voicing,
                        voice=r["voice"], language="zh")  # fmt: skip
            assert len(item["sym"]) == len(item["dur"]) == len(item["tok"]) and len(ids) == len(r["tokens"])
            yield item, r


def audio_clips(data, coder, pattern="shard_*.pt"):
    """Every sentence with audio, in both voices: dicts with item, codes, mel, wav, voice."""
    from codes import f0_levels

    aligned = load(f"{data}/align.pt")["sets"]
    clips = [
        dict(item=item, codes=coder(item, item["voice"])[0].astype(np.int16), mel=r["mel"], wav=r["wav"], voice=item["voice"])
        for item, r in mandarin_items(data, coder, "zha_*.pt")
    ]
    for path in sorted(glob.glob(f"{data}/{pattern}")):
        name = os.path.basename(path).replace("shard_", "sym_")
        for record, item in zip(load(path), aligned[name]):
            if item is None:
                continue
            assert item["text"] == record["text"]
            item["level"], item["voicing"] = f0_levels(item["f0"])
            for voice in VOICES:
                codes = coder(item, voice)[0].astype(np.int16)
                clips.append(
                    dict(item=item, codes=codes, mel=record["mel_" + voice], wav=record["wav_" + voice], voice=voice)
                )
    return clips
