#!/usr/bin/env python3
"""Compares the tokenizer's ids with those of the Hugging Face tokenizer of the same vocabulary.

The other side is `tokenizers` with the vocabulary, merges and added tokens of the model file and
Qwen2's normaliser and split pattern. Texts: documentation, licences and Python sources found on
this machine, Markdown, Chinese made of the vocabulary's own tokens, emoji, every assigned code
point, seeded random Unicode, the text of every token, and special tokens in odd places. Ends with
1 and the first differences when ids differ. --full takes all code points in all surroundings, all
tokens and more random text; --speed prints the megabytes per second instead.
"""

import argparse
import glob
import gzip
import itertools
import os
import random
import struct
import subprocess
import sys
import sysconfig
import unicodedata

import gguf
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

SPLIT_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTROL, USER_DEFINED, UNUSED = 3, 4, 5
SEED = 20240601
MEBIBYTE = 1 << 20


def read_vocabulary(path):
    """Returns tokens, types and merges of a GGUF file."""
    fields = gguf.GGUFReader(path).fields
    get = lambda name: fields[f"tokenizer.ggml.{name}"].contents()
    return get("tokens"), get("token_type"), [tuple(m.split(" ")) for m in get("merges")]


def make_reference(tokens, types, merges):
    """Builds the Hugging Face tokenizer as Qwen2's tokenizer.json describes it."""
    vocab = {t: i for i, t in enumerate(tokens) if types[i] not in (CONTROL, USER_DEFINED, UNUSED)}
    reference = Tokenizer(models.BPE(vocab, merges))
    reference.normalizer = normalizers.NFC()
    reference.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT_PATTERN), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    reference.decoder = decoders.ByteLevel()
    for kind, add in ((CONTROL, reference.add_special_tokens), (USER_DEFINED, reference.add_tokens)):
        for i, token in enumerate(tokens):
            if types[i] == kind:
                add([AddedToken(token, special=kind == CONTROL, normalized=False)])
    for i, token in enumerate(tokens):
        if types[i] in (CONTROL, USER_DEFINED):
            # Ids are dealt out in order of adding; texts with special tokens compare by these.
            assert reference.token_to_id(token) is not None
    return reference


def read_text(path, limit):
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            return file.read(limit).decode("utf-8", errors="ignore")
    except (OSError, EOFError):
        return ""


def collect(patterns, want_bytes, limit=200_000):
    """Reads files in a fixed order until there are `want_bytes` of text."""
    total = 0
    for path in sorted(itertools.chain.from_iterable(glob.iglob(p, recursive=True) for p in patterns)):
        if total >= want_bytes or not os.path.isfile(path):
            continue
        text = read_text(path, limit)
        total += len(text.encode())
        if text:
            yield text


def chinese(rng, tokens, want_bytes):
    """Text of random Chinese tokens of the vocabulary with Chinese punctuation."""
    to_byte = {c: b for b, c in byte_alphabet().items()}
    words = []
    for token in tokens:
        try:
            word = bytes(to_byte[c] for c in token).decode()
        except (KeyError, UnicodeDecodeError):
            continue
        if word and all("\u4e00" <= c <= "\u9fff" for c in word):
            words.append(word)
    total = 0
    while total < want_bytes:
        text = "".join(rng.choice(words) + rng.choice([""] * 6 + ["，", "。", "、", "：", "！\n", " "])
                       for _ in range(2000))
        total += len(text.encode())
        yield text


def byte_alphabet():
    """The character that byte-level BPE writes for every byte."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(0x100 + i) for i, b in enumerate(rest)}}


def emoji(rng):
    faces = [chr(c) for c in [*range(0x1F300, 0x1F700), *range(0x1F900, 0x1FAFF), *range(0x2600, 0x27C0)]]
    joins = ["", "", "", "\u200d", "\ufe0f", "\U0001F3FD", " ", "a", "\n", "\u20e3"]
    for _ in range(40):
        yield "".join(rng.choice(faces) + rng.choice(joins) for _ in range(500))


def code_points(rng, full):
    """Code points that are assigned or likely to be soon, and one in 16 of the others, between
    letters, marks and spaces: all of them in all surroundings, or one in 20 each."""
    chosen = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000
              and (c % 16 == 0 or c < 0x33000 or unicodedata.category(chr(c)) not in ("Cn", "Co"))]
    shapes = ("a{0}b {0}{0}1", "!{0}\n '{0} {0}", "e{0}\u0323\u0301'l{0}", "\u0345{0}\u0334")
    for shape in shapes:
        some = chosen if full else rng.sample(chosen, len(chosen) // 20)
        for start in range(0, len(some), 4096):
            yield "".join(shape.format(chr(c)) for c in some[start:start + 4096])


def random_unicode(rng, count):
    """Random characters from several pools, including planes without characters and marks."""
    marks = [chr(c) for c in range(0x110000) if unicodedata.combining(chr(c))]
    hangul = [chr(c) for c in [*range(0x1100, 0x1200), *range(0xAC00, 0xAD00)]]
    spaces = list("\t\n\v\f\r \x1c\x1f\x85\xa0\u1680\u180e\u2000\u200b\u2028\u2029\u202f\u205f\u3000\ufeff")
    ascii_ = [chr(c) for c in range(128)]
    anywhere = lambda: chr(rng.choice([*range(17)]) << 16 | rng.randrange(0xD800))
    pools = [lambda p=p: rng.choice(p) for p in (marks, hangul, spaces, ascii_, list("'sStTreveLld"))]
    for _ in range(count):
        draw = rng.choices([*pools, anywhere], weights=[rng.random() for _ in range(6)], k=1500)
        yield "".join(make() for make in draw)


def with_specials(rng, specials):
    """Special tokens whole, cut, nested and beside marks; the first form is parsed."""
    pieces = [*specials, *(s[:-1] for s in specials), *(s[1:] for s in specials), "<", "|>", "\u0301",
              "e", " ", "\n", "你好", "caf\u0065", "<tool", "_call>"]
    for _ in range(300):
        yield "".join(rng.choice(pieces) for _ in range(60))


def corpora(tokens, specials, full):
    """Yields (name, texts, whether special tokens are parsed)."""
    rng = random.Random(SEED)
    python_lib = sysconfig.get_path("stdlib")
    packages = sysconfig.get_path("purelib")
    english = ["/usr/share/common-licenses/*", "/usr/share/doc/**/copyright",
               "/usr/share/doc/**/NEWS*", "/usr/share/perl/**/*.pod"]
    yield "English", list(collect(english, MEBIBYTE)), False
    yield "code", list(collect([python_lib + "/*.py", "/usr/include/*.h"], 3 * MEBIBYTE // 2)), False
    yield "other languages", list(collect([python_lib + "/test/**/*.txt", "/usr/share/i18n/locales/*"],
                                          MEBIBYTE // 2)), False
    yield "Markdown", list(collect(["/usr/share/doc/**/*.md*", packages + "/**/*.md",
                                    packages + "/**/METADATA"], MEBIBYTE)), False
    yield "Chinese", list(chinese(rng, tokens, MEBIBYTE // 2)), False
    yield "emoji", list(emoji(rng)), False
    yield "code points", list(code_points(rng, full)), False
    yield "random Unicode", list(random_unicode(rng, 400 if full else 100)), False
    yield "special tokens as text", list(with_specials(rng, specials)), False
    yield "special tokens parsed", list(with_specials(rng, specials)), True
    yield "long words", ["A" * 43000, "a" * 65536, " " * 20000 + "x", "é" * 9999, "\n" * 5000,
                         "e" + "\u0301\u0323" * 3000, "".join(rng.choices("abcXYZ", k=30000))], False
    yield "tokens", token_texts(tokens)[::1 if full else 20], False


def token_texts(tokens):
    """The text of every token that is whole characters, each one alone."""
    to_byte = {c: b for b, c in byte_alphabet().items()}
    texts = []
    for token in tokens:
        try:
            texts.append(bytes(to_byte[c] for c in token).decode())
        except (KeyError, UnicodeDecodeError):
            continue
    return texts


def run_tool(tool, model, texts, parse, extra=()):
    records = []
    for text in texts:
        data = text.encode()
        records.append(struct.pack("<BI", int(parse), len(data)) + data)
    return subprocess.run([tool, model, *extra], input=b"".join(records), stdout=subprocess.PIPE,
                          check=True).stdout


def tool_ids(tool, model, texts, parse):
    out = run_tool(tool, model, texts, parse)
    numbers = struct.unpack(f"<{len(out) // 4}I", out)
    pos = 0
    for _ in texts:
        count = numbers[pos]
        yield list(numbers[pos + 1:pos + 1 + count])
        pos += 1 + count


def reference_ids(reference, texts, parse):
    reference.encode_special_tokens = not parse
    return [e.ids for e in reference.encode_batch(texts, add_special_tokens=False)]


def first_difference(text, ours, theirs):
    i = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    return f"    id {i}: ours {ours[i:i + 8]}, theirs {theirs[i:i + 8]}, text {text[:40]!r}"


def compare(args):
    tokens, types, merges = read_vocabulary(args.model)
    with_ids = {t: i for i, t in enumerate(tokens) if types[i] in (CONTROL, USER_DEFINED)}
    reference = make_reference(tokens, types, merges)
    plain = make_reference(tokens, [1 if t != UNUSED and i not in with_ids.values() else UNUSED
                                    for i, t in enumerate(types)], merges)
    to_file_id = {reference.token_to_id(t): i for t, i in with_ids.items()}
    total_bytes = total_texts = total_bad = 0
    print(f"tokenizers {tokenizers.__version__}")
    for name, texts, parse in corpora(tokens, sorted(with_ids), args.full):
        theirs = reference_ids(reference if parse else plain, texts, parse)
        num_bytes = sum(len(t.encode()) for t in texts)
        bad = []
        for text, a, b in zip(texts, tool_ids(args.tool, args.model, texts, parse), theirs):
            b = [to_file_id.get(i, i) for i in b]
            if a != b:
                bad.append(first_difference(text, a, b))
        print(f"{name}: {len(texts)} texts, {num_bytes} bytes, {len(bad)} differ")
        print("\n".join(bad[:5]), end="\n" if bad else "")
        total_bytes += num_bytes
        total_texts += len(texts)
        total_bad += len(bad)
    print(f"all: {total_texts} texts, {total_bytes} bytes, {total_bad} differ")
    if total_bytes < 3 * 10**6:
        print("less than 3 MB of text was found on this machine", file=sys.stderr)
        return 1
    return 1 if total_bad else 0


def measure(args):
    tokens, types, _ = read_vocabulary(args.model)
    specials = sorted(t for t, kind in zip(tokens, types) if kind in (CONTROL, USER_DEFINED))
    for name, texts, parse in corpora(tokens, specials, args.full):
        megabytes = sum(len(t.encode()) for t in texts) / 1e6
        seconds = float(run_tool(args.tool, args.model, texts, parse, ["--seconds"]))
        print(f"{name}: {megabytes:.2f} MB, {megabytes / seconds:.2f} MB/s")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, help="the tokenize_file program")
    parser.add_argument("--model", default=os.environ.get("PACELINE_TEST_MODEL"), help="GGUF file")
    parser.add_argument("--full", action="store_true", help="compare more text")
    parser.add_argument("--speed", action="store_true", help="measure instead of compare")
    args = parser.parse_args()
    if not args.model:
        print("needs a model: PACELINE_TEST_MODEL is not set")
        return 77
    return measure(args) if args.speed else compare(args)


if __name__ == "__main__":
    sys.exit(main())
