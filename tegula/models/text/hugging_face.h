#pragma once
// Language models in folders as Hugging Face's save_pretrained writes them.

#include <string>

#include "tegula/models/text/language_model.h"

namespace tegula::models {

/// A folder with config.json, model.safetensors or pytorch_model.bin (or an index, model.safetensors.index.json, and the files that it names), and a tokenizer that text::read_tokenizer
/// knows; `tokenizer`: another file or folder instead of that. Model types "gpt2" and "llama"; weights become f32. Throws Error for other types, for features
/// that these nets lack here (rotary positions other than plain, linearly scaled and Llama 3.1's, biases within Llama, other activations), and for weights that do not fit the sizes in config.json.
LanguageModel load_hugging_face(const std::string& folder, const std::string& tokenizer = "");

}  // namespace tegula::models
