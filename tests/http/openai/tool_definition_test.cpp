#include "http/openai/tool_definition.h"

#include <gtest/gtest.h>

#include "http/openai/chat_request.h"
#include "tests/http/openai/refusal.h"

namespace paceline::openai {
namespace {

constexpr std::string_view kWeather =
    R"({"type":"function","function":{"name":"get_weather","description":"Weather for a city","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}})";

Result<ToolFields> parse(std::string_view fields, ToolShape shape = ToolShape::kNested) {
  const auto document = JsonDocument::parse_object("{" + std::string(fields) + "}");
  if (!document) return tl::unexpected(document.error());
  FieldReader reader(document->root(), "");
  auto tools = read_tool_fields(reader, shape);
  if (const auto result = reader.result(); !result) return tl::unexpected(result.error());
  return tools;
}

std::string tools_field(std::string_view tools) { return "\"tools\":[" + std::string(tools) + "]"; }

TEST(ToolDefinitionTest, EmptyListAndNullAreLikeNoTools) {
  for (const char* fields :
       {"", R"("tools":[])", R"("tools":null)", R"("tools":[],"tool_choice":"auto")",
        R"("tools":null,"tool_choice":"none")"}) {
    const auto tools = parse(fields);
    ASSERT_TRUE(tools) << fields;
    EXPECT_TRUE(tools->tools.empty()) << fields;
    EXPECT_EQ(tools->choice, ToolChoice::kNone) << fields;
  }
}

TEST(ToolDefinitionTest, ReadsAToolInBothShapes) {
  const auto nested = parse(tools_field(kWeather));
  const auto flat = parse(
      tools_field(
          R"({"type":"function","name":"f","strict":true,"parameters":{ "type" : "object" }})"),
      ToolShape::kFlat);
  ASSERT_TRUE(nested && flat);

  EXPECT_EQ(nested->choice, ToolChoice::kAuto);
  EXPECT_TRUE(nested->parallel_calls);
  EXPECT_EQ(nested->tools[0].name, "get_weather");
  EXPECT_EQ(nested->tools[0].template_text, kWeather);
  EXPECT_EQ(flat->tools[0].parameters, R"({"type":"object"})");
  EXPECT_EQ(flat->tools[0].strict, true);
  EXPECT_EQ(flat->tools[0].template_text,
            R"({"type":"function","function":{"name":"f","parameters":{"type":"object"}}})");
}

TEST(ToolDefinitionTest, TemplateSeesKnownMembersInTheClientsOrder) {
  const auto tools = parse(tools_field(
      R"({"function":{"x":1,"parameters":{"b":1,"a":2.50},"strict":false,"name":"f","description":null},"y":2,"type":"function"})"));

  ASSERT_TRUE(tools);
  EXPECT_EQ(tools->tools[0].template_text,
            R"({"function":{"parameters":{"b":1,"a":2.50},"name":"f"},"type":"function"})");
}

TEST(ToolDefinitionTest, WrongToolsAreRefusedWithTheirPath) {
  using enum ErrorCode;
  const Refusal rows[] = {
      {R"(5)", kInvalidType, "tools[0]"},
      {R"({"function":{"name":"f"}})", kMissingRequiredParameter, "tools[0].type"},
      {R"({"type":"custom","function":{"name":"f"}})", kUnsupportedParameter, "tools[0].type"},
      {R"({"type":"function"})", kMissingRequiredParameter, "tools[0].function"},
      {R"({"type":"function","function":5})", kInvalidType, "tools[0].function"},
      {R"({"type":"function","function":{}})", kMissingRequiredParameter, "tools[0].function.name"},
      {R"({"type":"function","function":{"name":""}})", kInvalidValue, "tools[0].function.name"},
      {R"({"type":"function","function":{"name":"a b"}})", kInvalidValue, "tools[0].function.name"},
      {R"({"type":"function","function":{"name":"f","description":5}})", kInvalidType,
       "tools[0].function.description"},
      {R"({"type":"function","function":{"name":"f","parameters":[]}})", kInvalidType,
       "tools[0].function.parameters"},
      {R"({"type":"function","function":{"name":"f","strict":1}})", kInvalidType,
       "tools[0].function.strict"},
      {R"({"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}})",
       kInvalidValue, "tools[1].function.name"},
  };
  for (const Refusal& row : rows) expect_refused(parse(tools_field(row.input)), row);
}

TEST(ToolDefinitionTest, ThereAreAtMost128Tools) {
  std::string list;
  for (int i = 0; i < 129; ++i) {
    list.append(i == 0 ? "" : ",")
        .append(R"({"type":"function","name":"f)" + std::to_string(i) + "\"}");
  }

  expect_refused(parse(tools_field(list), ToolShape::kFlat),
                 {"129", ErrorCode::kInvalidValue, "tools"});
}

TEST(ToolDefinitionTest, ChoicesThatCannotBeMetAreRefused) {
  using enum ErrorCode;
  const std::string tools = tools_field(kWeather) + ",";
  const Refusal rows[] = {
      {R"("tool_choice":"required")", kInvalidValue, "tool_choice"},
      {R"("tools":[],"tool_choice":{"type":"function","function":{"name":"f"}})", kInvalidValue,
       "tool_choice"},
      {R"("tool_choice":"maybe")", kInvalidValue, "tool_choice"},
      {R"("tool_choice":5)", kInvalidType, "tool_choice"},
  };
  for (const Refusal& row : rows) expect_refused(parse(row.input), row);

  const Refusal with_tools[] = {
      {R"("tool_choice":{"type":"function","function":{"name":"other"}})", kInvalidValue,
       "tool_choice"},
      {R"("tool_choice":{"type":"function","name":"get_weather"})", kInvalidValue, "tool_choice"},
      {R"("tool_choice":{"type":"allowed_tools"})", kInvalidValue, "tool_choice"},
      {R"("tool_choice":"maybe")", kInvalidValue, "tool_choice"},
  };
  for (const Refusal& row : with_tools) expect_refused(parse(tools + std::string(row.input)), row);
}

TEST(ToolDefinitionTest, NamedChoiceNamesAToolInTheShapeOfTheRequest) {
  const auto nested =
      parse(tools_field(kWeather) +
            R"(,"tool_choice":{"type":"function","function":{"name":"get_weather"}})");
  const auto flat = parse(tools_field(R"({"type":"function","name":"f"})") +
                              R"(,"tool_choice":{"type":"function","name":"f"})",
                          ToolShape::kFlat);
  ASSERT_TRUE(nested && flat);

  EXPECT_EQ(nested->choice, ToolChoice::kNamed);
  EXPECT_EQ(nested->chosen_name, "get_weather");
  EXPECT_EQ(flat->chosen_name, "f");
  EXPECT_EQ(flat->asked_choice, R"({"type":"function","name":"f"})");
}

TEST(ToolDefinitionTest, ChatServesToolsOnlyWithoutCalls) {
  using enum ErrorCode;
  const auto parse_chat = [](std::string_view fields) {
    return parse_chat_request(R"({"model":"m","messages":[{"role":"user","content":"x"}],)" +
                                  tools_field(kWeather) + std::string(fields) + "}",
                              test_context());
  };

  const auto shown = parse_chat(R"(,"tool_choice":"none")");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->prompt.template_options.tools, std::vector<std::string>{std::string(kWeather)});
  expect_refused(parse_chat(""), {"absent", kUnsupportedParameter, "tools"});
  expect_refused(parse_chat(R"(,"tool_choice":"auto")"), {"auto", kUnsupportedParameter, "tools"});
  expect_refused(parse_chat(R"(,"tool_choice":"required")"),
                 {"required", kUnsupportedParameter, "tool_choice"});
}

}  // namespace
}  // namespace paceline::openai
