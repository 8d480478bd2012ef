"""Fixtures of the end-to-end tests: the real program on the real model, or on a small random one."""
import os
import subprocess

import openai
import pytest

from paceline_server import PROGRAM, PacelineServer


@pytest.fixture(scope="session")
def model_path():
    path = os.environ.get("PACELINE_TEST_MODEL")
    if not path:
        pytest.skip("needs PACELINE_TEST_MODEL, the path of a Qwen2.5 file")
    if not PROGRAM.exists():
        pytest.skip(f"needs {PROGRAM}")
    return path


@pytest.fixture(scope="session")
def server(model_path):
    with PacelineServer(model_path) as running:
        yield running


@pytest.fixture(scope="session")
def model(server):
    """The served id."""
    import json

    return json.loads(server.get("/v1/models")[1])["data"][0]["id"]


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url + "/v1", api_key="unused-on-loopback", max_retries=0, timeout=60) as sdk:
        yield sdk


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """Path of TINY, a small random model with the vocabulary of the real one: given, or made from that."""
    if not PROGRAM.exists():
        pytest.skip(f"needs {PROGRAM}")
    if os.environ.get("PACELINE_TINY_MODEL"):
        return os.environ["PACELINE_TINY_MODEL"]
    real, maker = os.environ.get("PACELINE_TEST_MODEL"), os.environ.get("PACELINE_MAKE_TINY")
    if not real or not maker:
        pytest.skip("needs PACELINE_TINY_MODEL, or PACELINE_TEST_MODEL and PACELINE_MAKE_TINY, the program that makes one")
    path = tmp_path_factory.mktemp("tiny") / "tiny.gguf"
    subprocess.run([maker, "--vocab-from", real, "--out", path], check=True, timeout=120)
    return path


@pytest.fixture(scope="module")
def tiny(tiny_model):
    with PacelineServer(tiny_model) as running:
        yield running
