"""The promise of docs/architecture.md on the real model: the ids and log-probabilities of an answer depend on the request
alone. The same 32 requests are asked in every circumstance and compared for equality, not for closeness."""
import concurrent.futures
import random

import pytest

from paceline_server import PacelineServer

NUM_REQUESTS = 32
MAX_TOKENS = 24
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
    status, body = server.post("/v1/chat/completions", request, timeout=200)
    assert status == 200, body
    choice = body["choices"][0]
    scores = [(item["logprob"], [t["logprob"] for t in item["top_logprobs"]]) for item in choice["logprobs"]["content"]]
    return choice["token_ids"], scores, body["usage"]["prompt_tokens_details"]["cached_tokens"]


def ask_all(server, together=True):
    with concurrent.futures.ThreadPoolExecutor(NUM_REQUESTS if together else 1) as pool:
        return list(pool.map(lambda request: ask(server, request), requests()))


def assert_equal(answers, expected):
    for i, (answer, wanted) in enumerate(zip(answers, expected)):
        assert answer[0] == wanted[0], f"ids of request {i}"
        assert answer[1] == wanted[1], f"log-probabilities of request {i}"


@pytest.fixture(scope="module")
def alone(model_path):
    """Every request by itself, nothing in the cache."""
    with PacelineServer(model_path, cache__enabled="false") as server:
        return ask_all(server, together=False)


def test_all_together_and_again_with_a_warm_cache(model_path, alone):
    with PacelineServer(model_path) as server:
        cold = ask_all(server)
        warm = ask_all(server)

    assert_equal(cold, alone)
    assert_equal(warm, alone)
    assert sum(answer[2] for answer in warm) > sum(answer[2] for answer in cold)


@pytest.mark.parametrize("chunk", [16, 64, 512])
def test_any_chunk_size(model_path, alone, chunk):
    with PacelineServer(model_path, scheduler__max_chunk_tokens=chunk, cache__enabled="false") as server:
        assert_equal(ask_all(server), alone)


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads(model_path, alone, threads):
    with PacelineServer(model_path, compute__threads=threads, cache__enabled="false") as server:
        assert_equal(ask_all(server), alone)


def test_preemption_forced_by_a_small_pool(model_path, alone):
    with PacelineServer(model_path, kv__blocks=96, cache__enabled="false") as server:
        answers = ask_all(server)
        preemptions = server.metric("vllm:num_preemptions_total")

    assert preemptions > 0
    assert_equal(answers, alone)


@pytest.mark.parametrize("isa", ["avx2", "avx512_vnni"])
def test_any_instruction_set(model_path, alone, isa):
    flag = {"avx2": "avx2", "avx512_vnni": "avx512_vnni"}[isa]
    with open("/proc/cpuinfo", encoding="ascii") as info:
        if flag not in info.read():
            pytest.skip(f"needs {isa}")
    with PacelineServer(model_path, compute__isa=isa, cache__enabled="false") as server:
        assert_equal(ask_all(server), alone)
