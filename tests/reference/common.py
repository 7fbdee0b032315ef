"""Shared helpers: the two model sizes ('full', 'tiny'), loading the reference ChatTTS on CPU
without the sha256 / download step.   Import this BEFORE torch if you want to set threads by env."""
import dataclasses, logging, os, sys, time
import numpy as np
import pybase16384 as b14
import torch
import ChatTTS
from ChatTTS.config import config as _c

HERE = os.path.dirname(os.path.abspath(__file__))
ASSETS = os.path.join(HERE, "assets")

# ids 21128..21177 of the published tokenizer (bert-base-chinese has 21128 entries) = 50 tokens
CHATTTS_TOKENS = (
    ["[Sasr]", "[Pasr]", "[Easr]", "[Stts]", "[Ptts]", "[Etts]", "[Sbreak]", "[Pbreak]", "[Ebreak]",
     "[uv_break]", "[v_break]", "[lbreak]", "[llbreak]", "[undefine]", "[laugh]", "[spk_emb]",
     "[empty_spk]", "[music]", "[pure]"]
    + [f"[break_{i}]" for i in range(8)]
    + [f"[laugh_{i}]" for i in range(3)]
    + [f"[oral_{i}]" for i in range(10)]
    + [f"[speed_{i}]" for i in range(10)]
)
assert len(CHATTTS_TOKENS) == 50


def tiny_spk_stat(n=64):
    """Made-up statistics: the published ones are part of ChatTTS's weights and may not be committed with a fixture."""
    i = np.arange(n)
    return b14.encode_to_string(np.concatenate([2 + np.sin(i), np.cos(5 * i)]).astype(np.float16).tobytes())


def make_config(size: str, asset_dir: str = None):
    """A ChatTTS Config object. 'full' = the untouched defaults; 'tiny' = same topology, small dims.
    num_text_tokens for tiny is read from the tokenizer in asset_dir when it exists."""
    cfg = _c.Config()
    if size == "full":
        return cfg
    assert size == "tiny"
    H = 64
    n_text = 21178
    if asset_dir is not None:
        import json
        p = os.path.join(asset_dir, "asset", "tokenizer", "tokenizer.json")
        t = json.load(open(p, encoding="utf8"))
        n_text = max(max(t["model"]["vocab"].values()), max(a["id"] for a in t["added_tokens"])) + 1
    R = dataclasses.replace
    cfg.gpt = R(cfg.gpt, hidden_size=H, intermediate_size=160, num_attention_heads=4,
                num_hidden_layers=3, num_text_tokens=n_text)
    cfg.embed = R(cfg.embed, hidden_size=H, num_text_tokens=n_text)
    cfg.decoder = _c.Decoder(idim=H // 2, odim=H // 2, hidden=48, n_layer=3, bn_dim=24)
    cfg.dvae = _c.DVAE(
        encoder=_c.Decoder(idim=64, odim=128, hidden=40, n_layer=2, bn_dim=24),
        decoder=_c.Decoder(idim=64, odim=64, hidden=40, n_layer=2, bn_dim=24),
        vq=_c.VQ(dim=128, levels=(5, 5, 5, 5), G=2, R=2),
    )
    cfg.vocos = _c.Vocos(
        feature_extractor=cfg.vocos.feature_extractor,
        backbone=_c.Backbone(init_args=_c.BackboneInitArgs(input_channels=100, dim=64, intermediate_dim=160, num_layers=2)),
        head=_c.FourierHead(init_args=_c.FourierHeadInitArgs(dim=64, n_fft=1024, hop_length=256, padding="center")),
    )
    cfg.spk_stat = tiny_spk_stat(H)
    return cfg


def quiet():
    logging.getLogger().setLevel(logging.ERROR)
    for n in ("ChatTTS", "transformers", "ChatTTS.core"):
        logging.getLogger(n).setLevel(logging.ERROR)


def load_chat(size: str, asset_dir: str = None, **kw):
    """Chat()._load(...) with explicit paths (no sha256 check, no download). CPU device."""
    quiet()
    asset_dir = asset_dir or os.path.join(ASSETS, size)
    chat = ChatTTS.Chat()
    chat.config = make_config(size, asset_dir)
    ok = chat._load(
        device=torch.device("cpu"),
        **{k: os.path.join(asset_dir, v) for k, v in dataclasses.asdict(chat.config.path).items()},
        **kw,
    )
    assert ok
    return chat


def stats(xs):
    xs = np.asarray(xs, dtype=np.float64)
    return dict(n=len(xs), min=float(xs.min()), med=float(np.median(xs)), mean=float(xs.mean()), p90=float(np.percentile(xs, 90)))


def fmt(xs, unit=1e3, name="ms"):
    s = stats(xs)
    return f"min {s['min']*unit:.2f}  med {s['med']*unit:.2f}  mean {s['mean']*unit:.2f}  p90 {s['p90']*unit:.2f} {name} (n={s['n']})"
