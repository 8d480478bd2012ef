"""Cases of tests/cases.md about streams, scheduler, KV pool and prefix cache that need the whole program; on TINY, a small random
model with the real vocabulary.

Times are compared with runs of the same test on the same machine, with room for noise.
"""
import collections
import json
import random
import threading
import time

import pytest

from live_client import (Stream, complete, completion, gaps, golden_ids, in_background, median_gap, token_ids)
from paceline_server import PacelineServer

END_TOKENS = {"151643": -100, "151645": -100}
KV_SMALL_BLOCKS = 64


@pytest.fixture(scope="module")
def kv_small(tiny_model):
    """A pool of 64 blocks of 16 tokens below a context of 4 096."""
    with PacelineServer(tiny_model, kv__blocks=KV_SMALL_BLOCKS, kv__block_size=16) as running:
        yield running


# B: streams


@pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])
def test_b09_a_client_that_leaves_while_decoding_costs_nothing(tiny, reset):
    cancelled = tiny.metric("paceline_cancellations_total", cause="disconnect")
    stream = Stream(tiny, "/v1/completions", completion([1000, 1001], 3000, stream=True))
    events = stream.events()
    next(events), next(events)

    stream.close(reset)

    tiny.wait_at_rest(seconds=2)
    assert tiny.metric("paceline_cancellations_total", cause="disconnect") == cancelled + 1
    generated = tiny.metric("vllm:generation_tokens_total")
    golden_ids(tiny)
    assert tiny.metric("vllm:generation_tokens_total") <= generated + 8


def test_b11_a_slow_reader_costs_nothing_to_others(tiny):
    heavy = {"model": "default", "messages": [{"role": "user", "content": "Hello"}], "temperature": 0, "max_tokens": 3500,
             "ignore_eos": True, "stream": True, "logprobs": True, "top_logprobs": 20, "return_token_ids": True}
    whole = Stream(tiny, "/v1/chat/completions", heavy)
    expected = token_ids(whole.events())
    whole.close()
    alone = median_gap(tiny, [1, 2, 3], 200)
    tiny.wait_at_rest()
    resident = tiny.resident_bytes()

    pauses = tiny.metric("paceline_sched_decisions_total", decision="pause")
    slow = Stream(tiny, "/v1/chat/completions", heavy, receive_buffer=4096)
    tiny.wait_until(lambda: tiny.metric("paceline_sched_decisions_total", decision="pause") > pauses, 60, "the reader is paused")
    beside = median_gap(tiny, [1, 2, 3], 200)

    assert beside < 1.5 * alone + 0.002
    assert tiny.resident_bytes() - resident < 5 * 1024 * 1024
    assert token_ids(slow.events()) == expected, "a reader that comes back gets everything"
    slow.close()
    tiny.wait_at_rest()


def test_c13_choices_are_the_same_streamed_and_repeated(tiny):
    request = completion([5, 6, 7], 24, n=3, seed=7, temperature=1.2)
    first = [choice["token_ids"] for choice in complete(tiny, **request)["choices"]]
    second = [choice["token_ids"] for choice in complete(tiny, **request)["choices"]]
    stream = Stream(tiny, "/v1/completions", {**request, "stream": True})
    streamed, reasons, ends = collections.defaultdict(list), [], 0
    for event in stream.events():
        if event == "[DONE]":
            ends += 1
            continue
        for choice in json.loads(event)["choices"]:
            streamed[choice["index"]] += choice["token_ids"]
            reasons += [choice["finish_reason"]] if choice["finish_reason"] else []
    stream.close()

    assert first == second == [streamed[index] for index in range(3)]
    assert len({tuple(ids) for ids in first}) > 1
    assert (len(reasons), ends) == (3, 1)


# D: scheduler, KV pool, prefix cache


def scored(body):
    choice = body["choices"][0]
    return choice["token_ids"], choice["logprobs"]["token_logprobs"]


def test_d01_d03_cache_hits_change_nothing(tiny, tiny_model):
    long = list(range(1000, 1300))
    x, y, common = list(range(1000, 1016)), list(range(2000, 2016)), list(range(3000, 3032))
    prompts = {"long": long, "x": x + common, "y": y + common, "other": list(range(7000, 7048))}
    with PacelineServer(tiny_model, cache__enabled="false") as uncached:
        fresh = {name: complete(uncached, ids, 32, logprobs=1) for name, ids in prompts.items()}
        assert all(body["usage"]["prompt_tokens_details"]["cached_tokens"] == 0 for body in fresh.values())

    runs = [complete(tiny, long, 32, logprobs=1) for _ in range(3)]
    after_x = [complete(tiny, prompts[name], 32, logprobs=1) for name in ("x", "y")]
    with in_background(3) as clients:
        together = dict(zip(("x", "y", "other"), clients.map(lambda name: complete(tiny, prompts[name], 32, logprobs=1),
                                                             ("x", "y", "other"))))

    assert all(scored(run) == scored(fresh["long"]) for run in runs)
    assert all(run["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for run in runs[1:])
    assert scored(after_x[1]) == scored(fresh["y"])
    for name, body in together.items():
        assert scored(body) == scored(fresh[name]), name


def test_d07_a_mixed_soak_leaks_no_block(kv_small):
    golden = golden_ids(kv_small)
    dice = random.Random(20260911)
    plans = []
    for i in range(400):
        body = completion([dice.randrange(151643) for _ in range(dice.randint(1, 900))], dice.randint(1, 100),
                          n=dice.randint(1, 3), stream=dice.random() < 0.5)
        kind = dice.choices(["whole", "abort", "invalid"], [60, 30, 10])[0]
        if kind == "invalid":
            body.update(dice.choice([{"temperature": 9}, {"n": 0}, {"prompt": [-1]}, {"stop": [""]}]))
        plans.append((kind, body, dice.randint(0, 40)))

    def play(plan):
        kind, body, events_before_abort = plan
        stream = Stream(kv_small, "/v1/completions", body)
        try:
            if kind == "abort":
                if body["stream"] and events_before_abort > 0:
                    for _ in zip(range(events_before_abort), stream.events()):
                        pass
                return kind, None
            status = stream.head().status
            text = stream.head().read()
            assert kind == "invalid" or not body["stream"] or text.endswith(b"data: [DONE]\n\n")
            assert kind == "invalid" or b'"error"' not in text, text[-300:]
            return kind, status
        finally:
            stream.close(reset=events_before_abort % 2 == 0)

    with in_background(8) as clients:
        statuses = collections.Counter(clients.map(play, plans))

    assert {status for kind, status in statuses if kind == "whole"} == {200}
    assert {status for kind, status in statuses if kind == "invalid"} == {400}
    kv_small.wait_at_rest()
    resting = sum(kv_small.metric("paceline_kv_blocks", state=state) for state in ("cached", "free"))
    assert resting == KV_SMALL_BLOCKS
    assert golden_ids(kv_small) == golden


def test_d08_a_prompt_larger_than_the_pool_is_refused_at_once(kv_small):
    status, body = kv_small.post("/v1/completions", completion(list(range(2000)), 1), timeout=5)

    assert (status, body["error"]["code"]) == (400, "kv_capacity_exceeded")
    assert str(16 * KV_SMALL_BLOCKS) in body["error"]["message"]
    golden_ids(kv_small)


def test_d09_all_finish_when_the_pool_runs_out_while_decoding(kv_small):
    prompts = [list(range(1000 * i, 1000 * i + 200)) for i in range(1, 9)]
    begin = time.monotonic()
    alone = complete(kv_small, prompts[0], 400, logit_bias=END_TOKENS)
    solo = time.monotonic() - begin
    preemptions = kv_small.metric("vllm:num_preemptions_total")

    begin = time.monotonic()
    with in_background(8) as clients:
        bodies = list(clients.map(lambda ids: complete(kv_small, ids, 400, logit_bias=END_TOKENS), prompts))

    assert time.monotonic() - begin < 20 * solo + 5
    for body in bodies:
        assert body["choices"][0]["finish_reason"] == "length"
        assert body["usage"]["completion_tokens"] == 400
    assert bodies[0]["choices"][0]["token_ids"] == alone["choices"][0]["token_ids"]
    assert kv_small.metric("vllm:num_preemptions_total") > preemptions
    kv_small.wait_at_rest()


def test_d14_a_model_that_never_ends_stops_where_the_room_ends(kv_small):
    status, body = kv_small.post("/v1/chat/completions", {
        "model": "default", "temperature": 0, "logit_bias": END_TOKENS, "messages": [{"role": "user", "content": "Hello"}]})

    assert (status, body["choices"][0]["finish_reason"]) == (200, "length")
    assert body["usage"]["total_tokens"] == 16 * KV_SMALL_BLOCKS
    kv_small.wait_at_rest()


def test_d15_a_long_prompt_does_not_freeze_running_streams(tiny):
    chunk = 512
    begin = time.monotonic()
    complete(tiny, list(range(10000, 13500)), 1)
    prefill = time.monotonic() - begin
    solo = median_gap(tiny, [1, 2, 3], 300)
    victim = Stream(tiny, "/v1/completions", completion([11, 12, 13], 3000, stream=True))
    times, is_under_way = [], threading.Event()

    def watch():
        for _ in victim.events():
            times.append(time.monotonic())
            if len(times) == 50:
                is_under_way.set()

    def first_event(stream):
        next(stream.events())
        return time.monotonic()

    with in_background(3) as clients:
        watching = clients.submit(watch)
        assert is_under_way.wait(60)
        sent = time.monotonic()
        long = Stream(tiny, "/v1/completions", completion(list(range(20000, 23500)), 1, stream=True))
        long_first = clients.submit(first_event, long)
        short = Stream(tiny, "/v1/completions", completion([21, 22, 23], 1, stream=True))
        short_at, long_at = clients.submit(first_event, short).result(60), long_first.result(60)
        for stream in (long, short):
            stream.close()
        watching.result(60)
    victim.close()

    during = gaps([at for at in times if sent <= at <= long_at])
    assert len(during) > 3, "the victim went on"
    assert max(during) <= 4 * prefill * chunk / 3500 + 5 * solo + 0.05
    assert short_at < long_at


def test_d18_results_do_not_depend_on_the_batch(tiny):
    requests = [([31 + i] * (1 + 40 * (i % 4)), 16 + 8 * (i % 3)) for i in range(16)]
    alone = [scored(complete(tiny, prompt, max_tokens, logprobs=1, cache_salt="alone")) for prompt, max_tokens in requests]

    for size in (2, 4, 8, 16):
        with in_background(size) as clients:
            together = list(clients.map(
                lambda r: scored(complete(tiny, r[0], r[1], logprobs=1, cache_salt=f"batch {size}")), requests))
        assert together == alone, size
