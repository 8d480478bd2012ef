"""The official Python client against the real model."""
import math

import openai
import pytest

CAPITAL = [{"role": "user", "content": "What is the capital of France? Answer with the name only."}]


def test_a_chat_answer_is_sensible(client, model):
    answer = client.chat.completions.create(model=model, messages=CAPITAL, temperature=0, max_tokens=16)

    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_streamed_answer_is_the_whole_one(client, model):
    request = dict(model=model, messages=[{"role": "user", "content": "Count from 1 to 10."}], temperature=0, max_tokens=48)
    whole = client.chat.completions.create(**request)

    chunks = list(client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))

    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert len({c.id for c in chunks}) == 1


def test_the_stream_helper_of_the_client_works(client, model):
    with client.chat.completions.stream(model=model, messages=CAPITAL, temperature=0, max_tokens=16) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()

    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert "Paris" in final.choices[0].message.content


def test_several_turns_use_what_was_said(client, model):
    answer = client.chat.completions.create(model=model, temperature=0, max_tokens=32, messages=[
        {"role": "system", "content": "You answer in one word."},
        {"role": "user", "content": "My dog is called Bello."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "What is my dog called?"}])

    assert "Bello" in answer.choices[0].message.content


def test_a_seed_repeats_the_text_and_choices_differ(client, model):
    request = dict(model=model, messages=[{"role": "user", "content": "Invent a name for a ship."}], seed=7, n=3,
                   temperature=1.2, max_tokens=12)

    first = [c.message.content for c in client.chat.completions.create(**request).choices]
    second = [c.message.content for c in client.chat.completions.create(**request).choices]

    assert first == second
    assert len(set(first)) > 1


def test_logprobs_are_of_the_chosen_tokens(client, model):
    answer = client.chat.completions.create(model=model, messages=CAPITAL, temperature=0, max_tokens=4, logprobs=True,
                                            top_logprobs=3)
    items = answer.choices[0].logprobs.content

    assert len(items) == answer.usage.completion_tokens
    for item in items:
        assert item.logprob <= 0 and math.isfinite(item.logprob)
        assert item.logprob == pytest.approx(max(t.logprob for t in item.top_logprobs))
        assert bytes(item.bytes).decode() == item.token


def test_a_stop_text_ends_the_answer(client, model):
    answer = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Count from 1 to 10 with commas."}],
                                            temperature=0, max_tokens=64, stop=["5"])

    assert answer.choices[0].finish_reason == "stop"
    assert "4" in answer.choices[0].message.content and "5" not in answer.choices[0].message.content


def test_completions_echo_with_logprobs(client, model):
    answer = client.completions.create(model=model, prompt="The sky is", max_tokens=2, echo=True, logprobs=1, temperature=0)
    scores = answer.choices[0].logprobs

    assert answer.choices[0].text.startswith("The sky is")
    assert len(scores.tokens) == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert scores.token_logprobs[0] is None
    assert all(value <= 0 for value in scores.token_logprobs[1:])


def test_responses_whole_and_streamed_are_equal(client, model):
    request = dict(model=model, input="Name the largest planet. One word.", temperature=0, max_output_tokens=8)
    whole = client.responses.create(**request)

    events = list(client.responses.create(**request, stream=True))

    assert "Jupiter" in whole.output_text
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[-1].type == "response.completed"
    assert [e.sequence_number for e in events] == list(range(len(events)))


def test_a_response_continues_an_earlier_one(client, model):
    first = client.responses.create(model=model, input="My favourite colour is teal. Say OK.", max_output_tokens=8, temperature=0)

    second = client.responses.create(model=model, input="Which colour did I name?", previous_response_id=first.id,
                                     max_output_tokens=24, temperature=0)

    assert "teal" in second.output_text.lower()
    assert client.responses.retrieve(first.id).id == first.id


def test_errors_are_the_clients_own_classes(client, model):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="nope", messages=CAPITAL)
    with pytest.raises(openai.BadRequestError) as wrong:
        client.chat.completions.create(model=model, messages=CAPITAL, temperature=3)
    with pytest.raises(openai.BadRequestError) as too_long:
        client.chat.completions.create(model=model, messages=[{"role": "user", "content": "word " * 40000}])

    assert unknown.value.code == "model_not_found"
    assert (wrong.value.code, wrong.value.param) == ("invalid_value", "temperature")
    assert too_long.value.code == "context_length_exceeded"


def test_models_are_listed(client, model):
    listed = [m.id for m in client.models.list()]

    assert listed == [model, "default"]
    assert client.models.retrieve(model).id == model


def test_closing_a_stream_frees_everything(server, client, model):
    stream = client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Write a long story."}],
                                            stream=True, max_tokens=2000, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()

    server.wait_at_rest(seconds=5)
