"""Starts and stops the real program for the end-to-end tests."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("PACELINE_PROGRAM") or REPOSITORY / "build/release/paceline")
READY_TIMEOUT_S = 120


class PacelineServer:
    """One running `paceline serve` on a port of the system's choice; a context manager."""

    def __init__(self, model, *flags, weights="int8", **settings):
        self.folder = tempfile.TemporaryDirectory(prefix="paceline-e2e-")
        self.log_path = pathlib.Path(self.folder.name) / "log.jsonl"
        command = [str(PROGRAM), "serve", "--model", str(model), "--weights", weights, "--port", "0",
                   "--set", f"log.file={self.log_path}", *flags]
        for key, value in settings.items():
            command += ["--set", f"{key.replace('__', '.')}={value}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={k: v for k, v in os.environ.items() if not k.startswith("PACELINE_")})
        self.banner = ""
        self.port = self._read_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.wait_ready()
        return self

    def __exit__(self, *_):
        self.stop()

    def _read_port(self):
        for line in self.process.stdout:
            self.banner += line
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found.group(1))
        raise AssertionError(f"paceline ended: {self.process.wait()}: {self.process.stderr.read()}")

    def get(self, path, timeout=10):
        """Returns (status, body text) of a GET."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def post(self, path, body, timeout=60):
        """Returns (status, parsed JSON) of a POST."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def wait_ready(self):
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"paceline ended: {self.process.returncode}: {self.process.stderr.read()}")
            if self.get("/ready")[0] == 200:
                return
            time.sleep(0.05)
        raise AssertionError("paceline did not become ready")

    def metric(self, name, **labels):
        """Returns the sum of a family's samples whose labels contain the given ones."""
        total = 0.0
        for line in self.get("/metrics")[1].splitlines():
            found = re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", line)
            if found and found.group(1) == name:
                has = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found.group(2) or ""))
                if all(has.get(k) == v for k, v in labels.items()):
                    total += float(found.group(3))
        return total

    def wait_until(self, condition, seconds, what):
        """Polls a condition; fails with `what` when it does not hold in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.05)

    def wait_at_rest(self, seconds=10):
        self.wait_until(lambda: self.metric("vllm:num_requests_running") == 0 and
                        self.metric("vllm:num_requests_waiting") == 0 and
                        self.metric("paceline_kv_blocks", state="active") == 0, seconds, "running, waiting and active KV are 0")

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def log_lines(self):
        return [json.loads(line) for line in self.log_path.read_text().splitlines()]

    def stop(self):
        """Ends by SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        self.process.stdout.close()
        self.process.stderr.close()
        self.folder.cleanup()
        return self.process.returncode
