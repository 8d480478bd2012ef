"""The promise of docs/architecture.md on the real model: the ids and log-probabilities of an answer depend on the request
alone. The same 32 requests are asked in every circumstance and compared for equality, not for closeness."""
import concurrent.futures
import random

import pytest

from paceline_server import PacelineServer

NUM_REQUESTS = 32
MAX_TOKENS = 16
WORDS = ("river lantern copper window orchard signal thunder velvet harbor candle meadow engine silver garden "
         "mountain letter winter bridge 天气 学习 def return class import").split()


def requests():
    """Prompts of 5 to 400 words, a third of them sampled with a seed."""
    random_source = random.Random(20250101)
    made = []
    for i in range(NUM_REQUESTS):
        words = [random_source.choice(WORDS) for _ in range(random_source.choice([5, 20, 60, 150, 400]))]
        made.append({"model": "default", "messages": [{"role": "user", "content": "Continue: " + " ".join(words)}],
                     "max_tokens": MAX_TOKENS, "temperature": 1.0 if i % 3 == 0 else 0, "seed": 1000 + i, "ignore_eos": True,
                     "logprobs": True, "top_logprobs": 2, "return_token_ids": True})
    return made


def ask(server, request):
    status, body = server.post("/v1/chat/completions", request, timeout=400)
    assert status == 200, body
    choice = body["choices"][0]
    scores = [(item["logprob"], [t["logprob"] for t in item["top_logprobs"]]) for item in choice["logprobs"]["content"]]
    return choice["token_ids"], scores, body["usage"]["prompt_tokens_details"]["cached_tokens"]


def ask_all(server, asked=None, together=True):
    with concurrent.futures.ThreadPoolExecutor(NUM_REQUESTS if together else 1) as pool:
        return list(pool.map(lambda request: ask(server, request), asked or requests()))


def assert_equal(answers, expected):
    for i, (answer, wanted) in enumerate(zip(answers, expected)):
        assert answer[0] == wanted[0], f"ids of request {i}"
        assert answer[1] == wanted[1], f"log-probabilities of request {i}"


def serve(model_path, **settings):
    """A server without a prefix cache, patient enough for a slow machine, with some keys set otherwise."""
    return PacelineServer(model_path, **{"cache__enabled": "false", "scheduler__queue_timeout_ms": 600000, **settings})


@pytest.fixture(scope="module")
def alone(model_path):
    """Every request by itself, nothing in the cache."""
    with serve(model_path) as server:
        return ask_all(server, together=False)


def test_all_together_and_again_with_a_warm_cache(model_path, alone):
    with serve(model_path, cache__enabled="true") as server:
        cold = ask_all(server)
        warm = ask_all(server)

    assert_equal(cold, alone)
    assert_equal(warm, alone)
    assert sum(answer[2] for answer in warm) > sum(answer[2] for answer in cold)


@pytest.mark.parametrize("chunk", [16, 64, 512])
def test_any_chunk_size(model_path, alone, chunk):
    with serve(model_path, scheduler__max_chunk_tokens=chunk) as server:
        assert_equal(ask_all(server), alone)


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads(model_path, alone, threads):
    with serve(model_path, compute__threads=threads) as server:
        assert_equal(ask_all(server), alone)


def test_preemption_forced_by_a_small_pool(model_path):
    # Eight sequences that grow to about 15 blocks each, on 40 blocks.
    growing = [{**request, "messages": [{"role": "user", "content": f"Tell story number {i}."}], "max_tokens": 160}
               for i, request in enumerate(requests()[:8])]
    with serve(model_path) as server:
        undisturbed = ask_all(server, growing, together=False)
    with serve(model_path, kv__blocks=40) as server:
        answers = ask_all(server, growing)
        preemptions = server.metric("vllm:num_preemptions_total")

    assert preemptions > 0
    assert_equal(answers, undisturbed)


@pytest.mark.parametrize("isa", ["avx2", "avx512_vnni"])
def test_any_instruction_set(model_path, alone, isa):
    with open("/proc/cpuinfo", encoding="ascii") as info:
        if isa not in info.read():
            pytest.skip(f"needs {isa}")
    few = requests()[:8]  # the slower sets take several seconds a request
    with serve(model_path, compute__isa=isa) as server:
        assert_equal(ask_all(server, few), alone[:len(few)])
