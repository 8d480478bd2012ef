// paceline-greedy: the ids that the float form continues each prompt with, always taking the best
// one; compare_with_reference.py checks them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>

#include "model/open_model_source.h"
#include "tests/model/forward_harness.h"
#include "tests/model/reference_ids.h"

int main(int argc, char** argv) {
  std::string model_path;
  std::string prompts_path;
  int num_tokens = 64;
  CLI::App app{"Continues prompts of token ids greedily with the float form of a model"};
  app.add_option("model", model_path, "GGUF file or Hugging Face folder")->required();
  app.add_option("prompts", prompts_path, "file of token ids, one prompt per line")->required();
  app.add_option("--tokens", num_tokens)->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);

  auto source = paceline::open_model_source(model_path);
  if (!source) {
    std::fprintf(stderr, "%s\n", source.error().message.c_str());
    return 1;
  }
  paceline::ForwardHarness harness(*source->tensors, source->config,
                                   {.form = paceline::WeightsForm::kF32,
                                    .kv_dtype = paceline::KvElement::kF32,
                                    .num_threads = 2});
  for (const auto& prompt : paceline::read_id_lines(prompts_path)) {
    for (const paceline::TokenId id : paceline::continue_greedily(harness, prompt, num_tokens)) {
      std::printf("%d ", paceline::raw(id));
    }
    std::printf("\n");
  }
  return 0;
}
