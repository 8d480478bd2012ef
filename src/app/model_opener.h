#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "chat/chat_template.h"
#include "model/model_options.h"
#include "model/open_model_source.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

/// A model file that is open and checked, with its text side ready; the weights are not loaded yet.
struct OpenedModel {
  ModelSource source;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;
  std::string id;                     ///< served name
  int max_context = 0;                ///< tokens, the configured limit applied
  std::vector<std::string> warnings;  ///< one line each
};

/// Opens the file once and hands its parts to model, tokenizer and chat.
/// Errors: kBadConfig without a path, kIo and kBadFile with one line naming file and spot.
[[nodiscard]] Result<OpenedModel> open_model(const ModelOptions& options);

/// Returns `text` as an id: lower case, other characters than letters, digits, `.`, `_` and `-`
/// become `-`.
[[nodiscard]] std::string to_model_id(std::string_view text);

}  // namespace paceline
