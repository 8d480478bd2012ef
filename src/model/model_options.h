#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline {

/// Which model is loaded, and in what form (`model.*`, `kv.*`, `compute.*`).
struct ModelOptions {
  /// GGUF file (the first part of a split one) or Hugging Face folder (`model.path`).
  std::string path = {};
  /// Served id; empty: from the file (`model.name`).
  std::string name = {};
  /// Further names clients may use (`model.aliases`).
  std::vector<std::string> aliases = {"default"};
  /// `int8` or `f32` (`model.weights`).
  std::string weights = "int8";
  /// Folder of packed weights; empty: beside the model file (`model.cache_dir`).
  std::string cache_dir = {};
  /// `chatml` serves a model whose template is not recognised; empty: from the file
  /// (`model.chat_template`).
  std::string chat_template = {};
  /// Prompt and output together, tokens; 0: the model's (`model.max_context`).
  int max_context = 0;

  /// Threads of the compute team; 0: the cgroup's quota or the processors (`compute.threads`).
  int threads = 0;
  /// Instruction set: empty: the best of the machine (`compute.isa`).
  std::string isa = {};

  /// Bytes of the KV pool when kv_blocks is 0 (`kv.memory_bytes`).
  std::int64_t kv_memory_bytes = std::int64_t{512} << 20;
  /// `int8`, `bf16` or `f32` (`kv.dtype`).
  std::string kv_dtype = "int8";
};

}  // namespace paceline
