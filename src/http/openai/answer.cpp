#include "http/openai/answer.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace paceline::openai {
namespace {

template <typename T>
void append(std::vector<T>& target, std::vector<T>& source) {
  target.insert(target.end(), std::make_move_iterator(source.begin()),
                std::make_move_iterator(source.end()));
}

}  // namespace

ResultCollector::ResultCollector(int num_choices, int num_prompts) {
  DCHECK(num_choices >= 1 && num_prompts >= 1);
  result_.choices.resize(static_cast<std::size_t>(num_choices));
  result_.prompt_logprobs.resize(static_cast<std::size_t>(num_prompts));
}

void ResultCollector::add(GenerationEvent event) {
  if (auto* delta = std::get_if<ChoiceDelta>(&event)) {
    ChoiceResult& choice = result_.choices.at(static_cast<std::size_t>(delta->index));
    choice.text += delta->text;
    append(choice.token_ids, delta->token_ids);
    append(choice.logprobs, delta->logprobs);
  } else if (auto* prompt = std::get_if<PromptLogprobs>(&event)) {
    append(result_.prompt_logprobs.at(static_cast<std::size_t>(prompt->prompt_index)),
           prompt->tokens);
  } else if (const auto* end = std::get_if<ChoiceFinished>(&event)) {
    result_.choices.at(static_cast<std::size_t>(end->index)).finish_reason = end->reason;
  } else if (const auto* finished = std::get_if<RequestFinished>(&event)) {
    result_.usage = finished->usage;
    result_.receipt = finished->receipt;
    complete_ = true;
  }
}

}  // namespace paceline::openai
