#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "http/response_store_options.h"
#include "http/websocket_options.h"

namespace paceline {

/// Who may read `/metrics` (`metrics.auth`).
enum class MetricsAuth {
  kLoopback,  ///< no key from a loopback peer, else an admin key
  kAdmin,     ///< always an admin key
  kOpen,      ///< anyone
};

/// Limits and addresses of the HTTP server; keys are `http.<field>` (durations with `_ms`) unless a
/// comment names another. API.md §1.5.
struct HttpOptions {
  /// Address to listen on, an IP literal or `localhost`. Without a tenants file only loopback.
  std::string host = "127.0.0.1";
  /// TCP port; 0 lets the system choose one.
  std::uint16_t port = 8000;
  /// Threads that run connections. 1 … 64.
  int io_threads = 2;
  /// Threads that parse large bodies, render templates and tokenise. 1 … 64.
  int worker_threads = 1;
  /// Jobs that wait for a worker thread, over all tenants; above: 503 server_overloaded.
  std::size_t max_worker_jobs = 4096;

  /// Bytes of a request body, identity or chunked; above: 413.
  std::size_t max_body_bytes = 8388608;
  /// Bytes of a request to /tokenize, /detokenize and /apply-template; above: 413.
  std::size_t max_token_body_bytes = 1048576;
  /// Bytes of the request line; above: 414.
  std::size_t max_request_line_bytes = 8192;
  /// Bytes of all header lines together; above: 431.
  std::size_t max_header_bytes = 32768;
  /// Header lines; above: 431.
  std::size_t max_headers = 128;
  /// Nesting of JSON, counted everywhere in a body; above: 400.
  int max_json_depth = 128;

  /// From accept, later from the first byte of a request, to the end of its head; then 408.
  std::chrono::milliseconds header_timeout{10000};
  /// Longest pause between two bytes of a body; then 408.
  std::chrono::milliseconds body_idle_timeout{5000};
  /// A whole body; then 408.
  std::chrono::milliseconds body_timeout{60000};
  /// Idle connection between two requests; then it is closed.
  std::chrono::milliseconds keep_alive_timeout{75000};
  /// Open connections; above: 503 and close.
  std::size_t max_connections = 1024;
  /// Undelivered output of one connection above which its sequences are paused, until it falls
  /// below half.
  std::size_t write_buffer_bytes = 262144;
  /// A reader that keeps its sequences paused, or takes no byte, for so long is disconnected.
  std::chrono::milliseconds slow_reader_timeout{30000};

  /// Unknown top-level fields of a request are refused instead of reported.
  bool strict_fields = false;
  /// `Host` values served; empty: any.
  std::vector<std::string> allowed_hosts = {};
  /// Origins that get CORS headers; `*` for any; empty: no CORS header is ever sent.
  std::vector<std::string> cors_origins = {};

  /// Without an event for so long, a stream gets a comment line (`sse.keep_alive_ms`).
  std::chrono::milliseconds sse_keep_alive{10000};
  /// Who may read /metrics (`metrics.auth`).
  MetricsAuth metrics_auth = MetricsAuth::kLoopback;
  /// Whether the chat page is served (`ui.enabled`).
  bool ui_enabled = true;
  /// Longest wait for accepted work in a drain (`server.drain_ms`).
  std::chrono::milliseconds drain_timeout{30000};
  /// A request that still waits after so long fails with queue_timeout
  /// (`scheduler.queue_timeout_ms`).
  std::chrono::milliseconds queue_timeout{30000};

  WebsocketOptions websocket = {};      ///< `ws.*`
  ResponseStoreOptions responses = {};  ///< `responses.*`
};

}  // namespace paceline
