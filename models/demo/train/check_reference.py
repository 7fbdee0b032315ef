#!/usr/bin/env python3
"""Loads an exported model with the unchanged Python package of ChatTTS and speaks: names, shapes and pipeline fit.

    python check_reference.py OUT [TEXT ...]

Speaks each text from hidden states and from codes, without and with the voices of voices.json, and prints what the
recogniser heard. The package (AGPL) is only used to test; nothing of it enters the model or the product.
"""

import argparse
import dataclasses
import json
import logging
import os

import ChatTTS
import numpy as np
import torch
from ChatTTS.config import config as reference

import asr

TEXTS = ["hello and welcome to the show.", "what time does the library close on friday?"]
STACK = ("idim", "odim", "hidden", "n_layer", "bn_dim")


def configuration(model):
    config, gpt, vq = reference.Config(), model["gpt"], model["dvae"]["vq"]
    stack = lambda sizes: reference.Decoder(**{k: sizes[k] for k in STACK})
    shared = dict(hidden_size=gpt["hidden_size"], num_text_tokens=gpt["num_text_tokens"])
    sizes = ("intermediate_size", "num_attention_heads", "num_hidden_layers")
    config.gpt = dataclasses.replace(config.gpt, **shared, **{k: gpt[k] for k in sizes})
    config.embed = dataclasses.replace(config.embed, **shared)
    config.decoder = stack(model["decoder"])
    quantiser = reference.VQ(dim=vq["dim"], levels=tuple(vq["levels"]), G=vq["G"], R=vq["R"])
    config.dvae = reference.DVAE(
        encoder=stack(model["dvae"]["encoder"]), decoder=stack(model["dvae"]["decoder"]), vq=quantiser
    )
    backbone, head = model["vocos"]["backbone"], model["vocos"]["head"]
    head = reference.FourierHeadInitArgs(**{k: head[k] for k in ("dim", "n_fft", "hop_length", "padding")})
    config.vocos = reference.Vocos(
        feature_extractor=config.vocos.feature_extractor,
        backbone=reference.Backbone(init_args=reference.BackboneInitArgs(**backbone)),
        head=reference.FourierHead(init_args=head),
    )
    config.spk_stat = model["spk_stat"]
    return config


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("texts", nargs="*")
    args = parser.parse_args()
    texts = args.texts or TEXTS
    torch.set_num_threads(1)
    logging.getLogger().setLevel(logging.ERROR)
    chat = ChatTTS.Chat()
    chat.config = configuration(json.load(open(f"{args.out}/config.json")))
    paths = {k: os.path.join(args.out, p) for k, p in dataclasses.asdict(chat.config.path).items()}
    print("loaded", chat._load(device=torch.device("cpu"), **paths))
    voices = {"empty": None} | json.load(open(f"{args.out}/voices.json")) | {"drawn": chat.sample_random_speaker()}
    for use_decoder in (True, False):
        for name, voice in voices.items():
            params = ChatTTS.Chat.InferCodeParams(manual_seed=1, show_tqdm=False, spk_emb=voice)
            speech = chat.infer(
                list(texts), skip_refine_text=True, split_text=False, use_decoder=use_decoder, params_infer_code=params
            )
            for text, wav in zip(texts, speech):
                wav = np.asarray(wav, np.float32).reshape(-1)
                level = float(np.sqrt((wav**2).mean()))
                print(
                    "hidden" if use_decoder else "codes",
                    name,
                    f"{len(wav) / 24000:.2f} s, level {level:.3f} | {text} | {asr.hear(wav)}",
                )


if __name__ == "__main__":
    main()
