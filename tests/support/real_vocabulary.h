#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_spec.h"

namespace paceline {

/// Path of the real model that tests may use (variable PACELINE_TEST_MODEL); nothing when unset.
[[nodiscard]] std::optional<std::filesystem::path> test_model_path();

/// Vocabulary of a model file. Throws std::runtime_error when it cannot be read.
[[nodiscard]] TokenizerSpec read_vocabulary(const std::filesystem::path& model);

/// Tokenizer of the real model, built once per process; null when PACELINE_TEST_MODEL is unset.
[[nodiscard]] const Tokenizer* real_tokenizer();

}  // namespace paceline
