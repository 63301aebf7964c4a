// Language models in GGUF files. The files are written here as llama.cpp's convert_hf_to_gguf.py lays them out.

#include "tegula/models/text/gguf.h"

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tegula/text.h"
#include "tests/io/files.h"
#include "tests/models/gguf_writer.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using testing::TemporaryFolder;
using Writer = testing::GgufWriter;

/// A vocabulary of SentencePiece's kind: <unk>, <s>, </s>, then letters.
Writer& add_llama_tokens(Writer& out, int count) {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<float> scores{0, 0, 0};
  std::vector<std::int32_t> types{2, 3, 3};
  for (int i = 3; i < count; ++i)
    tokens.push_back(std::string(1, static_cast<char>('a' + i - 3))), scores.push_back(static_cast<float>(-i)), types.push_back(1);
  return out.key("tokenizer.ggml.model", std::string("llama"))
      .key("tokenizer.ggml.tokens", tokens)
      .key("tokenizer.ggml.scores", scores)
      .key("tokenizer.ggml.token_type", types)
      .key("tokenizer.ggml.eos_token_id", 2u)
      .key("tokenizer.ggml.bos_token_id", 1u)
      .key("tokenizer.ggml.unknown_token_id", 0u);
}

/// convert_hf_to_gguf.py, LlamaModel.permute: the halves of each head's features side by side in pairs.
Tensor in_pairs(const Tensor& weight, std::int64_t heads) {
  const std::int64_t rows = weight.size(0), columns = weight.size(1);
  return reshape(transpose(reshape(weight, {heads, 2, rows / heads / 2, columns}), 1, 2), {rows, columns});
}

constexpr std::pair<const char*, const char*> kLlamaNames[] = {{"input_layernorm", "attn_norm"}, {"post_attention_layernorm", "ffn_norm"},
                                                               {"self_attn.q_proj", "attn_q"},   {"self_attn.k_proj", "attn_k"},
                                                               {"self_attn.v_proj", "attn_v"},   {"self_attn.o_proj", "attn_output"},
                                                               {"mlp.gate_proj", "ffn_gate"},    {"mlp.up_proj", "ffn_up"},
                                                               {"mlp.down_proj", "ffn_down"}};

Writer llama_file(const models::Llama& net, std::uint32_t layers = 2) {
  const models::LlamaOptions& o = net.options();
  Writer out;
  out.key("general.architecture", std::string("llama"))
      .key("llama.block_count", layers)
      .key("llama.embedding_length", static_cast<std::uint32_t>(o.width))
      .key("llama.feed_forward_length", static_cast<std::uint32_t>(o.hidden))
      .key("llama.context_length", static_cast<std::uint32_t>(o.context))
      .key("llama.attention.head_count", static_cast<std::uint32_t>(o.heads))
      .key("llama.attention.head_count_kv", static_cast<std::uint32_t>(o.kv_heads))
      .key("llama.attention.layer_norm_rms_epsilon", static_cast<float>(o.norm_eps))
      .key("llama.rope.freq_base", static_cast<float>(o.rotary.theta));
  add_llama_tokens(out, static_cast<int>(o.vocabulary));
  for (const NamedTensor& one : state_dict(net)) {
    const std::string layers_of = "model.layers.";
    if (one.name == "model.embed_tokens.weight") out.tensor("token_embd.weight", one.value);
    if (one.name == "model.norm.weight") out.tensor("output_norm.weight", one.value);
    if (one.name == "lm_head.weight") out.tensor("output.weight", one.value);
    if (!one.name.starts_with(layers_of)) continue;
    const std::string number = one.name.substr(layers_of.size(), 1), rest = one.name.substr(layers_of.size() + 2);
    for (const auto& [from, to] : kLlamaNames) {
      if (rest != std::string(from) + ".weight") continue;
      Tensor value = one.value;
      if (std::string_view(to) == "attn_q") value = in_pairs(value, o.heads);
      if (std::string_view(to) == "attn_k") value = in_pairs(value, o.kv_heads);
      out.tensor("blk." + number + "." + to + ".weight", value);
    }
  }
  return out;
}

models::Llama llama(bool tied) {
  return models::Llama({.vocabulary = 20,
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

TEST(GgufModels, ALlamaGivesTheSameScores) {
  const TemporaryFolder folder;
  for (const bool tied : {false, true}) {
    const models::Llama net = llama(tied);
    llama_file(net).write(folder / "net.gguf");
    const models::LanguageModel model = models::load_language_model(folder / "net.gguf");
    EXPECT_EQ(model.kind(), "llama");
    EXPECT_EQ(model.context(), 32);
    EXPECT_EQ(model.tokenizer.size(), 20);
    EXPECT_EQ(model.ends, text::Ids{2});
    EXPECT_EQ(model.report.renamed.size(), state_dict(net).size());
    EXPECT_EQ(model.report.renamed.at(0), "model.embed_tokens.weight from token_embd.weight");
    EXPECT_TRUE(model.report.missing.empty() && model.report.unexpected.empty());
    const Tensor tokens = tensor<std::int64_t>({1, 5, 9, 2, 17}, {1, 5});
    test::expect_near((*std::get<std::unique_ptr<models::Llama>>(model.net))(tokens), net(tokens), 1e-5);
  }
}

TEST(GgufModels, AGpt2GivesTheSameScores) {
  const TemporaryFolder folder;
  models::Gpt2 net({.vocabulary = 20, .width = 16, .layers = 1, .heads = 2, .context = 8});
  const std::pair<const char*, const char*> names[] = {{"ln_1", "attn_norm"},          {"ln_2", "ffn_norm"},   {"attn.c_attn", "attn_qkv"},
                                                       {"attn.c_proj", "attn_output"}, {"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"}};
  Writer out;
  out.key("general.architecture", std::string("gpt2"))
      .key("gpt2.block_count", 1u)
      .key("gpt2.embedding_length", 16u)
      .key("gpt2.feed_forward_length", 64u)
      .key("gpt2.context_length", 8u)
      .key("gpt2.attention.head_count", 2u)
      .key("gpt2.attention.layer_norm_epsilon", 1e-5F);
  add_llama_tokens(out, 20);
  for (const NamedTensor& one : state_dict(net)) {
    if (one.name == "wte.weight") out.tensor("token_embd.weight", one.value).tensor("output.weight", one.value);
    if (one.name == "wpe.weight") out.tensor("position_embd.weight", one.value);
    if (one.name.starts_with("ln_f")) out.tensor("output_norm" + one.name.substr(4), one.value);
    for (const auto& [from, to] : names) {
      const std::string stem = "h.0." + std::string(from);
      if (one.name.starts_with(stem + "."))
        out.tensor("blk.0." + std::string(to) + one.name.substr(stem.size()), one.value.rank() == 2 ? transpose(one.value) : one.value);
    }
  }
  out.write(folder / "net.gguf");
  const models::LanguageModel model = models::load_language_model(folder / "net.gguf");
  EXPECT_EQ(model.kind(), "gpt2");
  EXPECT_EQ(model.report.transposed.size(), 4u);
  EXPECT_EQ(model.report.transposed.at(0), "h.0.attn.c_attn.weight (out, in) to (in, out)");
  const Tensor tokens = tensor<std::int64_t>({1, 5, 9, 2}, {1, 4});
  test::expect_near((*std::get<std::unique_ptr<models::Gpt2>>(model.net))(tokens), net(tokens), 1e-5);
}

TEST(GgufModels, WhatTheseNetsLackIsNamed) {
  const TemporaryFolder folder;
  const models::Llama net = llama(false);
  const auto says = [&](Writer file, const std::string& part) {
    file.write(folder / "net.gguf");
    EXPECT_ERROR(models::load_language_model(folder / "net.gguf"), part);
  };
  Writer other;
  other.key("general.architecture", std::string("mamba"));
  says(other, "the architecture \"mamba\", expected \"llama\" or \"gpt2\"");
  says(llama_file(net).key("llama.expert_count", 8u), "llama.expert_count = 8, expected 0");
  says(llama_file(net).key("llama.rope.dimension_count", 2u), "llama.rope.dimension_count = 2, expected 4");
  says(llama_file(net).tensor("rope_freqs.weight", ones({2})), "scaled rotary positions");
  says(llama_file(net).tensor("blk.0.attn_q.bias", ones({16})), "unknown names model.layers.0.self_attn.q_proj.bias");
  says(llama_file(net, 1), "model.layers.1");
}

TEST(GgufModels, TensorsAreAStateOfTheirOwnNames) {
  const TemporaryFolder folder;
  const models::Llama net = llama(false);
  llama_file(net).write(folder / "net.gguf");
  const StateDict state = load_state(folder / "net.gguf");
  EXPECT_EQ(state.size(), state_dict(net).size());
  EXPECT_EQ(state.front().name, "token_embd.weight");
  EXPECT_EQ(state.front().value.to_host(), net.model.embed_tokens.weight.read().to_host());
}

}  // namespace
}  // namespace tegula
