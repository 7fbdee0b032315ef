"""The code stream: four codebooks of 625 codes (5^4 digits), one step every 512 samples.

The codes are symbolic, not learned. What a small autoregressive model finds hard in an ordinary neural codec is that
its codes are noisy: much entropy a step, so a free-running model drifts off the text. The teacher, however, is a
deterministic function of phonemes, durations and pitch, so these are the code stream, and the codec's decoder learns
to render them. Each step the GPT then predicts little, and what it predicts it can check against the text.

    book 0  the teacher's symbol: phone, stress mark, space, punctuation or edge silence. Symbols sit on the 5^4 grid
            by acoustic similarity (symbols.py), as the decoder sees a code as four numbers.
    book 1  steps that remain in this symbol (0-24) + 25 * steps elapsed in it (0-24): the duration is decided at the
            symbol's first step and then counted down, so there is no stutter and no runaway.
    book 2  pitch (25 levels, relative to the voice) + 25 * voicing (0, 2, 4) + 125 * speaker (0 female, 4 male, in
            Mandarin 1 and 3, whose teacher has other voices).
    book 3  the text token being spoken: compact id * 3 + position in its word modulo 3. A pointer that tells the GPT
            where it is in the text; the decoder's weights for this book are zero.
"""

import numpy as np

from common import MALE, load

DIGITS, LEVELS = 4, 5
N_CODES = LEVELS**DIGITS  # 625; code 625 ends the utterance
MAX_COUNT = 24
PITCH_LOW, PITCH_HIGH, PITCH_LEVELS = 110.0, 330.0, 25  # Hz in the female voice; the male voice is the same, scaled
UNVOICED_BELOW = 40.0  # Hz: the teacher writes about 0 where there is no pitch
SPEAKER_DIGIT = {False: 0, True: 4}  # male?
SPEAKER_DIGIT_ZH = {False: 1, True: 3}
PITCH_SCALE_ZH = {False: 1.0, True: 1.5}  # what brings Mandarin's voices into the same range
POINTER_MODULO = 3


def f0_levels(f0):
    """Pitch of 2n frames in Hz -> per step: level 0-24 (interpolated where unvoiced) and voicing 0, 2 or 4."""
    f0 = f0.astype(np.float64)
    voiced = f0 > UNVOICED_BELOW
    if not voiced.any():
        steps = len(f0) // 2
        return np.full(steps, 10), np.zeros(steps, int)
    time = np.arange(len(f0))
    log_f0 = np.interp(time, time[voiced], np.log(f0[voiced])).reshape(-1, 2).mean(1)
    step = np.log(PITCH_HIGH / PITCH_LOW) / (PITCH_LEVELS - 1)
    level = np.clip(np.round((log_f0 - np.log(PITCH_LOW)) / step), 0, PITCH_LEVELS - 1).astype(int)
    return level, 2 * voiced.reshape(-1, 2).sum(1)


def counters(durations):
    """Durations of the symbols -> per step: steps that remain, steps elapsed, both at most 24."""
    total = int(durations.sum())
    elapsed = np.arange(total) - np.repeat(np.cumsum(durations) - durations, durations)
    remaining = np.repeat(durations, durations) - 1 - elapsed
    return np.minimum(remaining, MAX_COUNT), np.minimum(elapsed, MAX_COUNT)


class Coder:
    """Aligned sentence -> codes. Reads data/symbols.pt."""

    def __init__(self, data):
        table = load(f"{data}/symbols.pt")
        self.symbols, self.grid, self.token_map = table["symbols"], table["grid"], table["tokmap"]

    def __call__(self, item, voice):
        """-> codes [steps, 4] and, per step, the index of its text token."""
        durations = item["dur"]
        remaining, elapsed = counters(durations)
        symbol = np.repeat(item["sym"], durations)
        token = np.repeat(item["tok"], durations)
        mandarin = item.get("language") == "zh"
        speaker = (SPEAKER_DIGIT_ZH if mandarin else SPEAKER_DIGIT)[voice == MALE]
        place = token if mandarin else item["idx"][token]
        pointer = self.token_map[item["ids"][token]] * POINTER_MODULO + place % POINTER_MODULO
        books = [
            self.grid[symbol],
            remaining + (MAX_COUNT + 1) * elapsed,
            item["level"] + PITCH_LEVELS * item["voicing"] + 125 * speaker,
            pointer,
        ]
        return np.stack(books, 1).astype(np.int64), token

    def spell(self, codes):
        """The symbols of a code sequence, each once: a readable transcript for diagnosis."""
        name = {int(code): symbol for symbol, code in zip(self.symbols, self.grid)}
        return "".join(
            name.get(int(c), "#") for c, count in zip(codes[:, 0], codes[:, 1]) if int(count) < MAX_COUNT + 1
        )


def jitter_pitch(codes, rng, probability, size):
    """Moves the pitch level of some steps by up to size levels, in place."""
    level = codes[..., 2] % PITCH_LEVELS
    move = (rng.random(level.shape) < probability) * rng.integers(-size, size + 1, level.shape)
    codes[..., 2] += np.clip(level + move, 0, PITCH_LEVELS - 1) - level
    return codes
