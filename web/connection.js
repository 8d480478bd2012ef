// One WebSocket to GET /v1/responses, opened again when it is lost. One answer at a time.

const kFirstRetryMs = 500;
const kLongestRetryMs = 15000;

export class Connection {
  /**
   * @param {(state: "connecting" | "open" | "closed") => void} onState
   * @param {(event: object) => void} onEvent  every server event, parsed
   */
  constructor(onState, onEvent) {
    this.onState = onState;
    this.onEvent = onEvent;
    this.retryMs = kFirstRetryMs;
    this.socket = null;
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Sends a client message; false when there is no connection. */
  send(message) {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /** Connects, and again whenever the connection is lost. */
  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.onState("connecting");
    this.socket = new WebSocket(`${scheme}://${location.host}/v1/responses`);
    this.socket.onopen = () => {
      this.retryMs = kFirstRetryMs;
      this.onState("open");
    };
    this.socket.onmessage = (message) => this.onEvent(JSON.parse(message.data));
    this.socket.onclose = () => {
      this.onState("closed");
      setTimeout(() => this.open(), this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, kLongestRetryMs);
    };
  }
}
