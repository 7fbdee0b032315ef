#!/usr/bin/env python3
"""Writes the model in ChatTTS's file layout and tensor names.

    python export.py GPT_NAME OUT

fp16, except mel filter bank, windows and "coef". OUT gets asset/, config.json and voices.json (speaker vectors in
ChatTTS's text form). README.md of the model is written by hand.
"""

import json
import lzma
import os

import numpy as np
import torch
from safetensors.torch import save_file

import syllables_zh
import tokenizer
from common import (
    FEMALE,
    HOP,
    MALE,
    N_FFT,
    N_MELS,
    SAMPLE_RATE,
    SPEAKER_COORDINATE,
    STEPS_PER_SECOND,
    arguments,
    load,
    mel_transform,
)
from gpt import GPT

NAME = "voxwire-demo-en"
FULL_PRECISION = ("coef", "mel_scale.fb", "window")
DRAW_SCALE = 12.0  # standard deviation of the speaker coordinate in a drawn voice; all others 1
MAX_WORDS = 16  # in a piece; longer text is split by the server
TEXT_HEAD_STD = 0.02  # the text head is untrained
HEADS = "head_code.{}.parametrizations.weight.original"
VOICE_NAMES = {"female": 1.0, "male": -1.0}
VOICE_SIZE = 8.0


def put(path, tensors):
    half = lambda name: not any(part in name for part in FULL_PRECISION)
    tensors = {k: (v.half() if half(k) else v.float()).contiguous().clone() for k, v in tensors.items()}
    for name, value in tensors.items():
        assert torch.isfinite(value).all(), name
    os.makedirs(os.path.dirname(path), exist_ok=True)
    save_file(tensors, path)


def base16384(array):
    import pybase16384

    return pybase16384.encode_to_string(array)


def speaker_statistics(hidden):
    """Standard deviation, then mean: what "draw a voice" multiplies and adds."""
    deviation = np.ones(hidden)
    deviation[SPEAKER_COORDINATE] = DRAW_SCALE
    return base16384(np.concatenate([deviation, np.zeros(hidden)]).astype(np.float16).tobytes())


def voice_text(hidden, sign, seed):
    vector = np.random.default_rng(seed).standard_normal(hidden)
    vector[SPEAKER_COORDINATE] = sign * VOICE_SIZE
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]
    return base16384(lzma.compress(vector.astype(np.float16).tobytes(), format=lzma.FORMAT_RAW, filters=filters))


def embeddings(gpt):
    embed, heads = (t.detach() for t in gpt.tables())
    text_head = torch.randn(gpt.emb_text.weight.shape, generator=torch.Generator().manual_seed(0)) * TEXT_HEAD_STD
    tensors = {"emb_text.weight": gpt.text(torch.arange(len(gpt.emb_text.weight))).detach()}
    weights = {HEADS.format(b): heads[b] for b in range(gpt.vq)}
    weights["head_text.parametrizations.weight.original"] = text_head
    for name, weight in weights.items():  # weight normalisation: direction and length of each row
        tensors[name + "0"], tensors[name + "1"] = weight.norm(dim=1, keepdim=True), weight
    return tensors | {f"emb_code.{b}.weight": embed[b] for b in range(gpt.vq)}


def main():
    preferred = dict(action="store_true", help="speech comes from hidden states unless a request says otherwise")
    codes_only = dict(action="store_true", help="the Decoder is not trained for this GPT: say so in config.json")
    args = arguments(
        __doc__, (["gpt"], {}), (["out"], {}), (["--codes-only"], codes_only), (["--decoder-default"], preferred)
    )
    data, asset = args.data, f"{args.out}/asset"
    codec, vocos, decoder = (load(f"{data}/{name}.pt") for name in ("dvae", "vocos", "decoder"))
    checkpoint = load(f"{data}/gpt_{args.gpt}.pt")
    size = checkpoint["cfg"]
    gpt = GPT(**size)
    gpt.load_state_dict(checkpoint["ema"])
    filters, window = mel_transform().mel_scale.fb.clone(), torch.hann_window(N_FFT)
    mel = lambda prefix, middle: {
        f"{prefix}.mel_spec.mel_scale.fb": filters,
        f"{prefix}.mel_spec.{middle}window": window,
    }
    put(f"{asset}/DVAE.safetensors", codec["sd"] | mel("preprocessor_mel", "spectrogram."))
    put(f"{asset}/Vocos.safetensors", vocos["sd"] | mel("feature_extractor", "spectrogram."))
    put(f"{asset}/Decoder.safetensors", decoder["sd"])
    put(
        f"{asset}/gpt/model.safetensors",
        {k: v for k, v in gpt.state_dict().items() if k.startswith(("layers.", "norm."))},
    )
    put(f"{asset}/Embed.safetensors", embeddings(gpt))
    tokenizer.build(f"{asset}/tokenizer")
    mandarin = bool(size.get("parts"))
    if mandarin:
        syllables_zh.write_map(args.out)

    H = size["H"]
    tokens = dict(num_audio_tokens=626, num_text_tokens=size["n_text"], num_vq=4)
    llama = dict(
        hidden_size=H,
        intermediate_size=size["ff"],
        num_attention_heads=size["nh"],
        num_hidden_layers=size["L"],
        max_position_embeddings=4096,
        rms_norm_eps=1e-6,
        rope_theta=10000.0,
    )
    file = dict(architectures=["LlamaModel"], model_type="llama", num_key_value_heads=size["nh"], hidden_act="silu",
                attention_bias=False, mlp_bias=False, vocab_size=32000, torch_dtype="float16", use_cache=False, spk_emb_dim=192)  # fmt: skip
    write = lambda path, value: json.dump(value, open(path, "w"), indent=1, ensure_ascii=False)
    write(f"{asset}/gpt/config.json", file | llama | tokens)
    stack = lambda sizes: dict(**sizes, kernel=7, dilation=2)
    c, v, path = codec["cfg"], vocos["cfg"], not args.codes_only
    write(
        f"{args.out}/config.json",
        dict(
            name=NAME,
            license="Apache-2.0",
            language="en",
            sample_rate=SAMPLE_RATE,
            code_rate=STEPS_PER_SECOND,
            gpt=llama | tokens,
            embed=dict(hidden_size=H, **tokens),
            dvae=dict(
                dim=c["dim"],
                encoder=stack(c["encoder"]),
                decoder=stack(c["decoder"]),
                vq=dict(dim=c["vq_dim"], levels=[5, 5, 5, 5], G=c["G"], R=c["R"], residual_scale="(levels-1)^-r"),
            ),
            decoder=stack(decoder["cfg"]["decoder"]),
            vocos=dict(
                feature_extractor=dict(
                    sample_rate=SAMPLE_RATE, n_fft=N_FFT, hop_length=HOP, n_mels=N_MELS, padding="center"
                ),
                backbone=dict(input_channels=N_MELS, dim=v["dim"], intermediate_dim=v["inter"], num_layers=v["layers"]),
                head=dict(dim=v["dim"], n_fft=N_FFT, hop_length=HOP, padding="center"),
            ),
            spk_stat=speaker_statistics(H),
            capabilities=dict(
                refine_text=False,
                decoder=path,
                use_decoder_default=path and args.decoder_default,
                languages=["en", "zh"] if mandarin else ["en"],
                max_words=MAX_WORDS,
                closing_mark=True,
            ),
            infer_code=dict(
                prompt="[speed_5]", temperature=0.3, top_P=0.7, top_K=20, repetition_penalty=1.05, max_new_token=1024
            ),
        ),
    )
    write(
        f"{args.out}/voices.json",
        {name: voice_text(H, sign, seed) for seed, (name, sign) in enumerate(VOICE_NAMES.items())},
    )
    total = 0
    for folder, _, names in os.walk(args.out):
        for name in names:
            total += os.path.getsize(os.path.join(folder, name))
    print(f"{args.out}: {total / 1e6:.1f} MB, GPT step {checkpoint['step']}")


if __name__ == "__main__":
    main()
