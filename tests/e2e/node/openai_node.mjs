// The official Node client against a running server: node openai_node.mjs BASE_URL MODEL. Prints one line per check and
// ends with a non-zero status when one fails.
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, model] = process.argv.slice(2);
const client = new OpenAI({baseURL, apiKey: "unused-on-loopback", maxRetries: 0, timeout: 60_000});
const capital = [{role: "user", content: "What is the capital of France? Answer with the name only."}];

const checks = {
  async "a chat answer is sensible"() {
    const answer = await client.chat.completions.create({model, messages: capital, temperature: 0, max_tokens: 16});
    assert.match(answer.choices[0].message.content, /Paris/);
    assert.equal(answer.choices[0].finish_reason, "stop");
  },
  async "a streamed answer is the whole one"() {
    const request = {model, messages: [{role: "user", content: "Count from 1 to 10."}], temperature: 0, max_tokens: 48};
    const whole = await client.chat.completions.create(request);
    let text = "";
    let usage = null;
    for await (const chunk of await client.chat.completions.create(
        {...request, stream: true, stream_options: {include_usage: true}})) {
      text += chunk.choices[0]?.delta?.content ?? "";
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, whole.choices[0].message.content);
    assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  },
  async "the stream helper works"() {
    const stream = client.chat.completions.stream({model, messages: capital, temperature: 0, max_tokens: 16});
    const content = await stream.finalContent();
    assert.match(content, /Paris/);
  },
  async "completions answer"() {
    const answer = await client.completions.create({model, prompt: "1, 2, 3,", max_tokens: 4, temperature: 0});
    assert.match(answer.choices[0].text, /4/);
  },
  async "responses stream their events"() {
    const types = [];
    let text = "";
    for await (const event of await client.responses.create(
        {model, input: "Name the largest planet. One word.", temperature: 0, max_output_tokens: 8, stream: true})) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    assert.match(text, /Jupiter/);
    assert.equal(types[0], "response.created");
    assert.equal(types.at(-1), "response.completed");
  },
  async "errors are the client's own classes"() {
    await assert.rejects(client.chat.completions.create({model: "nope", messages: capital}),
                         (e) => e instanceof OpenAI.NotFoundError && e.code === "model_not_found");
    await assert.rejects(client.chat.completions.create({model, messages: capital, temperature: 3}),
                         (e) => e instanceof OpenAI.BadRequestError && e.param === "temperature");
  },
  async "an aborted stream ends"() {
    const stream = await client.chat.completions.create(
        {model, messages: [{role: "user", content: "Write a long story."}], stream: true, max_tokens: 500});
    for await (const _ of stream) break;
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`ok: ${name}`);
}
