// paceline-make-tiny-model: writes the test fixture TINY, a small Qwen2 with random weights and the
// vocabulary of a real model.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include "tests/support/real_vocabulary.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_vocabulary.h"

int main(int argc, char** argv) {
  CLI::App app("Writes a small random Qwen2 for tests");
  std::string vocabulary_from;
  std::string out;
  std::uint64_t seed = 1;
  app.add_option("--vocab-from", vocabulary_from,
                 "GGUF whose vocabulary is taken; without it, a vocabulary of 267 tokens");
  app.add_option("--out", out, "GGUF to write, or an existing folder for the Hugging Face form")
      ->required();
  app.add_option("--seed", seed, "Seed of the weights");
  CLI11_PARSE(app, argc, argv);
  try {
    paceline::TinyModelOptions options;
    options.seed = seed;
    const paceline::TinyModel model = vocabulary_from.empty()
                                          ? paceline::make_tiny_model(options)
                                          : paceline::make_tiny_model_with_vocabulary(
                                                paceline::read_vocabulary(vocabulary_from), seed);
    if (std::filesystem::is_directory(out)) {
      model.write_hf_folder(out);
    } else {
      model.write_gguf(out);
    }
  } catch (const std::exception& error) {
    std::cerr << "paceline-make-tiny-model: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
