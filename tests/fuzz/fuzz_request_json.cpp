// Every parser of client JSON on the same bytes. The first byte picks the parser, so that one
// corpus serves all.

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "http/openai/chat_request.h"
#include "http/openai/completion_request.h"
#include "http/openai/json_document.h"
#include "http/openai/response_request.h"
#include "http/openai/tokenize_request.h"
#include "http/openai/websocket_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using paceline::openai::JsonDocument;
using paceline::openai::ParseContext;

ParseContext make_context() {
  ParseContext context;
  context.vocab_size = 151665;
  return context;
}

/// What has been accepted must read back as itself, and hold valid text only.
void check_document(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  if (!document) return;
  const std::string compact = document->root().to_compact();
  CHECK(paceline::is_valid_utf8(compact));
  const auto again = JsonDocument::parse(compact);
  CHECK(again.has_value());
  CHECK(again->root().to_compact() == compact);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const ParseContext context = make_context();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      static_cast<void>(paceline::openai::parse_chat_request(text, context));
      break;
    case 1:
      static_cast<void>(paceline::openai::parse_completion_request(text, context));
      break;
    case 2:
      static_cast<void>(paceline::openai::parse_response_request(text, context));
      break;
    case 3:
      static_cast<void>(paceline::openai::parse_client_message(text, context));
      break;
    case 4:
      static_cast<void>(paceline::openai::parse_tokenize_request(text, context));
      break;
    case 5:
      static_cast<void>(paceline::openai::parse_detokenize_request(text, context));
      break;
    case 6:
      static_cast<void>(paceline::openai::parse_input_tokens_request(text, context));
      break;
    default:
      check_document(text);
      break;
  }
  return 0;
}

std::vector<std::string> paceline::fuzz_seeds() {
  return {
      R"(0{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"\ud83e\udee0"}]},)"
      R"({"role":"assistant","tool_calls":[{"id":"c","type":"function","function":)"
      R"({"name":"f","arguments":"{\"a\": 1}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}],)"
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],)"
      R"("tool_choice":"none","temperature":0.5,"logit_bias":{"9707":100},"stop":["a"],)"
      R"("stream":true,"stream_options":{"include_usage":true},"seed":-1,"foo":[1e400]})",
      R"(1{"model":"m","prompt":[[1,2],[3]],"max_tokens":0,"echo":true,"logprobs":5,"n":2})",
      R"(1{"model":"m","prompt":["a",""],"best_of":1,"suffix":""})",
      R"(2{"model":"m","input":[{"role":"user","content":"a"},)"
      R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
      R"({"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"}]}],)"
      R"("instructions":"i","text":{"format":{"type":"text"}},"top_logprobs":3,)"
      R"("include":["message.output_text.logprobs"],"reasoning":{"effort":"none"},)"
      R"("metadata":{"k":"v"}})",
      R"(3{"type":"response.create","stream_id":"a","model":"m","input":"x","generate":false})",
      R"(3{"type":"response.cancel","response_id":"resp_1"})",
      R"(4{"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"a":1}})",
      R"(5{"tokens":[0,151664],"skip_special_tokens":true})",
      R"(6{"model":"m","input":"x","tools":[{"type":"function","name":"f"}]})",
      R"(7[1.5e-7,"\u0000\n\ud800\udc00",{"a":{"b":[]}},null,true,-0])",
      R"(7{"a":1,"\u0061":2,"b":"\ud800\ue000"})",
      "7" + std::string(130, '[') + std::string(130, ']'),
  };
}
