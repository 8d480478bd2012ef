"""Clients that do what official ones do not: leave in the middle, stall, send frames by hand; and a strict reader of /metrics."""
import concurrent.futures
import http.client
import json
import math
import os
import re
import socket
import statistics
import struct
import time

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (\S+)')


def connect(server, receive_buffer=None):
    """A connected socket; `receive_buffer` bytes are set before the handshake, so that the window is small."""
    connected = socket.socket()
    if receive_buffer:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connected.settimeout(60)
    connected.connect(("127.0.0.1", server.port))
    return connected


def close_by_reset(connected):
    """Makes the coming close send RST instead of FIN."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def request_bytes(path, body):
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


class Stream:
    """One POST on a socket of its own; its answer is read event by event."""

    def __init__(self, server, path, body, receive_buffer=None):
        self.socket = connect(server, receive_buffer)
        self.answer = None
        self.socket.sendall(request_bytes(path, body))

    def head(self):
        """Waits for the head of the answer."""
        if self.answer is None:
            self.answer = http.client.HTTPResponse(self.socket, method="POST")
            self.answer.begin()
        return self.answer

    def events(self):
        """Yields the data of each event; the last one is `[DONE]`."""
        for line in self.head():
            if line.startswith(b"data: "):
                yield line[6:].strip().decode()

    def close(self, reset=False):
        if reset:
            close_by_reset(self.socket)
        if self.answer is not None:
            self.answer.close()
        self.socket.close()


def token_ids(events):
    """Ids of the first choice in the events of a stream with `return_token_ids`."""
    ids = []
    for event in events:
        if event != "[DONE]":
            for choice in json.loads(event)["choices"]:
                ids += choice.get("token_ids", [])
    return ids


def completion(prompt, max_tokens, **fields):
    return {"model": "default", "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True,
            "return_token_ids": True, **fields}


def complete(server, prompt, max_tokens, **fields):
    """Returns the body of a completion that must succeed."""
    status, body = server.post("/v1/completions", completion(prompt, max_tokens, **fields), timeout=120)
    assert status == 200, body
    return body


def golden_ids(server):
    """Ids of the small request that must not change whatever happened before."""
    status, body = server.post("/v1/chat/completions", {"model": "default", "max_tokens": 8, "temperature": 0,
                                                        "return_token_ids": True,
                                                        "messages": [{"role": "user", "content": "Hello"}]})
    assert status == 200, body
    return body["choices"][0]["token_ids"]


def open_files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def in_background(count=1):
    return concurrent.futures.ThreadPoolExecutor(max_workers=count)


def times_of_events(stream):
    """Reads a stream to its end; returns when each event came."""
    return [time.monotonic() for _ in stream.events()]


def gaps(times):
    return [later - earlier for earlier, later in zip(times, times[1:])]


def median_gap(server, prompt, max_tokens):
    stream = Stream(server, "/v1/completions", completion(prompt, max_tokens, stream=True))
    times = times_of_events(stream)
    stream.close()
    return statistics.median(gaps(times))


class WebSocket:
    """A Responses WebSocket, frame by frame."""

    TEXT, CLOSE = 1, 8

    def __init__(self, server):
        self.socket = connect(server)
        self.socket.sendall(b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        self.reader = self.socket.makefile("rb")
        assert b" 101 " in self.reader.readline()
        while self.reader.readline() != b"\r\n":
            pass

    def send(self, payload, opcode=TEXT):
        mask = b"\x01\x02\x03\x04"
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def create(self, **fields):
        self.send(json.dumps({"type": "response.create", "model": "default", **fields}).encode())

    def read(self):
        """Returns (opcode, payload) of the next frame."""
        first, size = self.reader.read(2)
        if size == 126:
            size = struct.unpack(">H", self.reader.read(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.reader.read(8))[0]
        return first & 15, self.reader.read(size)

    def read_until(self, event_type):
        while True:
            opcode, payload = self.read()
            if opcode == self.TEXT and json.loads(payload)["type"] == event_type:
                return json.loads(payload)

    def read_close(self):
        """Returns the code of the close frame that follows whatever is still under way."""
        while True:
            opcode, payload = self.read()
            if opcode == self.CLOSE:
                return struct.unpack(">H", payload[:2])[0]

    def close(self, reset=False):
        if reset:
            close_by_reset(self.socket)
        self.reader.close()
        self.socket.close()


def parse_exposition(text):
    """Returns ({(name, labels): value}, {family: type}); asserts everything that the text format and its users expect."""
    assert text.endswith("\n") and not text.endswith("\n\n")
    helps, types, series = set(), {}, {}
    family = None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split(" ", 3)[2]
            assert family not in helps, f"second HELP: {line}"
            helps.add(family)
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert name == family and name not in types and kind in ("counter", "gauge", "histogram"), line
            types[name] = kind
            assert kind != "counter" or name.endswith("_total"), line
            assert not re.search(r"_(ms|millis|milliseconds|us|kb|mb)(_|$)", name), line
        else:
            found = SAMPLE.fullmatch(line)
            assert found, f"not a sample: {line}"
            name, labels, value = found.groups()
            base = re.sub(r"_(bucket|sum|count)$", "", name) if types[family] == "histogram" else name
            assert base == family, f"sample outside its family: {line}"
            assert (name, labels) not in series, f"series twice: {line}"
            series[name, labels] = float(value)
            assert math.isfinite(float(value)), line
    assert helps == set(types)
    for name in (name for name, kind in types.items() if kind == "histogram"):
        check_histogram(name, series)
    return series, types


def check_histogram(name, series):
    buckets = {}
    for (sample, labels), value in series.items():
        if sample == name + "_bucket":
            rest, bound = re.fullmatch(r'(.*?),?le="([^"]+)"', labels).groups()
            buckets.setdefault(rest or None, []).append((float(bound), value))
    assert buckets, f"no buckets: {name}"
    for labels, bounds in buckets.items():
        counts = [count for _, count in sorted(bounds)]
        assert counts == sorted(counts), f"falling buckets: {name} {labels}"
        assert sorted(bounds)[-1][0] == math.inf
        count, total = series[name + "_count", labels], series[name + "_sum", labels]
        assert counts[-1] == count, f"+Inf is not the count: {name} {labels}"
        assert total >= 0 and (count > 0 or total == 0), f"sum: {name} {labels}"
