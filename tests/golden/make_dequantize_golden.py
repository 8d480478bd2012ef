#!/usr/bin/env python3
"""Writes dequantize.bin: random blocks of every tensor type and the float32 values that the gguf
Python package gives for them.

Usage: make_dequantize_golden.py OUT  (needs numpy and gguf; made with gguf 0.19)

Records, little endian: u32 type number, u32 bytes, u32 values, the blocks, the values as float32.
"""

import struct
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T, dequantize

TYPES = [T.F32, T.F16, T.BF16, T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K,
         T.Q6_K, T.IQ4_NL, T.IQ4_XS, T.IQ3_S]
# Byte offsets of the float16 fields in a block: random bits there may be NaN, whose sign bits differ
# between processors, so they get random finite values instead.
HALVES = {T.Q8_0: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q2_K: [80, 82],
          T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0], T.IQ4_XS: [0],
          T.IQ3_S: [0]}


def random_blocks(rng, kind):
    values, size = GGML_QUANT_SIZES[kind]
    count = max(4, 96 // values)
    if kind == T.F32:
        return rng.normal(0, 1, 96).astype(np.float32).view(np.uint8)
    if kind == T.BF16:
        return (rng.normal(0, 1, 96).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    if kind == T.F16:
        edge = np.array([0.0, -0.0, 6e-8, -6e-5, 65504, np.inf, -np.inf, 6.1e-5], np.float16)
        subnormal = rng.integers(1, 0x400, 88).astype(np.uint16).view(np.float16)
        normal = rng.normal(0, 1, 96).astype(np.float16)
        return np.concatenate([edge, subnormal, normal]).view(np.uint8)
    blocks = rng.integers(0, 256, (count, size)).astype(np.uint8)
    for offset in HALVES[kind]:
        blocks[:, offset:offset + 2] = rng.normal(0, 0.02, (count, 1)).astype(np.float16).view(np.uint8)
    return blocks.reshape(-1)


def main():
    rng = np.random.default_rng(20250101)
    with open(sys.argv[1], "wb") as out:
        for kind in TYPES:
            blocks = random_blocks(rng, kind)
            values = dequantize(blocks, kind).astype("<f4").reshape(-1)
            out.write(struct.pack("<III", int(kind), blocks.size, values.size))
            out.write(blocks.tobytes() + values.tobytes())


main()
