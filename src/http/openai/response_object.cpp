#include "http/openai/response_object.h"

#include "http/openai/answer_parts.h"

namespace paceline::openai {
namespace {

template <typename T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

void write_tools(JsonWriter& json, const std::vector<ToolDefinition>& tools) {
  json.key("tools").begin_array();
  for (const ToolDefinition& tool : tools) {
    json.begin_object().string("type", "function").string("name", tool.name);
    json.string_or_null("description", pointer(tool.description));
    json.raw("parameters", tool.parameters ? std::string_view(*tool.parameters) : "null");
    json.key("strict");
    if (tool.strict) {
      json.boolean(*tool.strict);
    } else {
      json.null();
    }
    json.end_object();
  }
  json.end_array();
}

void write_metadata(JsonWriter& json, const GenerationFields& fields) {
  json.key("metadata").begin_object();
  for (const auto& [key, value] : fields.metadata) json.escaped_key(key).string(value);
  json.end_object();
}

void write_error(JsonWriter& json, const std::optional<Error>& error) {
  if (!error) {
    json.null("error");
    return;
  }
  json.key("error")
      .begin_object()
      .string("code", to_string(error->code))
      .string("message", error->message)
      .end_object();
}

void write_incomplete_details(JsonWriter& json, ResponseStatus status) {
  const bool cancelled = status == ResponseStatus::kCancelled;
  if (!cancelled && status != ResponseStatus::kIncomplete) {
    json.null("incomplete_details");
    return;
  }
  json.key("incomplete_details")
      .begin_object()
      .string("reason", cancelled ? "cancelled" : "max_output_tokens")
      .end_object();
}

void write_paceline(JsonWriter& json, const ResponseObject& response) {
  if (!response.receipt && !response.return_token_ids) return;
  json.key("paceline").begin_object();
  if (response.receipt) {
    json.key("receipt");
    write_receipt(json, *response.receipt);
  }
  if (response.return_token_ids) {
    json.key("prompt_token_ids");
    write_token_ids(json, response.prompt_token_ids);
    json.key("output_token_ids");
    write_token_ids(json, response.output_token_ids);
  }
  json.end_object();
}

}  // namespace

std::string_view to_string(ResponseStatus status) {
  switch (status) {
    case ResponseStatus::kQueued:
      return "queued";
    case ResponseStatus::kInProgress:
      return "in_progress";
    case ResponseStatus::kCompleted:
      return "completed";
    case ResponseStatus::kIncomplete:
      return "incomplete";
    case ResponseStatus::kFailed:
      return "failed";
    case ResponseStatus::kCancelled:
      return "cancelled";
  }
  return "failed";
}

bool is_final(ResponseStatus status) {
  return status != ResponseStatus::kQueued && status != ResponseStatus::kInProgress;
}

std::string echo_members(const ResponseRequest& request) {
  const GenerationFields& fields = request.fields;
  std::string out;
  JsonWriter json(out);
  json.string_or_null("previous_response_id", pointer(request.previous_response_id));
  json.string_or_null("instructions", pointer(request.instructions));
  write_tools(json, request.tools.tools);
  json.raw("tool_choice", request.tools.asked_choice)
      .boolean("parallel_tool_calls", request.tools.parallel_calls)
      .raw("text", R"({"format":{"type":"text"},"verbosity":"medium"})")
      .string("truncation", "disabled")
      .number("temperature", fields.sampling.temperature)
      .number("top_p", fields.sampling.top_p)
      .number("presence_penalty", fields.sampling.presence_penalty)
      .number("frequency_penalty", fields.sampling.frequency_penalty)
      .integer("top_logprobs", fields.sampling.top_logprobs);
  json.key("max_output_tokens");
  if (fields.max_tokens) {
    json.integer(*fields.max_tokens);
  } else {
    json.null();
  }
  json.null("max_tool_calls")
      .raw("reasoning", R"({"effort":null,"summary":null})")
      .boolean("store", request.store)
      .boolean("background", false)
      .string("service_tier", to_string(fields.service_tier));
  write_metadata(json, fields);
  json.string_or_null("user", pointer(fields.user))
      .string_or_null("safety_identifier", pointer(fields.safety_identifier))
      .string_or_null("prompt_cache_key", pointer(fields.prompt_cache_key));
  return out;
}

void write_output_part(JsonWriter& json, const OutputMessage& message) {
  json.begin_object()
      .string("type", "output_text")
      .string("text", message.text)
      .raw("annotations", "[]")
      .key("logprobs");
  write_logprob_items(json, message.logprobs);
  json.end_object();
}

void write_output_message(JsonWriter& json, const OutputMessage& message) {
  json.begin_object()
      .string("type", "message")
      .string("id", message.id)
      .string("status", message.status)
      .string("role", "assistant");
  json.key("content").begin_array();
  if (message.has_part) write_output_part(json, message);
  json.end_array().end_object();
}

void write_response(JsonWriter& json, const ResponseObject& response) {
  json.begin_object()
      .string("id", response.id)
      .string("object", "response")
      .integer("created_at", response.created_at);
  json.key("completed_at");
  if (response.completed_at) {
    json.integer(*response.completed_at);
  } else {
    json.null();
  }
  json.string("status", to_string(response.status));
  write_error(json, response.error);
  write_incomplete_details(json, response.status);
  json.string("model", response.model).raw(response.echo);
  json.key("output").begin_array();
  if (response.message) write_output_message(json, *response.message);
  json.end_array();
  if (response.usage) {
    json.key("usage");
    write_response_usage(json, *response.usage);
  } else {
    json.null("usage");
  }
  write_paceline(json, response);
  json.end_object();
}

std::string response_json(const ResponseObject& response) {
  std::string out;
  JsonWriter json(out);
  write_response(json, response);
  return out;
}

}  // namespace paceline::openai
