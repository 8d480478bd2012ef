"""What `paceline serve` and `paceline pack` do when something is wrong at the start: one clear line, a non-zero exit."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

from paceline_server import PROGRAM, PacelineServer

CONFIG_STATUS, RUN_STATUS = 2, 1
PLAIN_ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PACELINE_")}


def run(*arguments, seconds=60):
    """Returns (status, standard error) of a program that is expected to end by itself."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=seconds, check=False,
                          env=PLAIN_ENVIRONMENT)
    return done.returncode, done.stderr


def assert_one_line(result, status, *words):
    returned, text = result
    lines = text.strip().splitlines()
    assert returned == status, text
    assert len(lines) == 1, text
    assert lines[0].startswith("paceline: "), text
    for word in words:
        assert word in lines[0], text


@pytest.fixture(autouse=True)
def needs_program(model_path):
    """All tests here run the program; most open the real model."""


def test_a_port_in_use_is_named(model_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert_one_line(run("serve", "--model", model_path, "--port", port, "--set", "log.file=/dev/null"), RUN_STATUS,
                        f"127.0.0.1:{port}", "in use")


def test_an_open_address_without_keys_is_refused(model_path):
    assert_one_line(run("serve", "--model", model_path, "--host", "0.0.0.0", "--port", 0, "--set", "log.file=/dev/null"),
                    RUN_STATUS, "0.0.0.0", "loopback")


@pytest.mark.parametrize("arguments,words", [
    (["serve"], ["no model"]),
    (["serve", "--model", "{model}", "--set", "http.prot=1"], ["unknown key", "http.prot"]),
    (["serve", "--model", "{model}", "--threads", "-1"], ["compute.threads"]),
    (["serve", "--model", "{model}", "--set", "kv.block_size=20"], ["kv.block_size", "20"]),
    (["serve", "--model", "{model}", "--set", "compute.isa=avx1"], ["compute.isa", "avx1"]),
    (["serve", "--model", "{model}", "--config", "/nonexistent.toml"], ["/nonexistent.toml"]),
])
def test_a_wrong_configuration_is_one_line(model_path, arguments, words):
    result = run(*[a.replace("{model}", model_path) for a in arguments])

    assert_one_line(result, CONFIG_STATUS, *words)


def test_a_pool_too_small_for_a_block_is_refused(model_path, tmp_path):
    # 1 MiB is the smallest that the key takes; a block of 64 tokens in f32 needs more.
    status, text = run("serve", "--model", model_path, "--port", 0, "--set", "kv.memory_bytes=1048576", "--set",
                       "kv.block_size=64", "--set", "kv.dtype=f32", "--set", "log.file=/dev/null", "--set",
                       f"model.cache_dir={pathlib.Path(model_path).parent}")

    assert status != 0
    assert [line for line in text.splitlines() if "kv.memory_bytes" in line], text


def test_several_configuration_errors_come_at_once(model_path):
    status, text = run("serve", "--model", model_path, "--set", "a.b=1", "--set", "http.port=x", "--threads", "-2")

    assert status == CONFIG_STATUS
    assert len(text.strip().splitlines()) == 3, text


@pytest.mark.parametrize("cut", [0, 3, 100, 1_000_000, -4096])
def test_a_truncated_model_is_refused(model_path, tmp_path, cut):
    target = tmp_path / "cut.gguf"
    size = pathlib.Path(model_path).stat().st_size
    shutil.copy(model_path, target)
    os.truncate(target, cut if cut >= 0 else size + cut)

    assert_one_line(run("serve", "--model", target, "--port", 0, seconds=20), RUN_STATUS, "cut.gguf")


def test_a_model_of_another_architecture_is_refused(model_path, tmp_path):
    target = tmp_path / "other.gguf"
    data = pathlib.Path(model_path).read_bytes()
    target.write_bytes(data.replace(b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0qwen2",
                                    b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0gemma", 1))

    assert_one_line(run("serve", "--model", target, "--port", 0, seconds=20), RUN_STATUS, "other.gguf", "gemma", "qwen2")


@pytest.mark.parametrize("path", ["/nonexistent.gguf", "/dev/zero", "/tmp"])
def test_something_that_is_no_model_is_refused(path):
    assert_one_line(run("serve", "--model", path, "--port", 0, seconds=10), RUN_STATUS, path)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("command", [["pack"], ["serve", "--port", "0", "--set", "log.file=/dev/null"]], ids=["pack", "serve"])
def test_a_full_disk_while_packing_is_named(model_path, small_disk, command):
    status, text = run(*command, "--model", model_path, "--set", f"model.cache_dir={small_disk}", seconds=120)

    complaints = [line for line in text.splitlines() if "packing weights" not in line]
    assert status == RUN_STATUS, text
    assert len(complaints) == 1 and "No space left" in complaints[0] and str(small_disk) in complaints[0], text
    assert [p for p in small_disk.iterdir() if not p.name.endswith(".lock")] == [], "the unfinished file is removed"


def test_a_folder_that_cannot_be_written_only_costs_a_warning(model_path):
    with PacelineServer(model_path, model__cache_dir="/proc") as server:
        lines = server.log_lines()

    assert [line for line in lines if line["level"] == "warn" and "/proc" in line.get("message", "")]


def test_a_damaged_cache_is_made_anew(model_path, tmp_path):
    assert run("pack", "--model", model_path, "--set", f"model.cache_dir={tmp_path}", seconds=120)[0] == 0
    cache = next(p for p in tmp_path.iterdir() if p.name.endswith(".paceline"))
    with open(cache, "r+b") as file:
        file.seek(cache.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))

    with PacelineServer(model_path, model__cache_dir=tmp_path) as server:
        ready = [line for line in server.log_lines() if line["event"] == "ready"]

    assert ready[0]["packed_because"]
    assert run("pack", "--model", model_path, "--set", f"model.cache_dir={tmp_path}", seconds=120)[0] == 0


def test_two_servers_started_at_once_share_one_cache(model_path, tmp_path):
    servers = [PacelineServer(model_path, model__cache_dir=tmp_path) for _ in range(2)]
    try:
        for server in servers:
            server.wait_ready()
        made = [next(line for line in s.log_lines() if line["event"] == "ready")["packed_because"] for s in servers]
    finally:
        statuses = [server.stop() for server in servers]

    assert sum(bool(reason) for reason in made) == 1, made
    assert statuses == [0, 0]


def test_liveness_and_readiness_answer_while_the_model_loads(model_path, tmp_path):
    server = PacelineServer(model_path, model__cache_dir=tmp_path)  # packs, so loading takes a while
    try:
        assert server.get("/health") == (200, '{"status":"ok"}')
        assert server.get("/ready") == (503, '{"status":"loading"}')
        status, body = server.post("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": "x"}]})
        assert (status, body["error"]["code"]) == (503, "model_loading")
        server.wait_ready()
    finally:
        assert server.stop() == 0


def test_a_signal_while_loading_ends_at_once_and_leaves_no_file(model_path, tmp_path):
    server = PacelineServer(model_path, model__cache_dir=tmp_path)
    begin = time.monotonic()

    assert server.stop() == 0
    assert time.monotonic() - begin < 10
    assert [p for p in tmp_path.iterdir() if not p.name.endswith(".lock")] == []


def test_a_second_signal_ends_at_once_with_an_error(model_path):
    with PacelineServer(model_path) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as stream:
            body = (b'{"model":"default","stream":true,"max_tokens":4000,"ignore_eos":true,'
                    b'"messages":[{"role":"user","content":"Write a long story."}]}')
            stream.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert stream.recv(100)
            server.process.send_signal(signal.SIGTERM)
            server.wait_until(lambda: server.get("/ready")[0] == 503, 5, "draining")
            server.process.send_signal(signal.SIGTERM)

            assert server.process.wait(timeout=5) == 1
