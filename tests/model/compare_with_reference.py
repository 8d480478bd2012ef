"""Compares greedy ids of the float form with qwen2_reference.py, a plain numpy forward pass.

Exit code 77 (skipped) without a model: --model or PACELINE_TEST_MODEL. With --write, prints the
lines of tests/golden/greedy_ids.txt instead of comparing.
"""
import argparse
import os
import subprocess
import sys

import numpy as np

from qwen2_reference import Qwen2

SKIPPED = 77


def read_prompts(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    return [[int(i) for i in line.split()] for line in lines]


def continue_greedily(model, prompt, count):
    cache = []
    last = model.forward(np.array(prompt), cache)[-1]
    out = []
    for _ in range(count):
        out.append(int(last.argmax()))
        last = model.forward(np.array(out[-1:]), cache)[-1]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=os.environ.get("PACELINE_TEST_MODEL"), help="GGUF file")
    parser.add_argument("--tool", help="paceline-greedy")
    parser.add_argument("--prompts", required=True, help="lines of token ids")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if not arguments.model:
        print("needs a model: PACELINE_TEST_MODEL is not set")
        return SKIPPED

    prompts = read_prompts(arguments.prompts)
    model = Qwen2(arguments.model)
    expected = [continue_greedily(model, prompt, arguments.tokens) for prompt in prompts]
    if arguments.write:
        for ids in expected:
            print(*ids)
        return 0
    del model
    command = [arguments.tool, arguments.model, arguments.prompts, "--tokens", str(arguments.tokens)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    actual = [[int(i) for i in line.split()] for line in output.splitlines()]
    failures = [i for i, ids in enumerate(expected) if i >= len(actual) or actual[i] != ids]
    for i in failures:
        print(f"prompt {i}: expected {expected[i]}\n  actual {actual[i] if i < len(actual) else None}")
    print(f"{len(expected) - len(failures)} of {len(expected)} prompts agree on {arguments.tokens} ids")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
