"""Word error rate with an offline recogniser (moonshine tiny English, weights inside the PyPI package).

Needs numpy and moonshine-voice alone (listen-requirements.txt), so that listening costs no torch.
"""

import re

import numpy as np

SAMPLE_RATE = 24_000

ONES = (
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen""".split()
)
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
LEAD, TAIL = 0.2, 0.3  # seconds of silence around what is recognised
_transcriber = None


def number_words(n):
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10 - 2] + (" " + ONES[n % 10] if n % 10 else "")
    if n < 1000:
        return ONES[n // 100] + " hundred" + (" " + number_words(n % 100) if n % 100 else "")
    if n < 10**6:
        return number_words(n // 1000) + " thousand" + (" " + number_words(n % 1000) if n % 1000 else "")
    return str(n)


def normalise(text):
    """Words to compare: lower case, digits spelt out, no marks, one spelling for what sounds the same."""
    text = text.lower().replace("’", "'").replace("o'clock", "oclock")
    text = re.sub(r"\[[a-z_0-9]+\]", " ", text)
    text = re.sub(r"(?<=\d),(?=\d)", "", text)
    text = re.sub(r"(\d+):(\d+)", r"\1 \2", text)
    text = re.sub(r"\d+", lambda m: f" {number_words(int(m.group()))} ", text)
    text = (
        text.replace("theatre", "theater")
        .replace("%", " percent")
        .replace("$", "")
        .replace(" hundred and ", " hundred ")
    )
    return re.sub(r"[^a-z0-9 ]", "", text.replace("-", " ")).split()


def hear(wav):
    global _transcriber
    if _transcriber is None:
        from moonshine_voice import ModelArch, get_model_path
        from moonshine_voice.transcriber import Transcriber

        _transcriber = Transcriber(model_path=str(get_model_path("tiny-en")), model_arch=ModelArch.TINY)
    silence = lambda seconds: np.zeros(int(seconds * SAMPLE_RATE), np.float32)
    padded = np.concatenate([silence(LEAD), np.clip(wav, -1, 1).astype(np.float32), silence(TAIL)])
    return " ".join(line.text for line in _transcriber.transcribe_without_streaming(padded.tolist(), SAMPLE_RATE).lines)


def wrong_words(wanted, heard):
    """Substitutions, deletions and insertions between two lists of words: their edit distance."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(wanted, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


def errors(text, wav):
    """-> (wrong words, words, what was heard). wav: samples of -1 to 1 at 24 kHz."""
    heard, wanted = hear(wav), normalise(text)
    return wrong_words(wanted, normalise(heard)), len(wanted), heard


def word_error_rate(texts, wavs, verbose=False):
    wrong = words = 0
    for text, wav in zip(texts, wavs):
        w, n, heard = errors(text, wav)
        wrong, words = wrong + w, words + n
        if verbose and w:
            print("  ", w, "|", text, "|", heard)
    return wrong / words
