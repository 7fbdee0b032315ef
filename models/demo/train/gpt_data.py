"""Batches for train_gpt.py: prompts, augmentation of the aligned sentences, damage to the context."""

import numpy as np
import torch
import torch.nn.functional as F

import tokenizer
from codes import MAX_COUNT, POINTER_MODULO, Coder, f0_levels, jitter_pitch
from common import FEMALE, MALE, load, mandarin_items, speaker_vector
from gpt import END

# Augmentation, as probabilities per sentence
P_COMMA_TO_BREAK = 0.15  # a comma written as [uv_break]
P_BREAK = 0.12  # a pause put between two words
P_LIKE_MARK = 0.10  # "." written "!", "," written ";" or ":"
P_NO_MARK = 0.15  # the closing mark left out, as the Python package does with "?"
P_SPEED = 0.15  # a speed other than [speed_5]
P_NO_SPEED = 0.4  # [speed_5] left out
P_JOIN = 0.15  # two sentences in one
MANDARIN_SHARE = 0.65  # of the batches, where there is Mandarin
P_SPEAKER = 0.7  # [spk_emb], half of them male; else [empty_spk], female
BREAK_STEPS = {
    "[uv_break]": (9, 20),
    "[v_break]": (9, 20),
    "[lbreak]": (20, 36),
    "[llbreak]": (26, 40),
    "[laugh]": (5, 10),
}
BREAK_ODDS = (0.72, 0.07, 0.07, 0.07, 0.07)
SPEED_RATIO = 1.07  # from one [speed_k] to the next; speed_9 is 1.3 times as fast as speed_5

# Damage to the codes the model sees of its own past, so that it trusts the text more than itself
P_WRONG_SYMBOL = P_WRONG_POINTER = 0.03  # per symbol
P_WRONG_COUNT = 0.02  # per step
P_PITCH_JITTER, PITCH_JITTER = 0.3, 2
BLANK_SHARE = (0.0, 0.0, 0.1, 0.3)  # of the steps; one value drawn per sentence


class Batches:
    def __init__(self, data, rng, hidden):
        tokens = tokenizer.build()
        self.vocabulary, self.rng, self.hidden = len(tokens), rng, hidden
        self.id = lambda token: tokens.convert_tokens_to_ids(token)
        self.coder = Coder(data)
        self.comma, self.space = self.coder.symbols.index(","), self.coder.symbols.index(" ")
        self.pointers = POINTER_MODULO * (self.coder.token_map.max() + 1)
        self.items, self.held = [], []
        for name, records in load(f"{data}/align.pt")["sets"].items():
            for item in filter(None, records):
                item["level"], item["voicing"] = f0_levels(item.pop("f0"))
                (self.held if "held" in name else self.items).append(item)
        held, self.mandarin = 30, [item for item, _ in mandarin_items(data, self.coder, "zh*_*.pt")]
        self.held, self.mandarin = self.held + self.mandarin[:held], self.mandarin[held:]
        self.english, self.items = len(self.items), self.items + self.mandarin
        self.length = np.array([i["dur"].sum() + len(i["ids"]) + 5 for i in self.items])

    # ---- augmentation

    def join(self, a, b):
        """Two sentences in a row: what the server gets when it does not split its text."""
        shift = lambda t: t + len(a["ids"])
        joined = a | {k: np.concatenate([a[k], b[k]]) for k in ("ids", "idx", "sym", "dur", "level", "voicing")}
        joined["tok"] = np.concatenate([a["tok"], shift(b["tok"])])
        return joined

    def insert_break(self, item):
        after = np.where(item["sym"] == self.space)[0]
        after = after[item["sym"][after - 1] != self.comma]
        if not len(after):
            return
        token = self.rng.choice(list(BREAK_STEPS), p=BREAK_ODDS)
        steps = int(self.rng.integers(*BREAK_STEPS[token]))
        k = int(self.rng.choice(after))
        word, at = int(item["tok"][k]), int(item["dur"][:k].sum())
        owner = item["tok"].copy()
        owner[owner >= word] += 1
        item["ids"], item["idx"] = np.insert(item["ids"], word, self.id(token)), np.insert(item["idx"], word, 0)
        item["tok"], item["sym"] = np.insert(owner, k, word), np.insert(item["sym"], k, self.comma)
        item["dur"] = np.insert(item["dur"], k, steps)
        item["level"] = np.insert(item["level"], at, np.full(steps, item["level"][at]))
        item["voicing"] = np.insert(item["voicing"], at, np.zeros(steps, int))

    def change_speed(self, item, ratio):
        """Durations / ratio, rounded at random; pitch and voicing stretch along with each symbol."""
        old = item["dur"].astype(int)
        new = np.maximum(1, np.floor(old / ratio + self.rng.random(len(old)))).astype(int)
        start = np.cumsum(old) - old
        step = np.arange(new.sum()) - np.repeat(np.cumsum(new) - new, new)
        source = np.repeat(start, new) + step * np.repeat(old, new) // np.repeat(new, new)
        item["dur"], item["level"], item["voicing"] = new, item["level"][source], item["voicing"][source]

    def augment(self, item):
        """-> item, token of its speed or None"""
        rng, speed = self.rng, "[speed_5]"
        if rng.random() < P_JOIN:
            other = self.items[rng.integers(*((self.english, len(self.items)) if "voice" in item else (0, self.english)))]
            if other.get("voice") == item.get("voice"):
                item = self.join(item, other)
        item = dict(item)
        item["ids"] = item["ids"].copy()
        if item["ids"][-1] == self.id(".") and rng.random() < P_NO_MARK:
            item["ids"], item["idx"] = item["ids"][:-1], item["idx"][:-1]
            item["tok"] = np.minimum(item["tok"], len(item["ids"]) - 1)
        for mark, others in ((",", ";:"), (".", "!")):
            where = np.where(item["ids"] == self.id(mark))[0]
            if len(where) and rng.random() < P_LIKE_MARK:
                item["ids"][rng.choice(where)] = self.id(str(rng.choice(list(others))))
        commas = np.where(item["ids"] == self.id(","))[0]
        if len(commas) and rng.random() < P_COMMA_TO_BREAK:
            item["ids"][rng.choice(commas)] = self.id("[uv_break]")
        if rng.random() < P_SPEED:
            k = int(rng.integers(10))
            speed = f"[speed_{k}]"
            self.change_speed(item, SPEED_RATIO ** (k - 5))
        if rng.random() < P_BREAK:
            self.insert_break(item)
        if speed == "[speed_5]" and rng.random() < P_NO_SPEED:
            speed = None
        return item, speed

    def damage(self, codes, item):
        """-> codes as context, and which steps are kept (the others are blank)"""
        rng, codes, durations = self.rng, codes.copy(), item["dur"]
        symbols, steps = len(durations), len(codes)
        spread = lambda values: np.repeat(values, durations)
        wrong = spread(rng.random(symbols) < P_WRONG_SYMBOL)
        codes[wrong, 0] = spread(self.coder.grid[rng.integers(0, len(self.coder.grid), symbols)])[wrong]
        wrong = spread(rng.random(symbols) < P_WRONG_POINTER)
        codes[wrong, 3] = spread(rng.integers(0, self.pointers, symbols))[wrong]
        wrong, base = rng.random(steps) < P_WRONG_COUNT, MAX_COUNT + 1
        moved = np.clip(codes[wrong, 1] % base + rng.integers(-2, 3, wrong.sum()), 0, MAX_COUNT)
        codes[wrong, 1] += moved - codes[wrong, 1] % base
        jitter_pitch(codes, rng, P_PITCH_JITTER, PITCH_JITTER)
        return codes, rng.random((steps, 1)) >= BLANK_SHARE[rng.integers(len(BLANK_SHARE))]

    # ---- batches

    def epochs(self, size):
        """Endless batches of sentences of similar length, size positions each."""
        while True:
            order, out = np.arange(self.english), []
            if self.mandarin:  # as many of the one as of the other, by share
                few = int(len(self.mandarin) * (1 / MANDARIN_SHARE - 1))
                order = np.append(self.rng.choice(order, few), np.arange(self.english, len(self.items)))
            order = self.rng.permutation(order)
            for k in range(0, len(order), 512):
                part = order[k : k + 512]
                part = part[np.argsort(self.length[part] + self.rng.integers(0, 8, len(part)))]
                i = 0
                while i < len(part):
                    j = i
                    while j < len(part) and (j - i + 1) * max(self.length[part[i]], self.length[part[j]]) <= size:
                        j += 1
                    out.append(part[i : max(j, i + 1)])
                    i = max(j, i + 1)
            self.rng.shuffle(out)
            for batch in out:
                yield [self.items[i] for i in batch]

    def sequence(self, item, train):
        """One sentence -> prompt tokens, speaker vector or None, target codes, context codes, kept steps, guides."""
        rng, speed, voice, vector = self.rng, "[speed_5]", FEMALE, None
        if train:
            item, speed = self.augment(item)
            if item.get("voice") == MALE or rng.random() < P_SPEAKER:
                voice = item.get("voice") or (MALE if rng.random() < 0.5 else FEMALE)
                vector = speaker_vector(self.hidden, voice)
        elif item.get("voice") == MALE:
            voice, vector = MALE, speaker_vector(self.hidden, MALE)
        prompt = ["[Stts]", "[empty_spk]" if vector is None else "[spk_emb]"] + ([speed] if speed else [])
        ids = np.concatenate([[self.id(t) for t in prompt], item["ids"].astype(np.int64), [self.id("[Ptts]")]])
        codes, token = self.coder(item, voice)
        context, kept = self.damage(codes, item) if train else (codes, np.ones((len(codes), 1), bool))
        count = len(item["ids"])
        word_end = np.append(np.where(np.append(item["idx"][1:], 0) == 0)[0], count)
        token = np.append(token, count)  # the end code belongs to [Ptts]
        ends = word_end[np.searchsorted(word_end, np.minimum(token, count))]
        return ids, vector, codes, context, kept, token + len(prompt), ends + len(prompt)

    def collate(self, items, embed_text, tables, train=True):
        """-> embeddings [batch, length, H], positions to score, guide positions (token, word end), target codes,
        and whether a step begins a symbol (or ends the utterance)."""
        parts = [self.sequence(item, train) for item in items]
        ids, vectors, codes, contexts, keeps, tokens, ends = zip(*parts)
        text = embed_text(torch.from_numpy(np.concatenate(ids))).split([len(i) for i in ids])
        context = torch.from_numpy(np.concatenate(contexts))
        keep = torch.from_numpy(np.concatenate(keeps)).float()
        audio = sum(F.embedding(context[:, b], tables[b]) for b in range(len(tables))) * keep
        rows = []
        for t, a, vector in zip(text, audio.split([len(c) for c in codes]), vectors):
            rows.append(torch.cat([t, a] if vector is None else [t[:1], vector[None], t[2:], a]))
        x = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        scored = torch.zeros(x.shape[:2], dtype=torch.bool)
        guides = torch.full((2, *x.shape[:2]), -1)
        for i, (prompt, code) in enumerate(zip(ids, codes)):
            window = slice(len(prompt) - 1, len(prompt) + len(code))
            scored[i, window] = True
            guides[0, i, window], guides[1, i, window] = torch.from_numpy(tokens[i]), torch.from_numpy(ends[i])
        end = torch.full((1, len(tables)), END)
        target = torch.cat([torch.cat([torch.from_numpy(c), end]) for c in codes])
        begins = torch.from_numpy(np.concatenate([np.append(c[:, 1] <= MAX_COUNT, True) for c in codes]))
        return x, scored, guides, target, begins
