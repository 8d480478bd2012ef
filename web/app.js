// The chat page: conversation state, the composer and the answer being written.

import {Connection} from "./connection.js";
import {Typewriter} from "./typewriter.js";

const byId = (id) => document.getElementById(id);
const transcript = byId("transcript");
const input = byId("input");

let model = null;
let conversation = [];  // input items of the Responses API, oldest first
let answer = null;      // the Answer being written, or null

/** One assistant turn on the page, from the request to its last event. */
class Answer {
  constructor() {
    this.turn = addTurn("assistant");
    this.turn.classList.add("writing");
    this.body = addChild(this.turn, "div", "text");
    this.figures = addChild(this.turn, "div", "figures");
    this.writer = new Typewriter(this.body, keepAtEnd);
    this.sentAt = performance.now();
    this.firstAt = null;
    this.lastAt = null;
    this.isCreated = false;  // the server's first event for it has come
    this.figures.textContent = "waiting …";
  }

  append(text) {
    this.lastAt = performance.now();
    if (this.firstAt === null) {
      this.firstAt = this.lastAt;
      this.figures.textContent = `first token after ${Math.round(this.firstAt - this.sentAt)} ms`;
    }
    this.writer.append(text);
  }

  showQueue(position, startMs) {
    const wait = startMs === null ? "" : `, about ${(startMs / 1000).toFixed(1)} s`;
    this.figures.textContent = `waiting: place ${position}${wait}`;
  }

  finish(response) {
    this.writer.finish();
    this.turn.classList.remove("writing");
    const parts = [];
    if (this.firstAt !== null) parts.push(`first token ${Math.round(this.firstAt - this.sentAt)} ms`);
    const tokens = response?.usage?.output_tokens ?? 0;
    if (tokens > 1 && this.lastAt > this.firstAt) {
      parts.push(`${((1000 * (tokens - 1)) / (this.lastAt - this.firstAt)).toFixed(1)} tokens/s`);
    }
    if (response?.usage) parts.push(`${response.usage.input_tokens} in, ${tokens} out`);
    if (response?.status === "incomplete") {
      parts.push(response.incomplete_details?.reason === "cancelled" ? "stopped" : "cut at the token limit");
    }
    if (response?.status === "cancelled") parts.push("stopped");
    this.figures.textContent = parts.join(" · ");
  }

  fail(message) {
    this.writer.finish();
    this.turn.classList.remove("writing");
    this.figures.textContent = "";
    addChild(this.turn, "div", "failure").textContent = message;
    keepAtEnd();
  }
}

const connection = new Connection(onState, onEvent);

function onState(state) {
  const badge = byId("connection");
  badge.textContent = {connecting: "connecting", open: "connected", closed: "no connection"}[state];
  badge.dataset.state = state;
  if (state === "open" && model === null) loadModel();
  if (state === "closed" && answer !== null) endAnswer((a) => a.fail("The connection was lost. Send again to go on."));
  updateButtons();
}

async function loadModel() {
  try {
    const list = await (await fetch("/v1/models")).json();
    model = list.data[0].id;
    byId("model").textContent = model;
  } catch {
    byId("model").textContent = "";
  }
  updateButtons();
}

function onEvent(event) {
  if (answer === null) return;
  if (event.type === "response.created") answer.isCreated = true;
  // What comes earlier ends an answer of the conversation that "New chat" left.
  const isForAnswer = answer.isCreated || (event.type === "error" && event.error.code !== "response_not_found");
  if (!isForAnswer) return;
  switch (event.type) {
    case "response.queued":
      answer.showQueue(event.position, event.estimated_start_ms);
      break;
    case "response.output_text.delta":
      answer.append(event.delta);
      break;
    case "response.completed":
    case "response.incomplete":
      endAnswer((a) => a.finish(event.response));
      break;
    case "response.failed":
      endAnswer((a) => a.fail(event.response.error.message));
      break;
    case "error":
      endAnswer((a) => a.fail(event.error.message));
      break;
  }
}

function send() {
  const text = input.value.trim();
  if (text === "" || answer !== null || model === null || !connection.isOpen) return;
  conversation.push({type: "message", role: "user", content: text});
  addTurn("user").textContent = text;
  input.value = "";
  fitInput();
  answer = new Answer();
  connection.send({type: "response.create", model, input: conversation, store: false});
  updateButtons();
  transcript.scrollTop = transcript.scrollHeight;
}

function endAnswer(show) {
  const ended = answer;
  answer = null;
  show(ended);
  // What was written stays part of the conversation, also after a stop.
  if (ended.writer.text !== "") {
    conversation.push({type: "message", role: "assistant", content: ended.writer.text});
  }
  updateButtons();
  input.focus();
}

function newChat() {
  if (answer !== null) {
    connection.send({type: "response.cancel"});
    answer = null;
  }
  conversation = [];
  transcript.replaceChildren(welcome);
  updateButtons();
  input.focus();
}

function addTurn(role) {
  byId("welcome")?.remove();
  return addChild(transcript, "div", `turn ${role}`);
}

function addChild(parent, tag, className) {
  const child = document.createElement(tag);
  child.className = className;
  parent.append(child);
  return child;
}

/** Follows the text while the reader is at the end; leaves the view alone when they have scrolled up. */
function keepAtEnd() {
  const fromEnd = transcript.scrollHeight - transcript.scrollTop - transcript.clientHeight;
  if (fromEnd < 120) transcript.scrollTop = transcript.scrollHeight;
}

function fitInput() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + 2}px`;
}

function updateButtons() {
  byId("stop").hidden = answer === null;
  byId("send").hidden = answer !== null;
  byId("send").disabled = model === null || !connection.isOpen || input.value.trim() === "";
}

const welcome = byId("welcome");
byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
byId("stop").addEventListener("click", () => connection.send({type: "response.cancel"}));
byId("new-chat").addEventListener("click", newChat);
input.addEventListener("input", () => {
  fitInput();
  updateButtons();
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
});

connection.open();
