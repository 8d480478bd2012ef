// Renders conversations from standard input with the chat template of a model file, for comparison
// with a real Jinja. All numbers are 32 bits, little endian; a string is its length and its bytes.
// Input per conversation: flags (1 generation prompt, 2 continue the last message), the number of
// tools and each as a string, the number of messages and each as role (0 system, 1 user,
// 2 assistant, 3 tool), content, number of calls and for each its name and arguments.
// Output per conversation: the prompt as a string.

#include <array>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "tests/support/real_vocabulary.h"

namespace paceline {
namespace {

std::optional<std::uint32_t> read_number_or_end() {
  std::array<char, 4> bytes{};
  if (!std::cin.read(bytes.data(), bytes.size())) return std::nullopt;
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

std::uint32_t read_number() {
  const auto value = read_number_or_end();
  if (!value) throw std::runtime_error("the input ends inside a conversation");
  return *value;
}

std::string read_string() {
  std::string text(read_number(), '\0');
  if (!std::cin.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    throw std::runtime_error("the input ends inside a string");
  }
  return text;
}

Message read_message() {
  Message message;
  message.role = static_cast<Role>(read_number());
  message.content = read_string();
  for (std::uint32_t i = read_number(); i > 0; --i) {
    std::string name = read_string();
    message.tool_calls.push_back({"call", std::move(name), read_string()});
  }
  return message;
}

void write_string(const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  std::array<char, 4> bytes{};
  std::memcpy(bytes.data(), &length, bytes.size());
  std::cout.write(bytes.data(), bytes.size());
  std::cout << text;
}

int run(const char* model) {
  const auto chat_template = make_chat_template(read_vocabulary(model).chat_template, {});
  if (!chat_template) throw std::runtime_error(chat_template.error().message);
  while (const auto flags = read_number_or_end()) {
    ChatTemplateOptions options;
    options.add_generation_prompt = (*flags & 1) != 0;
    options.continue_final_message = (*flags & 2) != 0;
    for (std::uint32_t i = read_number(); i > 0; --i) options.tools.push_back(read_string());
    std::vector<Message> messages;
    for (std::uint32_t i = read_number(); i > 0; --i) messages.push_back(read_message());
    const auto segments = (*chat_template)->render(messages, options);
    if (!segments) throw std::runtime_error(segments.error().message);
    write_string(joined_text(*segments));
  }
  return 0;
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: render_file MODEL < conversations > prompts\n";
    return 2;
  }
  try {
    return paceline::run(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
