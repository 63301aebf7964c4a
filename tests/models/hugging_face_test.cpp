// Folders as Hugging Face's save_pretrained writes them.

#include "tegula/models/text/hugging_face.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tegula/tegula.h"
#include "tegula/text.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using testing::TemporaryFolder;

const std::string kLlama =
    R"({"model_type": "llama", "vocab_size": 27, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,)"
    R"( "intermediate_size": 24, "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_scaling": null)";
const std::string kGpt2 =
    R"({"model_type": "gpt2", "vocab_size": 27, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32, "n_inner": null)";

void write(const std::string& path, const std::string& text) { io::write_atomically(path, testing::bytes_of(text)); }

models::Llama llama(bool tied = false) {
  return models::Llama({.vocabulary = 27,
                        .width = 16,
                        .layers = 2,
                        .heads = 4,
                        .kv_heads = 2,
                        .hidden = 24,
                        .context = 32,
                        .norm_eps = 1e-5,
                        .rotary = {.theta = 50000},
                        .tied = tied});
}

/// The files of a folder beside the weights.
void write_rest(const TemporaryFolder& folder, const std::string& config) {
  write(folder / "config.json", config);
  write(folder / "tokenizer.json", text::characters_json("abcdefghijklmnopqrstuvwxyz "));
}

StateDict half(const StateDict& state) {
  StateDict out;
  for (const NamedTensor& one : state) out.push_back({one.name, cast(one.value, bf16)});
  return out;
}

TEST(HuggingFace, ReadsLlamaWithGroupedQueries) {
  const TemporaryFolder folder;
  const models::Llama net = llama();
  write_rest(folder, kLlama + R"(, "rope_theta": 50000.0, "eos_token_id": [5, 6]})");
  save(net, folder / "model.safetensors");
  const models::LanguageModel model = models::load_language_model(folder / "");
  EXPECT_EQ(model.kind(), "llama");
  EXPECT_EQ(model.context(), 32);
  EXPECT_EQ(model.ends, (text::Ids{5, 6}));
  const Tensor tokens = tensor<std::int64_t>({1, 5, 9, 2}, {1, 4});
  EXPECT_EQ((*std::get<std::unique_ptr<models::Llama>>(model.net))(tokens).to_host(), net(tokens).to_host());
  EXPECT_LE(models::TextWriter(model)("abc", {.tokens = 4}).tokens, 4);
}

TEST(HuggingFace, ReadsTiedHalvesInSeveralFiles) {
  const TemporaryFolder folder;
  const models::Llama net = llama(true);
  write_rest(folder, kLlama + R"(, "rope_parameters": {"rope_theta": 50000, "rope_type": "default"}, "tie_word_embeddings": true})");
  const StateDict all = half(state_dict(net));
  StateDict first(all.begin(), all.begin() + 5), second(all.begin() + 5, all.end());
  first.push_back({"lm_head.weight", zeros({27, 16}, bf16)});  // old files have it nevertheless
  second.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", zeros({2})});
  save_state(first, folder / "a.safetensors"), save_state(second, folder / "b.safetensors");
  write(folder / "model.safetensors.index.json", R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors", "z": "a.safetensors"}})");
  const models::LanguageModel model = models::load_hugging_face(folder / "");
  const auto& read = *std::get<std::unique_ptr<models::Llama>>(model.net);
  for (const NamedTensor& one : state_dict(read)) EXPECT_EQ(one.value.dtype(), f32) << one.name;
  EXPECT_EQ(read.options().rotary.theta, 50000);
  EXPECT_EQ(read.options().rotary.scaling.factor, 1);
  models::Llama rounded = llama(true);
  load(rounded, all);
  const StateDict got = state_dict(read), expected = state_dict(rounded);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, expected[i].name);
    EXPECT_EQ(got[i].value.to_host(), expected[i].value.to_host()) << got[i].name;
  }
  EXPECT_EQ(read(tensor<std::int64_t>({1, 5, 9, 2}, {1, 4})).shape(), Shape({1, 4, 27}));
}

TEST(HuggingFace, ReadsTheScalingOfRotaryPositions) {
  const TemporaryFolder folder;
  write_rest(folder, kLlama + R"(, "rope_parameters": {"rope_theta": 500000, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,)"
                              R"( "high_freq_factor": 4.0, "original_max_position_embeddings": 64}})");
  save(llama(), folder / "model.safetensors");
  const models::LanguageModel model = models::load_hugging_face(folder / "");
  const nn::RotaryOptions& rotary = std::get<std::unique_ptr<models::Llama>>(model.net)->options().rotary;
  EXPECT_EQ(rotary.scaling.original_context, 64);
  EXPECT_EQ(rotary.scaling.factor, 8);
}

TEST(HuggingFace, ReadsGpt2) {
  const TemporaryFolder folder;
  const models::Gpt2 net({.vocabulary = 27, .width = 16, .layers = 1, .heads = 2, .context = 32});
  write_rest(folder, kGpt2 + "}");
  StateDict state;
  for (const NamedTensor& one : state_dict(net)) state.push_back({"transformer." + one.name, one.value});
  save_state(state, folder / "model.safetensors");
  const models::LanguageModel model = models::load_hugging_face(folder / "");
  EXPECT_EQ(model.report.renamed.at(0), "wte.weight from transformer.wte.weight");
  const Tensor tokens = tensor<std::int64_t>({1, 5, 9, 2}, {1, 4});
  EXPECT_EQ((*std::get<std::unique_ptr<models::Gpt2>>(model.net))(tokens).to_host(), net(tokens).to_host());
}

TEST(HuggingFace, ReadsPyTorchsWeightsOfOlderModels) {
  const TemporaryFolder folder;
  const models::Llama net = llama();
  write_rest(folder, kLlama + R"(, "rope_theta": 50000.0})");
  save(net, folder / "weights.pt");
  std::filesystem::rename(folder / "weights.pt", folder / "pytorch_model.bin");
  const models::LanguageModel model = models::load_language_model(folder / "");
  const Tensor tokens = tensor<std::int64_t>({1, 5, 9, 2}, {1, 4});
  EXPECT_EQ((*std::get<std::unique_ptr<models::Llama>>(model.net))(tokens).to_host(), net(tokens).to_host());
}

TEST(HuggingFace, SaysWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto says = [&](const std::string& config, const std::string& part) {
    write_rest(folder, config);
    const std::string message = testing::message_of([&] { models::load_language_model(folder / ""); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_NE(testing::message_of([&] { models::load_hugging_face(folder / ""); }).find("config.json"), std::string::npos);
  says("{", "config.json: [json.exception.parse_error");
  says("[]", "config.json, which is no JSON object");
  says(R"({"model_type": "mamba"})", "model_type \"mamba\", expected \"gpt2\" or \"llama\"");
  says(kLlama + "}", "a folder without model.safetensors");
  write(folder / "pytorch_model.bin", "");  // of another kind than it says
  says(kLlama + "}", "pytorch_model.bin");
  save(llama(), folder / "model.safetensors");
  says(kLlama + R"(, "rope_scaling": {"rope_type": "yarn", "factor": 8.0}})", "rotary positions of the kind default, linear or llama3");
  says(kLlama + R"(, "attention_bias": true})", "attention_bias = true, expected false");
  says(kLlama + R"(, "hidden_act": "gelu"})", "hidden_act = \"gelu\", expected \"silu\"");
  says(kLlama + R"(, "head_dim": 8})", "head_dim = 8, expected 4");
  says(kLlama + R"(, "num_hidden_layers": 1})", "model.layers.1");
  says(kLlama + R"(, "intermediate_size": 16000000})", "up_proj.weight (24, 16), expected (16000000, 16)");
  says(kLlama + R"(, "vocab_size": 0})", "vocab_size = 0, expected a whole number");
  says(kLlama + R"(, "eos_token_id": 27})", "eos_token_id = 27, expected tokens below 27");
  says(R"({"model_type": "llama"})", "is missing");
  says(kGpt2 + "}", "beside weights without wte.weight");
  write(folder / "model.safetensors.index.json", R"({"weight_map": {"x": "../a.safetensors"}})");
  std::filesystem::remove(folder / "model.safetensors");
  says(kLlama + "}", "expected names of files in the folder");
}

}  // namespace
}  // namespace tegula
