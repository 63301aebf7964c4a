#pragma once
// Answers to questions for people.

#include <string>

#include "tegula/text/squad.h"

namespace tegula::app {

/// "exact match 81.2 %, F1 88.5 of 10570 questions", and what of it are questions without an answer.
std::string answer_scores_text(const text::AnswerScores& scores);

}  // namespace tegula::app
