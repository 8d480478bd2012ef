"""Compares greedy ids of the float form with qwen2_reference.py, a plain numpy forward pass.

The reference reads each prompt with the ids that paceline-greedy gave and says which id it likes best
after every prefix: when these are the same ids, it would have continued the prompt alike.
Exit code 77 (skipped) without a model: --model or PACELINE_TEST_MODEL.
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


def best_ids(model, prompt, ids):
    """Best id after the prompt, after the prompt and the first of the ids, and so on."""
    logits = model.forward(np.array(prompt + ids[:-1]), [])
    return [int(i) for i in logits[len(prompt) - 1 :].argmax(-1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=os.environ.get("PACELINE_TEST_MODEL"), help="GGUF file")
    parser.add_argument("--tool", required=True, help="paceline-greedy")
    parser.add_argument("--prompts", required=True, help="lines of token ids")
    parser.add_argument("--tokens", type=int, default=64)
    arguments = parser.parse_args()
    if not arguments.model:
        print("needs a model: PACELINE_TEST_MODEL is not set")
        return SKIPPED

    prompts = read_prompts(arguments.prompts)
    command = [arguments.tool, arguments.model, arguments.prompts, "--tokens", str(arguments.tokens)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    actual = [[int(i) for i in line.split()] for line in output.splitlines()]
    if len(actual) != len(prompts) or any(len(ids) != arguments.tokens for ids in actual):
        print("paceline-greedy did not continue every prompt")
        return 1
    model = Qwen2(arguments.model)
    num_equal = 0
    for prompt, ids in zip(prompts, actual):
        expected = best_ids(model, prompt, ids)
        num_equal += expected == ids
        if expected != ids:
            first = next(i for i in range(len(ids)) if ids[i] != expected[i])
            print(f"prompt {prompt}: id {first} is {ids[first]}, expected {expected[first]}")
    print(f"{num_equal} of {len(prompts)} prompts agree on {arguments.tokens} ids")
    return 0 if num_equal == len(prompts) else 1


if __name__ == "__main__":
    sys.exit(main())
