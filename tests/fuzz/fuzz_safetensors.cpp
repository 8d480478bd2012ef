// Opens the input as a safetensors file and reads the last byte of every tensor.

#include <vector>

#include "model/safetensors_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/safetensors_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const paceline::MemoryFile memory(data, size);
  const auto file = paceline::SafetensorsFile::open(memory.path());
  if (!file) return 0;
  volatile std::byte sink{};
  for (const auto& [name, tensor] : file->tensors) {
    if (!tensor.bytes.empty()) sink = tensor.bytes.back();
  }
  (void)sink;
  return 0;
}

std::vector<std::string> paceline::fuzz_seeds() {
  SafetensorsWriter writer;
  writer.add({"model.embed_tokens.weight", "F16", {8, 4}, std::string(64, 'a')});
  writer.add({"model.norm.weight", "F32", {4}, std::string(16, 'b')});
  writer.add({"lm_head.weight", "BF16", {2, 2, 2}, std::string(16, 'c')});
  return {writer.bytes()};
}
