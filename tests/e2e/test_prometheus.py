"""A real Prometheus scrapes the real server: rules load, and every panel of the dashboard has data."""
import json
import math
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from paceline_server import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
SCRAPE_S = 1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def promtool():
    return shutil.which("promtool") or pytest.skip("needs promtool (Debian package prometheus)")


@pytest.fixture(scope="module")
def prometheus(server, model, tmp_path_factory):
    """Query function of a Prometheus that has scraped the server before and after some traffic."""
    program = shutil.which("prometheus") or pytest.skip("needs prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    port = free_port()
    config = (DEPLOY / "prometheus.yml").read_text()
    config = config.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}").replace("scrape_interval: 5s",
                                                                                 f"scrape_interval: {SCRAPE_S}s")
    (folder / "prometheus.yml").write_text(config)
    shutil.copy(DEPLOY / "alerts.yml", folder)
    process = subprocess.Popen([program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def query(path, **parameters):
        url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def scraped():
        try:
            found = query("query", query="up{job='paceline'} == 1")["result"]
        except OSError:
            return False
        return bool(found)

    try:
        server.wait_until(scraped, 30, "Prometheus has scraped the server")
        for turn in range(2):  # the second one is found in the prefix cache
            server.post("/v1/chat/completions", {"model": model, "max_tokens": 16, "messages": [
                {"role": "user", "content": "Tell me about the history of lighthouses in Europe, please."}]})
        server.post("/v1/chat/completions", {"model": model, "temperature": 9, "messages": []})
        time.sleep(4 * SCRAPE_S)
        yield query
    finally:
        process.terminate()
        process.wait(timeout=20)


def panels():
    dashboard = json.loads((DEPLOY / "grafana/dashboards/paceline.json").read_text())
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]


def test_the_rules_load(promtool):
    run = subprocess.run([promtool, "check", "config", DEPLOY / "prometheus.yml"], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr


def test_the_alerts_fire_when_they_should(promtool):
    run = subprocess.run([promtool, "test", "rules", REPOSITORY / "tests/e2e/alerts_test.yml"], capture_output=True, text=True,
                         check=False)

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("title,expression", panels(), ids=lambda value: value if len(value) < 40 else "")
def test_every_panel_has_data(prometheus, title, expression):
    expression = expression.replace("$__rate_interval", "30s").replace("$instance", ".*")

    result = prometheus("query", query=expression)["result"]

    assert result, f"{title}: no series: {expression}"
    values = [float(series["value"][1]) for series in result]
    assert any(math.isfinite(value) for value in values), f"{title}: {values}"


def test_no_alert_fires_at_rest(prometheus):
    firing = [a for a in prometheus("alerts")["alerts"] if a["state"] == "firing"]

    assert firing == []


def test_the_exposition_passes_the_linter(server, promtool):
    text = server.get("/metrics")[1]

    run = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)

    # The names that dashboards know from vLLM have a colon, which the linter keeps for recording rules.
    complaints = [line for line in run.stderr.splitlines() if line and "metric names should not contain ':'" not in line]
    complaints = [line for line in complaints if not re.match(r"vllm:", line)]
    assert complaints == []
