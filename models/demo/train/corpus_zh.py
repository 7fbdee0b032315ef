"""Mandarin text of our own making: grammars over jieba's words (MIT), read by pypinyin (MIT) and misaki (Apache-2.0).

A sentence is 2 to 16 characters with a closing mark. Words are drawn by the square root of their frequency, so that
the rarer of the 1,300 syllables occur too. Tones are those of the dictionary, as the teacher wants them: no sandhi.
"""

import os
import random

import jieba
from pypinyin import Style, lazy_pinyin

MOST = 16
NOUNS, VERBS, ADJECTIVES = ("n", "vn", "s", "ns", "nr", "an", "nz"), ("v", "vn", "i", "l"), ("a", "b", "z", "ad", "an")
PLAIN = [w for w in jieba.cut("我 你 他 她 我们 你们 他们 大家 谁 老师 妈妈 爸爸 这个 那个 孩子 朋友 先生 医生") if w.strip()]
# N noun, V verb, A adjective, P person, D adverb, T time, M number and measure, W any word; others stand for themselves
FRAMES = """P V N|P D V N|P 在 N V|N 很 A|N 的 N 很 A|这 是 M A 的 N|T P V 了 N|P T 去 N V N|P 把 N V 了|请 你 V N
你 V N 吗 ?|P 为什么 D V ?|N 在 哪里 ?|如果 A , P 就 V N|虽然 N A , 但是 P 很 A|A 的 N 和 N|P 和 P 一起 V|W W W W|W W W
W W|W W W W W|M N|N 里 有 M N|P 不 V N , D V N|T 的 N 真 A !|P 说 N 比 N A|从 N 到 N 要 M|P 喜欢 V N|V 得 很 A|N 被 P V 了
P 给 P V 了 M N|N 上 放 着 M N|P 想 V M N|W , W|别 V , D V|P 会 不 会 V ?|T D A , T D A|W 了 W 的 W|你 V 过 N 吗 ?|P 正在 V N""".replace("\n", "|").split("|")
ADVERBS = "已经 常常 马上 也 都 还 就 再 不 没有 一定 可能 最近 慢慢 总是 非常 刚刚 只 先 真的".split()
TIMES = "今天 昨天 明天 早上 晚上 下午 星期一 星期六 去年 现在 每天 刚才 春天 夏天 秋天 冬天 三点钟 周末 以后 上个月".split()
COUNTS, MEASURES = "一 两 三 四 五 六 七 八 九 十 几 二十 一百 半".split(), "个 本 张 条 只 位 件 次 天 年 家 杯 块 把 辆 点 米 斤 双 种".split()


class Words:
    def __init__(self, rng):
        self.rng, kinds = rng, {}
        with open(os.path.join(os.path.dirname(jieba.__file__), "dict.txt")) as file:
            for line in file:
                word, count, kind = line.split()
                if len(word) <= 4 and int(count) > 2 and all("一" <= c <= "龥" for c in word):
                    kinds.setdefault(kind, []).append((word, int(count) ** 0.5))
        self.any = sum(kinds.values(), [])
        pools = dict(N=NOUNS, V=VERBS, A=ADJECTIVES)
        self.pools = {k: [p for kind in kinds_ for p in kinds[kind]] for k, kinds_ in pools.items()} | dict(W=self.any)
        self.drawn = {k: [] for k in self.pools}
        self.fixed = dict(P=PLAIN, D=ADVERBS, T=TIMES)

    def draw(self, kind):
        if kind in self.fixed:
            return self.rng.choice(self.fixed[kind])
        if kind == "M":
            return self.rng.choice(COUNTS) + self.rng.choice(MEASURES)
        if kind not in self.pools:
            return kind
        if not self.drawn[kind]:
            words, weights = zip(*self.pools[kind])
            self.drawn[kind] = self.rng.choices(words, weights, k=5000)
        return self.drawn[kind].pop()


def sentences(seed):
    """Endless: a list of words and marks each."""
    rng = random.Random(seed)
    words = Words(rng)
    while True:
        frame = rng.choice(FRAMES).split(" ")
        mark = frame.pop() if frame[-1] in "?!" else "."
        said = [words.draw(kind) for kind in frame]
        if 2 <= sum(len(w) for w in said if w != ",") <= MOST:
            yield said + [mark]


def syllables(words):
    """-> per word the syllables of its characters (tone as number), or None where one is not Mandarin's own."""
    read = [[w] if w in ",.?!" else lazy_pinyin(w, style=Style.TONE3, neutral_tone_with_five=True) for w in words]
    return read if all(len(r) == len(w) for r, w in zip(read, words)) else None
