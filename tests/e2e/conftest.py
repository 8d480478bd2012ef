"""Fixtures of the end-to-end tests: the real program on the real model."""
import os

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
