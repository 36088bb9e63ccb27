# SPDX-License-Identifier: Apache-2.0
"""Makes small tokenizers of every kind, texts in many scripts, and the library's token count for each.

    python make.py FOLDER      writes FOLDER/*.json and FOLDER/counts.json

Needs the tokenizers library (0.23). The files in this folder were written by it; a test in CI writes them again
and compares.
"""
import base64
import json
import random
import struct
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "The quick brown fox doesn't jump over the lazy dog; it's 3.14159 metres away, they're told.",
    "Memory runs out after 12,345 steps -- we'll see why. I'VE said so! 'Twas SHE'LL who knew.",
    "def forward(self, x):\n    return self.net(x) + 1e-5  # residual\n\n\tpass\r\n",
    "Grüße aus München: Straße, Äpfel, Öl, naïve café, İstanbul, Ærø, œuvre, ﬁne ﬂow.",
    "Быстрая лиса прыгает через ленивую собаку в 2024 году.",
    "Η γρήγορη αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.",
    "敏捷的棕色狐狸跳过了懒狗。内存不足，请减小批量大小！",
    "素早い茶色の狐がのろまな犬を飛び越える。メモリが足りません。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘는다. 메모리가 부족합니다.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول ١٢٣٤.",
    "השועל החום המהיר קופץ מעל הכלב העצלן.",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है १२३।",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ ๑๒๓",
    "🙂 emoji 👩‍👩‍👧‍👦 and flags 🇩🇪🇫🇷, keycaps 1️⃣ — dashes … “quotes” ‘single’",
    "e\u0301 combined, n\u0303o, A\u030a, \u1e9b\u0323, Ⅷ ½ ② x²  ﷺ",
    "   leading and trailing   ", "\ttabs\tand\u00a0no-break\u3000ideographic\u2003em\u200bzero",
    "a", "", " ", "\n\n\n", "    \n  \n x", "<s>[INST] hi [/INST]</s> <mask> <|im_start|>user\nhello<|im_end|>",
    "under_score camelCase HTTPServer v2.0.1-rc3 user@example.org https://example.org/?q=1&r=2#top",
    "supercalifragilisticexpialidocious" * 4, "x" * 300, "1234567890" * 5, "((((a+b)*c)-d)/e) == f && !g || h != ~i ^ j",
    "control\x01\x02\x7f chars \ufffd and \ufeff bom", "tofu 𓀀𓁐 𐍈 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ꙮ ᚠᛇᚻ",
    "<mask>", "a<mask> b <mask>c", "word<sep>word <sep> word", "UPPER<Low>lower <low>",
]


def texts():
    r = random.Random(14)
    words = sorted({w for s in SENTENCES for w in s.split(" ")})
    out = list(SENTENCES)
    for _ in range(150):
        out.append(r.choice(["", " ", "\n"]) + r.choice([" ", "  ", " ", "\n"]).join(r.choices(words, k=r.randint(1, 14))))
    ranges = [(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x5D0, 0x700), (0x900, 0xA00), (0x1E00, 0x2100), (0x3040, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0x1F600, 0x1F650)]
    for _ in range(150):
        low, high = r.choice(ranges)
        out.append("".join(r.choice([chr(r.randrange(low, high)), chr(r.randrange(0x20, 0x7F)), " "]) for _ in range(r.randint(1, 40))))
    return out


GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = (r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
         r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
         r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+""")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
BYTES = ["<0x%02X>" % b for b in range(256)]


def trained(model, trainer, normalizer=None, pre=None, post=None, added=()):
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(SENTENCES * 3, trainer)
    if post:
        t.post_processor = post(t)
    for a in added:
        (t.add_special_tokens if a.special else t.add_tokens)([a])
    return t


def bpe(pre, normalizer=None, post=None, added=(), size=700, **more):
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return trained(models.BPE(**more), trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False), normalizer, pre, post, added)


def byte_level(pattern, **more):
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False)
    return bpe(pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), **more)


def template(single, *names):
    return lambda t: processors.TemplateProcessing(single=single, special_tokens=[(n, t.token_to_id(n)) for n in names])


def fallback(normalizer, pre, added=(), unk="<unk>"):
    """BPE with byte fallback: bytes are added to the vocabulary after training."""
    alphabet = sorted(set("▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"))
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=["<unk>", "<s>", "</s>"] + BYTES, limit_alphabet=80, initial_alphabet=alphabet, show_progress=False)
    t = trained(models.BPE(unk_token=unk, fuse_unk=True, byte_fallback=True), trainer, normalizer, pre, template("<s> $A", "<s>"), added)
    d = json.loads(t.to_str())
    d["added_tokens"] = [a for a in d["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(d))


def unigram(normalizer, pre, post=None, byte_fallback=False):
    special = ["<unk>", "<s>", "</s>", "<pad>"] + (BYTES if byte_fallback else [])
    t = trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=400 + len(special), special_tokens=special, unk_token="<unk>", show_progress=False), normalizer, pre, post)
    d = json.loads(t.to_str())
    d["model"]["byte_fallback"] = byte_fallback
    d["added_tokens"] = [a for a in d["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(d))


def charsmap(pairs):
    """A SentencePiece charsmap: a double array of the keys' bytes, and their replacements."""
    blob, values = b"", {}
    for key, text in pairs.items():
        values[key.encode()] = len(blob)
        blob += text.encode() + b"\0"
    units, used = {0: 0}, {0}

    def children(prefix):
        return sorted({k[len(prefix)] for k in values if k.startswith(prefix) and len(k) > len(prefix)})

    def place(node, prefix):
        labels = ([0] if prefix in values else []) + children(prefix)
        base = 1
        while any((base ^ c) in used or (base ^ c) == 0 for c in labels):
            base += 1
        offset = node ^ base
        units[node] = units.get(node, 0) & ~(((1 << 22) - 1) << 10) | offset << 10
        for c in labels:
            used.add(base ^ c)
        if prefix in values:
            units[base] = values[prefix] | 1 << 31
            units[node] |= 1 << 8
        for c in children(prefix):
            units[base ^ c] = c
            place(base ^ c, prefix + bytes([c]))

    place(0, b"")
    size = (max(used) | 255) + 1
    array = struct.pack("<%dI" % size, *[units.get(i, 0) for i in range(size)])
    return struct.pack("<I", len(array)) + array + blob


PAIRS = {"ﬁ": "fi", "ﬂ": "fl", "½": "1/2", "²": "2", "②": "2", "Ⅷ": "VIII", "\u3000": " ", "\u00a0": " ", "\u2003": " ", "\t": " ", "\n": " ", "…": "...",
         "e\u0301": "é", "n\u0303": "ñ", "A\u030a": "Å", "\u200b": " ", "“": '"', "”": '"', "\x01": "", "。": ".", "！": "!", "가": "가"}

MASK = AddedToken("<mask>", lstrip=True, special=True, normalized=False)
ADDED = [MASK, AddedToken("<sep>", rstrip=True, special=False, normalized=True), AddedToken("<Low>", special=False, normalized=True),
         AddedToken("word", single_word=True, special=False, normalized=False), AddedToken("<|im_start|>", special=True, normalized=False),
         AddedToken("<|im_end|>", special=True, normalized=False)]


def kinds():
    level, meta = pre_tokenizers.ByteLevel, pre_tokenizers.Metaspace
    wordpiece = lambda **m: dict(model=models.WordPiece(unk_token="[UNK]", **m), trainer=trainers.WordPieceTrainer(vocab_size=500, special_tokens=["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=200, show_progress=False))
    bert = template("[CLS] $A [SEP]", "[CLS]", "[SEP]")
    yield "gpt2", bpe(level(add_prefix_space=False))
    yield "roberta", bpe(level(add_prefix_space=True), post=lambda t: processors.RobertaProcessing(("a", 0), ("b", 1)), added=ADDED)
    yield "llama3", byte_level(LLAMA3, added=ADDED[4:], post=lambda t: processors.Sequence([processors.ByteLevel(), template("<a> $A", "<a>")(added(t, "<a>"))]))
    yield "qwen2", byte_level(QWEN2, normalizer=normalizers.NFC(), added=ADDED[4:])
    yield "o200k", byte_level(O200K)
    yield "ignore_merges", byte_level(GPT2, ignore_merges=True)
    deepseek = [pre_tokenizers.Split(Regex(p), behavior="isolated", invert=False) for p in DEEPSEEK]
    yield "deepseek", bpe(pre_tokenizers.Sequence(deepseek + [level(add_prefix_space=False, use_regex=False)]))
    yield "starcoder", bpe(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level(add_prefix_space=False)]))
    yield "llama2", fallback(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None, ADDED[:3])
    yield "mistral", fallback(None, meta(prepend_scheme="first", split=False), ADDED[:1])
    yield "gemma", fallback(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", behavior="merged_with_previous"))
    yield "clip", trained(models.BPE(unk_token="<u>", end_of_word_suffix="</w>"), trainers.BpeTrainer(vocab_size=500, special_tokens=["<u>"], end_of_word_suffix="</w>", limit_alphabet=90, show_progress=False),
                          normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]), pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), behavior="removed", invert=True))
    yield "bpe_prefix", trained(models.BPE(unk_token="<u>", continuing_subword_prefix="##"), trainers.BpeTrainer(vocab_size=500, special_tokens=["<u>"], continuing_subword_prefix="##", limit_alphabet=90, show_progress=False), None, pre_tokenizers.Whitespace())
    yield "bert_uncased", trained(**wordpiece(), normalizer=normalizers.BertNormalizer(), pre=pre_tokenizers.BertPreTokenizer(), post=bert, added=ADDED)
    yield "bert_cased", trained(**wordpiece(max_input_chars_per_word=20), normalizer=normalizers.BertNormalizer(lowercase=False), pre=pre_tokenizers.BertPreTokenizer(), post=bert)
    yield "wordpiece", trained(**wordpiece(), normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()]), pre=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(), pre_tokenizers.Digits()]))
    yield "wordlevel", trained(models.WordLevel(unk_token="<u>"), trainers.WordLevelTrainer(vocab_size=100, special_tokens=["<u>"], show_progress=False), normalizers.NFKD(), pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.Punctuation("contiguous")]))
    nmt = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    yield "unigram", unigram(nmt, meta())
    yield "t5", unigram(normalizers.Precompiled(charsmap(PAIRS)), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta()]), template("$A </s>", "</s>"))
    yield "xlm", unigram(normalizers.Sequence([normalizers.Precompiled(charsmap(PAIRS)), normalizers.Replace(Regex(" {2,}"), " ")]), meta(prepend_scheme="never"), template("<s> $A </s>", "<s>", "</s>"), True)


def added(t, *names):
    t.add_special_tokens(list(names))
    return t


def main(folder):
    all_texts, counts = texts(), {}
    for name, t in kinds():
        t.save("%s/%s.json" % (folder, name), pretty=False)
        t = Tokenizer.from_file("%s/%s.json" % (folder, name))
        counts[name] = [len(t.encode(x).ids) for x in all_texts]
    with open(folder + "/counts.json", "w") as f:
        json.dump({"texts": all_texts, "counts": counts}, f)


if __name__ == "__main__":
    main(sys.argv[1])
