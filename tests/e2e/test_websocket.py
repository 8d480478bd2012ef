"""WebSocket clients against the real model."""
import asyncio
import json

import websockets


def ask(server, *messages, until):
    """Sends messages on one socket; returns all events up to the one that `until` accepts."""

    async def run():
        async with websockets.connect(server.url.replace("http", "ws") + "/v1/responses") as socket:
            for message in messages:
                await socket.send(json.dumps(message))
            events = []
            while not events or not until(events):
                events.append(json.loads(await asyncio.wait_for(socket.recv(), 60)))
            return events

    return asyncio.run(run())


def ended(count):
    ends = ("response.completed", "response.incomplete", "response.failed", "error")
    return lambda events: sum(e["type"] in ends for e in events) == count


def text_of(events, lane=None):
    return "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta" and e.get("stream_id") == lane)


def test_an_answer_streams(server, model):
    events = ask(server, {"type": "response.create", "model": model, "input": "What is the capital of France? One word.",
                          "temperature": 0, "max_output_tokens": 16}, until=ended(1))

    assert "Paris" in text_of(events)
    assert events[0]["type"] == "response.created"
    assert events[-1]["response"]["usage"]["output_tokens"] > 0


def test_lanes_run_side_by_side_and_keep_their_texts(server, model):
    questions = {lane: {"type": "response.create", "model": model, "stream_id": lane, "temperature": 0, "max_output_tokens": 24,
                        "input": f"Count from {start} to {start + 8}."} for lane, start in (("a", 1), ("b", 20), ("c", 50))}
    alone = {lane: text_of(ask(server, q, until=ended(1)), lane) for lane, q in questions.items()}

    together = ask(server, *questions.values(), until=ended(3))

    assert {lane: text_of(together, lane) for lane in questions} == alone
    order = [e["stream_id"] for e in together if e["type"] == "response.output_text.delta"]
    assert order != sorted(order), "lanes were answered one after the other"


def test_a_cancel_ends_the_answer(server, model):
    async def run():
        async with websockets.connect(server.url.replace("http", "ws") + "/v1/responses") as socket:
            await socket.send(json.dumps({"type": "response.create", "model": model, "input": "Write a long story.",
                                          "max_output_tokens": 2000, "ignore_eos": True}))
            deltas = 0
            while True:
                event = json.loads(await asyncio.wait_for(socket.recv(), 60))
                deltas += event["type"] == "response.output_text.delta"
                if deltas == 3:
                    await socket.send(json.dumps({"type": "response.cancel"}))
                if event["type"] == "response.incomplete":
                    return event["response"]

    response = asyncio.run(run())

    assert response["status"] == "cancelled"
    assert response["incomplete_details"] == {"reason": "cancelled"}
    server.wait_at_rest(seconds=2)


def test_a_conversation_goes_on_without_being_stored(server, model):
    async def run():
        async with websockets.connect(server.url.replace("http", "ws") + "/v1/responses") as socket:
            async def create(**fields):
                await socket.send(json.dumps({"type": "response.create", "model": model, "store": False, "temperature": 0,
                                              "max_output_tokens": 24, **fields}))
                while True:
                    event = json.loads(await asyncio.wait_for(socket.recv(), 60))
                    if event["type"] in ("response.completed", "response.incomplete"):
                        return event["response"]

            first = await create(input="My favourite colour is teal. Say OK.")
            return await create(input="Which colour did I name?", previous_response_id=first["id"])

    second = asyncio.run(run())

    assert "teal" in second["output"][0]["content"][0]["text"].lower()
    assert second["usage"]["input_tokens_details"]["cached_tokens"] > 0


def test_an_open_socket_costs_nothing_after_a_lost_one(server, model):
    async def run():
        socket = await websockets.connect(server.url.replace("http", "ws") + "/v1/responses")
        await socket.send(json.dumps({"type": "response.create", "model": model, "input": "Write a long story.",
                                      "max_output_tokens": 2000, "ignore_eos": True}))
        await asyncio.wait_for(socket.recv(), 60)
        socket.transport.abort()

    asyncio.run(run())

    server.wait_at_rest(seconds=2)
    server.wait_until(lambda: server.metric("paceline_ws_connections") == 0, 2, "the socket is gone")
