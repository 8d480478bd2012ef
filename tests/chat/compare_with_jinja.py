#!/usr/bin/env python3
"""Compares rendered prompts with the model file's own chat template under a real Jinja.

The other side is Jinja2 set up as Hugging Face's libraries do: trim_blocks, lstrip_blocks, and
tojson as json.dumps(ensure_ascii=False). Conversations: every short sequence of roles, then seeded
random ones with tools, calls, results, odd texts and odd JSON. Ends with 1 when a prompt differs.
"""

import argparse
import itertools
import json
import os
import random
import struct
import subprocess
import sys

import gguf
import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROLES = ["system", "user", "assistant", "tool"]
NUM_RANDOM = 1000
SEED = 20240602
TEXTS = ["", " ", "Hello", "Grüße\n\n", "你好，世界！", "😀\u200d", "<|im_end|>\n<|im_start|>system\n", "{{ x }}",
         "{% raw %}", "{\"a\": 1}", "'\"\\\\n", "\t x \r\n", "<tool_call>\n{}\n</tool_call>", "a\u0000b", "</tools>"]


def make_reference(path):
    source = gguf.GGUFReader(path).fields["tokenizer.chat_template"].contents()
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(source)


def expected_prompt(reference, case):
    prompt = reference.render(messages=case["messages"], tools=case["tools"] or None,
                              add_generation_prompt=case["generation"])
    if case["continue"]:
        end = "<|im_end|>\n"
        assert prompt.endswith(end)
        prompt = prompt[:-len(end)]
    return prompt


def random_text(rng):
    return "".join(rng.choice(TEXTS) for _ in range(rng.choice([0, 1, 1, 2, 3])))


def random_number(rng):
    return rng.choice([
        lambda: rng.randrange(-1000, 1000), lambda: rng.randrange(10**25), lambda: rng.uniform(-2, 2),
        lambda: rng.uniform(-1, 1) * 10.0 ** rng.randrange(-30, 30), lambda: float(rng.randrange(100)),
        lambda: 10.0 ** rng.randrange(-6, 20)])()


def random_json(rng, depth=3):
    kinds = ["text", "number", "word"] + (["list", "object", "object"] if depth else [])
    kind = rng.choice(kinds)
    if kind == "text":
        return random_text(rng)
    if kind == "number":
        return random_number(rng)
    if kind == "word":
        return rng.choice([True, False, None])
    if kind == "list":
        return [random_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {random_text(rng): random_json(rng, depth - 1) for _ in range(rng.randrange(4))}


def random_tool(rng, i):
    return {"type": "function", "function": {"name": f"tool_{i}", "description": random_text(rng),
                                             "parameters": random_json(rng)}}


def random_call(rng):
    """Arguments go to Jinja as a value; text that is not JSON goes as that text."""
    arguments = rng.choice([random_json(rng), {"city": "Paris"}, "not { json"])
    return {"type": "function", "function": {"name": f"tool_{rng.randrange(3)}", "arguments": arguments}}


def random_message(rng):
    message = {"role": rng.choice(ROLES), "content": random_text(rng)}
    if message["role"] == "assistant" and rng.random() < 0.5:
        message["tool_calls"] = [random_call(rng) for _ in range(rng.randrange(1, 4))]
        message["content"] = rng.choice([message["content"], None, ""])
    return message


def make_case(messages, tools=(), generation=True, continued=False):
    return {"messages": messages, "tools": list(tools), "generation": generation, "continue": continued}


def role_cases():
    """Every sequence of up to four roles, with and without a tool and a generation prompt."""
    tool = {"type": "function", "function": {"name": "now", "parameters": {}}}
    for length in range(1, 5):
        for roles in itertools.product(ROLES, repeat=length):
            messages = [{"role": role, "content": f"{role} {i}"} for i, role in enumerate(roles)]
            for tools, generation in (([], True), ([tool], True), ([], False)):
                yield make_case(messages, tools, generation)
            if roles[-1] == "assistant":
                yield make_case(messages, [], False, True)


def random_cases(rng):
    for _ in range(NUM_RANDOM):
        messages = [random_message(rng) for _ in range(rng.randrange(1, 9))]
        tools = [random_tool(rng, i) for i in range(rng.choice([0, 0, 1, 3]))]
        yield make_case(messages, tools, rng.random() < 0.7)


def number(value):
    return struct.pack("<I", value)


def string(text):
    data = text.encode()
    return number(len(data)) + data


def written_json(rng, value):
    """Writes a JSON text as some client might."""
    return json.dumps(value, ensure_ascii=rng.random() < 0.5,
                      separators=rng.choice([(",", ":"), (", ", ": "), (" ,\n", " : ")]))


def packed(rng, case):
    parts = [number(case["generation"] | case["continue"] << 1), number(len(case["tools"]))]
    parts += [string(json.dumps(tool, ensure_ascii=False, separators=(",", ":"))) for tool in case["tools"]]
    parts.append(number(len(case["messages"])))
    for message in case["messages"]:
        calls = [call["function"] for call in message.get("tool_calls", [])]
        parts += [number(ROLES.index(message["role"])), string(message["content"] or ""), number(len(calls))]
        for call in calls:
            is_broken = call["arguments"] == "not { json"
            text = call["arguments"] if is_broken else written_json(rng, call["arguments"])
            parts += [string(call["name"]), string(text)]
    return b"".join(parts)


def render(tool, model, cases):
    rng = random.Random(SEED)
    data = b"".join(packed(rng, case) for case in cases)
    out = subprocess.run([tool, model], input=data, stdout=subprocess.PIPE, check=True).stdout
    pos = 0
    while pos < len(out):
        length = struct.unpack_from("<I", out, pos)[0]
        yield out[pos + 4:pos + 4 + length].decode()
        pos += 4 + length


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", required=True, help="the render_file program")
    parser.add_argument("--model", default=os.environ.get("PACELINE_TEST_MODEL"), help="GGUF file")
    args = parser.parse_args()
    if not args.model:
        print("needs a model: PACELINE_TEST_MODEL is not set")
        return 77
    reference = make_reference(args.model)
    cases = [*role_cases(), *random_cases(random.Random(SEED))]
    prompts = list(render(args.tool, args.model, cases))
    if len(prompts) != len(cases):
        print(f"{len(prompts)} prompts came back for {len(cases)} conversations")
        return 1
    bad = 0
    for case, prompt in zip(cases, prompts):
        expected = expected_prompt(reference, case)
        if prompt != expected:
            bad += 1
            if bad <= 5:
                at = next((i for i, (a, b) in enumerate(zip(prompt, expected)) if a != b),
                          min(len(prompt), len(expected)))
                print(f"differs at {at}: ours {prompt[at:at + 60]!r}, theirs {expected[at:at + 60]!r}")
    print(f"{len(cases)} conversations, {bad} differ (Jinja2 {jinja2.__version__})")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
