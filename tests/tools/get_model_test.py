#!/usr/bin/env python3
"""Tests of tools/get_model.py against a hub on loopback that can stop half-way or lie."""
import hashlib
import http.server
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/get_model.py"
CONTENT = bytes(range(256)) * 4096
spec = importlib.util.spec_from_file_location("get_model", SCRIPT)
get_model = importlib.util.module_from_spec(spec)
spec.loader.exec_module(get_model)


class Hub(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT as the model file."""

    stated_sha = hashlib.sha256(CONTENT).hexdigest()
    cut_after = None  # bytes of the next download before the connection is dropped
    ranges = []

    def do_HEAD(self):
        self.send_response(302)
        self.send_header("X-Linked-ETag", f'"{self.stated_sha}"')
        self.send_header("X-Linked-Size", str(len(CONTENT)))
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        wanted = self.headers.get("Range")
        Hub.ranges.append(wanted)
        begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        body = CONTENT[begin:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if Hub.cut_after is not None:
            body, Hub.cut_after = body[:Hub.cut_after], None
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class GetModelTest(unittest.TestCase):
    def setUp(self):
        Hub.stated_sha, Hub.cut_after, Hub.ranges = hashlib.sha256(CONTENT).hexdigest(), None, []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.hub = f"http://127.0.0.1:{self.server.server_port}"
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()
        self.temporary.cleanup()

    def test_the_file_gets_its_name_only_when_the_hash_is_right(self):
        path = get_model.from_hub(self.folder, self.hub)

        self.assertEqual(path.name, get_model.HUB_FILE)
        self.assertEqual(path.read_bytes(), CONTENT)

    def test_a_download_that_stopped_goes_on_where_it_was(self):
        Hub.cut_after = 300_000
        with self.assertRaises(get_model.Unavailable) as stopped:
            get_model.from_hub(self.folder, self.hub)

        path = get_model.from_hub(self.folder, self.hub)

        self.assertIn("run again", str(stopped.exception))
        self.assertEqual(path.read_bytes(), CONTENT)
        self.assertIsNone(Hub.ranges[0])
        self.assertTrue(Hub.ranges[1].startswith("bytes="))

    def test_a_file_with_a_wrong_hash_is_removed(self):
        Hub.stated_sha = "0" * 64

        with self.assertRaises(get_model.Unavailable):
            get_model.from_hub(self.folder, self.hub)

        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_hub_that_states_no_hash_is_not_used(self):
        Hub.stated_sha = "abc"

        with self.assertRaises(get_model.Unavailable):
            get_model.from_hub(self.folder, self.hub)

        self.assertEqual(Hub.ranges, [])

    def test_a_part_that_is_too_long_is_fetched_anew(self):
        (self.folder / get_model.HUB_FILE).with_suffix(".part").write_bytes(CONTENT + b"x")

        path = get_model.from_hub(self.folder, self.hub)

        self.assertEqual(path.read_bytes(), CONTENT)

    def test_a_file_that_is_there_is_taken_without_asking_anyone(self):
        (self.folder / get_model.PACKAGE_FILE).write_bytes(b"model")

        path = get_model.find_model(self.folder, ["http://127.0.0.1:1"])

        self.assertEqual(path, self.folder / get_model.PACKAGE_FILE)

    def test_the_program_prints_the_path_alone(self):
        environment = {k: v for k, v in os.environ.items() if k != "PACELINE_MODEL"}
        run = subprocess.run([sys.executable, SCRIPT, "--folder", self.folder, "--hub", self.hub], capture_output=True,
                             text=True, env=environment, check=True)

        self.assertEqual(run.stdout, f"{self.folder / get_model.HUB_FILE}\n")

    def test_a_given_path_is_used_as_it_is(self):
        run = subprocess.run([sys.executable, SCRIPT, "--folder", self.folder], capture_output=True, text=True,
                             env={**os.environ, "PACELINE_MODEL": "/some/model.gguf"}, check=True)

        self.assertEqual(run.stdout, "/some/model.gguf\n")


if __name__ == "__main__":
    unittest.main()
