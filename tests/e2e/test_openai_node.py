"""The official Node client against the real model."""
import subprocess

import pytest

from paceline_server import REPOSITORY

MODULES = REPOSITORY / "build/test-node/node_modules"


def test_every_check_of_the_node_client_passes(server, model, tmp_path):
    node = MODULES / ".bin/node"
    if not node.exists():
        pytest.skip("needs the packages of tests/e2e/node (make test installs them)")
    # Node looks for packages beside the script.
    script = MODULES.parent / "openai_node.mjs"
    script.write_text((REPOSITORY / "tests/e2e/node/openai_node.mjs").read_text())

    run = subprocess.run([node, script, server.url + "/v1", model], capture_output=True, text=True, timeout=240, check=False)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("ok: ") == 7
