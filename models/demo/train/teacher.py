#!/usr/bin/env python3
"""The teacher (hibari-tts) with its durations exposed, on our time grid, in two voices.

    python teacher.py           writes data/hibari_dur.onnx and data/hibari_sym.onnx

hibari-tts is a source-filter synthesiser: a network turns phonemes into durations (frames of 600 samples), pitch and
spectral envelopes, and signal processing turns those into audio. We use that twice:

* Time grid. The network runs at speed 512/600 and the frames are laid out every 256 instead of 300 samples: the same
  tempo, but every phoneme lasts a whole number of our 512-sample steps, so that codes and audio agree exactly.
* A male voice. Pitch times 0.55 and all envelopes squeezed by 0.84 along frequency (a longer vocal tract). The package
  holds one female voice only; a second speaker of fit licence can take the place of this (see README.md).
"""

import os

import numpy as np
from hibari import Hibari, dsp

from common import FEMALE, HOP, MALE, SAMPLE_RATE, arguments

DURATION_OUTPUT = "/Clip_output_0"  # after rounding and the lower bound of one frame
SPEED = 512 / 600
PULSE_CEILING = 11_000.0  # Hz, as the teacher's own pulse train
ENVELOPE_SCALE = {FEMALE: 1.0, MALE: 0.84}
PITCH_SCALE = {FEMALE: 1.0, MALE: 0.55}


def prepare(data):
    import hibari
    import onnx
    from onnx import TensorProto, helper

    model = onnx.load(os.path.join(os.path.dirname(hibari.__file__), "assets/hibari.onnx"))
    model.graph.output.append(helper.make_tensor_value_info(DURATION_OUTPUT, TensorProto.FLOAT, None))
    mine = f".{os.getpid()}.onnx"  # workers that start together each write their own, the last one stays
    full, symbols = f"{data}/hibari_dur", f"{data}/hibari_sym"
    onnx.save(model, full + mine)
    # durations and pitch alone, without the spectrum: four times as fast
    onnx.utils.extract_model(full + mine, symbols + mine, ["ids", "speed"], ["f0", DURATION_OUTPUT], check_model=False)
    for name in (full, symbols):
        os.replace(name + mine, name + ".onnx")


class Teacher:
    def __init__(self, data):
        self.full = Hibari(model=f"{data}/hibari_dur.onnx")
        self.symbols = Hibari(model=f"{data}/hibari_sym.onnx", g2p=self.full.g2p)

    def __call__(self, text, audio):
        """-> phoneme string, durations in steps, network outputs (only pitch without audio), or None where the
        teacher's reading of the text does not line up with its words."""
        phonemes = self.full.phonemize(text)
        if len(phonemes) != 1 or len(phonemes[0].split(" ")) != len(text.split(" ")):
            return None
        phonemes = phonemes[0]
        ids = self.full.ids(phonemes)
        if len(ids) != len(phonemes) + 2:
            return None
        session = (self.full if audio else self.symbols).sess
        *outputs, durations = session.run(
            None, {"ids": np.asarray([ids], np.int64), "speed": np.asarray([SPEED], np.float32)}
        )
        outputs = [o[0] for o in outputs]
        durations = np.asarray(durations).reshape(-1).astype(int)
        if 2 * durations.sum() != outputs[-1].shape[-1]:
            return None
        return phonemes, durations, outputs


def pulse_train(f0):
    """Band-limited pulses: all harmonics below the ceiling at unit amplitude; silence where f0 is under 40 Hz."""
    time = (np.arange(len(f0) * HOP) + 0.5) / HOP - 0.5
    f = np.interp(time, np.arange(len(f0)), f0)
    voiced = f > 40
    f = np.maximum(f, 40)
    phase = (np.cumsum(f) / SAMPLE_RATE) % 1 * 2 * np.pi
    order = np.floor(PULSE_CEILING / f) + 0.5
    below = 2 * np.sin(phase / 2)
    at_pulse = np.abs(below) <= 2e-3  # the limit of sin((H + 1/2) t) / (2 sin(t / 2))
    pulse = np.sin(order * phase) / np.where(at_pulse, 1, below)
    pulse[at_pulse] = order[at_pulse]
    pulse -= 0.5
    pulse[~voiced] = 0
    return pulse.astype(np.float32)


def squeeze(envelope, scale):
    """Moves everything at frequency f to f * scale. envelope: [bins, frames]."""
    if scale == 1:
        return envelope
    bins = len(envelope)
    position = np.minimum(np.arange(bins) / scale, bins - 1.001)
    low = position.astype(int)
    part = (position - low).astype(np.float32)[:, None]
    return envelope[low] * (1 - part) + envelope[low + 1] * part


def overlap_add(spectrum):
    frames = dsp.irfft(np.ascontiguousarray(spectrum.T), dsp.N_FFT, 1) * dsp.WIN
    count, square = len(frames), dsp.WIN**2
    out = np.zeros((count - 1) * HOP + dsp.N_FFT, np.float32)
    weight = np.zeros_like(out)
    for k in range(count):
        out[k * HOP : k * HOP + dsp.N_FFT] += frames[k]
        weight[k * HOP : k * HOP + dsp.N_FFT] += square
    out /= np.maximum(weight, 1e-3)
    return np.pad(out[dsp.N_FFT // 2 :], (0, HOP))[: count * HOP]


def render(outputs, voice):
    """The teacher's network outputs -> audio, 256 samples a frame."""
    *envelopes, phase, f0 = outputs
    harmonic, turn, _noise, rest = (squeeze(e, ENVELOPE_SCALE[voice]) for e in envelopes)
    frames, bins = len(f0), len(harmonic)
    if voice != FEMALE:
        phase = phase[np.minimum((np.arange(bins) / ENVELOPE_SCALE[voice]).round().astype(int), bins - 1)]
    source = np.pad(pulse_train(f0 * PITCH_SCALE[voice]), dsp.N_FFT // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(source, dsp.N_FFT)[::HOP][:frames] * dsp.WIN_SRC
    spectrum = np.ascontiguousarray(dsp.rfft(windows, 1).T)
    spectrum = spectrum * np.exp(1j * np.pi * np.tanh(turn)).astype(np.complex64) * dsp.ex(harmonic)
    spectrum += dsp.ex(rest) * np.exp(1j * phase)  # the noise branch is silent in this voice and left out
    return overlap_add(spectrum.astype(np.complex64))


if __name__ == "__main__":
    prepare(arguments(__doc__).data)
