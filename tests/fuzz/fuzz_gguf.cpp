// Opens the input as a GGUF model and, when it is accepted, reads every row of every tensor.

#include <algorithm>
#include <vector>

#include "model/open_model_source.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/tiny_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const paceline::MemoryFile file(data, size);
  const auto source = paceline::open_model_source(file.path());
  if (!source) return 0;
  std::vector<float> row;
  for (const std::string_view name : source->tensors->names()) {
    const paceline::TensorSource::Shape shape = source->tensors->shape(name).value();
    row.resize(static_cast<std::size_t>(shape.columns));
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      if (!source->tensors->read_rows(name, i, 1, row)) __builtin_trap();
    }
  }
  return 0;
}

std::vector<std::string> paceline::fuzz_seeds() {
  TinyModelOptions options;
  options.hidden_size = 16;
  options.n_heads = 2;
  options.n_kv_heads = 1;
  options.ffn_size = 16;
  options.n_layers = 1;
  GgufWriter split = make_tiny_model(options).gguf();
  split.set("split.no", std::uint16_t{0});
  split.set("split.count", std::uint16_t{1});
  return {make_tiny_model(options).gguf().bytes(), split.bytes()};
}
