"""Cases of tests/cases.md about connections, metrics and the life of the process that need the whole program; on TINY, a small
random model with the real vocabulary."""
import collections
import contextlib
import http.client
import json
import pathlib
import random
import select
import signal
import socket
import statistics
import string
import subprocess
import sys
import threading
import time

import pytest

from live_client import (Stream, WebSocket, close_by_reset, complete, completion, connect, golden_ids, in_background, open_files,
                         parse_exposition, request_bytes, token_ids)
from paceline_server import PacelineServer


# G: clients that are slow on purpose


def test_g08_slow_heads_are_closed_and_hold_up_nobody(tiny_model):
    with PacelineServer(tiny_model, http__header_timeout_ms=2000) as server:
        golden = golden_ids(server)
        begin = time.monotonic()
        golden_ids(server)
        normal = time.monotonic() - begin
        files = open_files(server)
        slow = [connect(server) for _ in range(100)]
        for connection in slow:
            connection.sendall(b"GET /health HTTP/1.1\r\nX-Slow: ")
        answers, deadline = {}, time.monotonic() + 30
        while len(answers) < len(slow):
            assert time.monotonic() < deadline, f"{len(slow) - len(answers)} connections are still open"
            for connection in set(slow) - set(answers):
                with contextlib.suppress(OSError):
                    connection.send(b"a")
            for connection in select.select(list(set(slow) - set(answers)), [], [], 0.2)[0]:
                with contextlib.suppress(OSError):
                    answers[connection] = b""
                    answers[connection] = connection.recv(4096)
            begin = time.monotonic()
            assert golden_ids(server) == golden
            assert time.monotonic() - begin < 2 * normal + 1
        for connection in slow:
            connection.close()

        assert {answer.split(b"\r\n")[0] for answer in answers.values() if answer} <= {b"HTTP/1.1 408 Request Timeout"}
        assert server.metric("paceline_http_timeouts_total", kind="header") == len(slow)
        server.wait_until(lambda: open_files(server) <= files, 5, "open files are back")


# W: WebSocket


CLIENT_TO_KILL = """
import sys
sys.path.insert(0, sys.argv[2])
from live_client import WebSocket
class Server:
    port = int(sys.argv[1])
socket = WebSocket(Server)
socket.create(input="Hello", max_output_tokens=3000, ignore_eos=True, temperature=0)
socket.read_until("response.output_text.delta")
print("running", flush=True)
socket.read_until("response.completed")
"""


@pytest.mark.parametrize("end", ["close", "rst", "fin"])
def test_w07_the_end_of_a_socket_cancels_its_work(tiny, end):
    client = WebSocket(tiny)
    client.create(input="Hello", max_output_tokens=3000, ignore_eos=True, temperature=0)
    client.read_until("response.output_text.delta")

    if end == "close":
        client.send(b"\x03\xe8", opcode=WebSocket.CLOSE)
        assert client.read_close() == 1000
    elif end == "fin":
        client.socket.shutdown(socket.SHUT_WR)
    else:
        client.close(reset=True)

    tiny.wait_at_rest(seconds=2)
    tiny.wait_until(lambda: tiny.metric("paceline_ws_connections") == 0, 2, "the socket is gone")
    client.close()


def test_w07_the_end_of_a_client_process_cancels_its_work(tiny):
    client = subprocess.Popen([sys.executable, "-c", CLIENT_TO_KILL, str(tiny.port), str(pathlib.Path(__file__).parent)],
                              stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "running\n"

    client.kill()
    client.wait()
    client.stdout.close()

    tiny.wait_at_rest(seconds=2)
    tiny.wait_until(lambda: tiny.metric("paceline_ws_connections") == 0, 2, "the socket is gone")


def test_w13_connecting_and_dropping_leaves_nothing_behind(tiny):
    golden = golden_ids(tiny)

    def drop(_):
        client = WebSocket(tiny)
        client.create(input="Hello", max_output_tokens=64, ignore_eos=True, temperature=0)
        client.close(reset=True)

    def thousand():
        with in_background(50) as clients:
            collections.deque(clients.map(drop, range(1000)), maxlen=0)
        tiny.wait_at_rest(seconds=30)
        tiny.wait_until(lambda: tiny.metric("paceline_ws_connections") == 0, 10, "no socket is open")
        return tiny.resident_bytes(), open_files(tiny)

    resident, files = thousand()
    resident_later, files_later = thousand()

    assert resident_later - resident < 5 * 1024 * 1024
    assert files_later <= files + 2
    assert golden_ids(tiny) == golden


# O: metrics and operations


def test_o01_the_exposition_is_valid_idle_and_after_requests(tiny):
    before, _ = parse_exposition(tiny.get("/metrics")[1])
    for i in range(50):
        complete(tiny, [100 + i], 3, stream=False)
    after, types = parse_exposition(tiny.get("/metrics")[1])

    assert set(before) == set(after), "no series appears with use"
    for series, value in before.items():
        family = series[0]
        if types.get(family) == "counter":
            assert after[series] >= value, f"a counter fell: {series}"
    model = next(labels for name, labels in after if name == "vllm:generation_tokens_total")
    assert after["vllm:generation_tokens_total", model] - before["vllm:generation_tokens_total", model] == 150


def test_o03_clients_cannot_create_series(tiny):
    dice = random.Random(13637)

    def word():
        return "".join(dice.choices(string.ascii_letters + string.digits, k=12))

    before, _ = parse_exposition(tiny.get("/metrics")[1])
    for i in range(1000):
        connection = http.client.HTTPConnection("127.0.0.1", tiny.port, timeout=30)
        body = {"model": word() if i % 3 else "default", "user": word(), "max_tokens": 1, word(): 1,
                "messages": [{"role": "user", "content": word()}],
                "tools": [{"type": "function", "function": {"name": word()}}], "tool_choice": "none" if i % 2 else word()}
        method, path = ("POST", "/v1/chat/completions") if i % 4 else (word().upper(), f"/{word()}/{word()}")
        connection.request(method, path, json.dumps(body), {"Authorization": f"Bearer {word()}", f"X-{word()}": word(),
                                                            "X-Request-Id": word(), "Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()
    text = tiny.get("/metrics")[1]
    after, _ = parse_exposition(text)

    assert len(after) <= len(before) + 10
    assert len(text) < 200_000


def test_o06_gauges_come_back_to_zero_and_are_never_negative(tiny_model):
    request = request_bytes("/v1/completions", completion([1, 2], 40, stream=True))
    with PacelineServer(tiny_model, scheduler__max_running=1) as server:
        negative, polls, ended = [], [0], threading.Event()

        def poll():
            while not ended.wait(0.01):
                series, types = parse_exposition(server.get("/metrics")[1])
                polls[0] += 1
                negative.extend(key for key, value in series.items() if types.get(key[0]) == "gauge" and value < 0)

        with in_background() as poller:
            polling = poller.submit(poll)
            try:
                for sent in range(1, len(request), len(request) // 12):  # while head and body are read
                    connection = connect(server)
                    connection.sendall(request[:sent])
                    close_by_reset(connection)
                    connection.close()
                for refused in ({"temperature": 9}, {"prompt": list(range(5000))}, {"model": "nope"}, {"timeout_ms": 1}):
                    server.post("/v1/completions", {**completion([1, 2], 3000), **refused})
                running = Stream(server, "/v1/completions", completion([1], 3000, stream=True))
                next(running.events())
                for reset in (False, True):  # in the queue
                    Stream(server, "/v1/completions", completion([2], 3000)).close(reset)
                running.close()
                for _ in range(3):  # while the prompt is computed
                    Stream(server, "/v1/completions", completion(list(range(3000)), 10)).close(reset=True)
                for num_events in (1, 2, 20, 42):  # first token, decode, after the end
                    stream = Stream(server, "/v1/completions", completion([3], 40, stream=True))
                    collections.deque(zip(range(num_events), stream.events()), maxlen=0)
                    stream.close(reset=True)
                server.wait_at_rest(seconds=2)
            finally:
                ended.set()
            polling.result(10)

        assert negative == []
        assert polls[0] > 3
        server.wait_until(lambda: server.metric("paceline_http_connections") == 1, 2, "only the scrape's own connection is open")
        for name in ("paceline_waiting_tokens", "paceline_tenant_running", "paceline_tenant_waiting", "paceline_ws_connections",
                     "paceline_engine_last_step_seconds", "vllm:kv_cache_usage_perc"):
            assert server.metric(name) == 0, name
        accepted = server.metric("paceline_requests_accepted_total")
        assert accepted == sum(server.metric("paceline_tenant_requests_total", outcome=o) for o in ("ok", "cancelled", "error"))


def test_o07_sigterm_lets_accepted_streams_end_in_full(tiny_model):
    server = PacelineServer(tiny_model)
    server.wait_ready()
    streams = [Stream(server, "/v1/completions", completion([41 + i], 3000, stream=True)) for i in range(3)]
    events = [stream.events() for stream in streams]
    read = [[next(own) for _ in range(20)] for own in events]

    server.process.send_signal(signal.SIGTERM)
    server.wait_until(lambda: server.get("/ready")[0] == 503, 5, "readiness says draining")
    health = server.get("/health")[0]
    refused = Stream(server, "/v1/completions", completion([1], 1)).head()
    with in_background(3) as clients:
        whole = [first + rest for first, rest in zip(read, clients.map(list, events))]

    assert health == 200
    assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1
    for own in whole:
        assert own[-1] == "[DONE]"
        assert len(token_ids(own)) == 3000
    assert server.process.wait(timeout=40) == 0
    server.stop()


def test_o11_health_and_metrics_answer_under_full_load(tiny):
    with in_background(8) as clients:
        load = [clients.submit(complete, tiny, list(range(5000 + 400 * i, 5300 + 400 * i)), 3000) for i in range(8)]
        tiny.wait_until(lambda: tiny.metric("vllm:num_requests_running") >= 4, 30, "the engine is busy")
        times = collections.defaultdict(list)
        for _ in range(20):
            for path in ("/health", "/ready", "/metrics"):
                begin = time.monotonic()
                assert tiny.get(path)[0] == 200
                times[path].append(time.monotonic() - begin)
        was_busy = not all(job.done() for job in load)
        for job in load:
            job.result(200)

    assert was_busy
    for path, taken in times.items():
        assert statistics.median(taken) < 0.2, path
