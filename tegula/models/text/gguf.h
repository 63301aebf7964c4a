#pragma once
// Language models in GGUF files, as llama.cpp converts them.

#include <string>

#include "tegula/models/text/language_model.h"

namespace tegula::models {

/// A file of the architecture "llama" or "gpt2": sizes, weights (io::read_gguf, which unpacks them to f32) and the tokenizer within; `tokenizer`: another file instead of that. Throws
/// Error for other architectures, for features that these nets lack here (experts, scaled rotary positions, biases), and for weights that do not fit the sizes.
LanguageModel load_gguf(const std::string& path, const std::string& tokenizer = "");

}  // namespace tegula::models
