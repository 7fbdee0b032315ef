"""WordPiece tokenizer of the small model: letters, common English graphemes, their "##" continuations, ChatTTS's special tokens,
and one Chinese character for each toned syllable."""

import os

import syllables_zh

SPECIAL = (
    "[Sasr] [Pasr] [Easr] [Stts] [Ptts] [Etts] [Sbreak] [Pbreak] [Ebreak] [uv_break] [v_break] "
    "[lbreak] [llbreak] [undefine] [laugh] [spk_emb] [empty_spk] [music] [pure]"
).split()
SPECIAL += [f"[break_{i}]" for i in range(8)] + [f"[laugh_{i}]" for i in range(3)]
SPECIAL += [f"[oral_{i}]" for i in range(10)] + [f"[speed_{i}]" for i in range(10)]
BASIC = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
GRAPHEMES = (
    """th sh ch ph wh ck ng qu ee ea oo ou ow ai ay oi oy au aw igh tion sion er ar or ir ur kn wr tch dge ll ss tt ff
rr nn mm pp cc dd gg bb ie ei ey ew ue oa ough ould eigh air ear our ture sch mb""".split()
)
KEPT_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def vocabulary():
    tokens = BASIC + list(",.?!'-:;\"") + list("0123456789") + ["##" + c for c in "0123456789"]
    units = [chr(ord("a") + i) for i in range(26)] + GRAPHEMES
    tokens += units + ["##" + u for u in units]
    tokens += list(syllables_zh.table())  # Mandarin: one character for each syllable
    return {token: i for i, token in enumerate(tokens)}


def build(outdir=None):
    """The tokenizer; with outdir also its files."""
    from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import BertTokenizerFast

    vocab = vocabulary()
    model = WordPiece(vocab, unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
    )
    for tokens in (BASIC, SPECIAL):
        tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in tokens])
    fast = BertTokenizerFast(
        tokenizer_object=tokenizer,
        do_lower_case=True,
        unk_token="[UNK]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        mask_token="[MASK]",
        model_max_length=10**30,
        additional_special_tokens=list(SPECIAL),
    )
    if outdir:
        os.makedirs(outdir, exist_ok=True)
        fast.save_pretrained(outdir, legacy_format=False)
        for name in os.listdir(outdir):
            if name not in KEPT_FILES:
                os.remove(os.path.join(outdir, name))
    return fast
