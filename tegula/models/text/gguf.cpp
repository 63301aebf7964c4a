#include "tegula/models/text/gguf.h"

#include <algorithm>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/gguf.h"
#include "tegula/models/description.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::models {
namespace {

constexpr const char* kOp = "load_gguf";

/// The keys of an architecture: "llama.block_count".
class Keys {
 public:
  Keys(const io::GgufMetadata& metadata, std::string architecture) : metadata_(metadata), architecture_(std::move(architecture)) {}

  std::string name(const std::string& key) const { return architecture_ + "." + key; }
  bool has(const std::string& key) const { return metadata_.contains(name(key)); }
  std::int64_t size(const std::string& key) const {
    constexpr std::int64_t kMost = 1 << 24;
    const std::int64_t value = metadata_.integer(name(key));
    if (value < 1 || value > kMost) refuse(name(key) + " = " + std::to_string(value), "a whole number from 1 to " + std::to_string(kMost));
    return value;
  }
  std::int64_t size(const std::string& key, std::int64_t otherwise) const { return has(key) ? size(key) : otherwise; }
  double number(const std::string& key, double otherwise) const {
    const auto found = metadata_.values.find(name(key));
    if (found == metadata_.values.end()) return otherwise;
    const auto* value = std::get_if<double>(&found->second);
    if (!value || !(*value > 0)) refuse(name(key) + ", which is no positive number", "one");
    return *value;
  }
  /// Throws unless the key is missing or has this value.
  void require(const std::string& key, std::int64_t accepted) const {
    if (has(key) && metadata_.integer(name(key)) != accepted)
      refuse(name(key) + " = " + std::to_string(metadata_.integer(name(key))), std::to_string(accepted) + ", which is what this net has");
  }
  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const {
    throw Error({.op = kOp, .got = printable(metadata_.file + ": " + got), .expected = expected});
  }
  const std::string& file() const { return metadata_.file; }

 private:
  const io::GgufMetadata& metadata_;
  std::string architecture_;
};

using Names = std::vector<std::pair<std::string_view, std::string_view>>;

/// The state with the names of the net. `whole`: names of single tensors; `parts`: of those in each layer, "blk.0.attn_q" as "{layers}0.self_attn.q_proj". Other tensors keep their names, so that load
/// names them.
StateDict with_names(const StateDict& weights, const Names& whole, const std::string& layers, const Names& parts) {
  StateDict out;
  for (NamedTensor entry : weights) {
    const std::string before = entry.name;
    const std::size_t end = before.rfind('.');
    const std::string_view stem = std::string_view(before).substr(0, std::min(end, before.size()));
    const std::string rest = end == std::string::npos ? "" : before.substr(end);  // ".weight"
    for (const auto& [from, to] : whole)
      if (stem == from) entry.name = std::string(to) + rest;
    constexpr std::string_view kBlock = "blk.";
    const std::size_t number = kBlock.size(), dot = stem.find('.', number);
    if (stem.starts_with(kBlock) && dot != std::string_view::npos) {
      for (const auto& [from, to] : parts)
        if (stem.substr(dot + 1) == from)
          entry.name = layers + std::string(stem.substr(number, dot - number)) + "." + std::string(to) + rest;
    }
    if (entry.name != before) entry.from = before;
    out.push_back(std::move(entry));
  }
  return out;
}

bool holds(const StateDict& state, std::string_view name) { return std::ranges::find(state, name, &NamedTensor::name) != state.end(); }

std::unique_ptr<Llama> read_llama(const Keys& keys, const StateDict& weights, LoadReport& report) {
  if (keys.has("expert_count")) keys.require("expert_count", 0);
  if (holds(weights, "rope_freqs.weight")) keys.refuse("rope_freqs.weight, scaled rotary positions", "plain rotary positions");
  const std::int64_t heads = keys.size("attention.head_count"), width = keys.size("embedding_length");
  const StateDict state =
      with_names(weights, {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}}, "model.layers.",
                 {{"attn_norm", "input_layernorm"},
                  {"ffn_norm", "post_attention_layernorm"},
                  {"attn_q", "self_attn.q_proj"},
                  {"attn_k", "self_attn.k_proj"},
                  {"attn_v", "self_attn.v_proj"},
                  {"attn_output", "self_attn.o_proj"},
                  {"ffn_gate", "mlp.gate_proj"},
                  {"ffn_up", "mlp.up_proj"},
                  {"ffn_down", "mlp.down_proj"}});
  const auto embedding = std::ranges::find(state, "model.embed_tokens.weight", &NamedTensor::name);
  if (embedding == state.end() || embedding->value.rank() != 2) keys.refuse("no matrix token_embd.weight", "the embedding of tokens");
  // Pairs of rotary features lie side by side in these files.
  LlamaOptions options{.vocabulary = embedding->value.size(0),
                       .width = width,
                       .layers = std::min(keys.size("block_count"), static_cast<std::int64_t>(weights.size())),
                       .heads = heads,
                       .kv_heads = keys.size("attention.head_count_kv", heads),
                       .hidden = keys.size("feed_forward_length"),
                       .context = keys.size("context_length"),
                       .norm_eps = keys.number("attention.layer_norm_rms_epsilon", 1e-5),
                       .rotary = {.theta = keys.number("rope.freq_base", 10000), .interleaved = true},
                       .tied = !holds(state, "lm_head.weight")};
  keys.require("rope.dimension_count", width / heads);
  keys.require("attention.key_length", width / heads);
  keys.require("attention.value_length", width / heads);
  if (keys.number("rope.scaling.factor", 1) != 1) options.rotary.scaling.factor = keys.number("rope.scaling.factor", 1);
  require_tensor(kOp, state, "model.embed_tokens.weight", {options.vocabulary, width}, keys.file());
  require_tensor(kOp, state, "model.layers.0.mlp.up_proj.weight", {options.hidden, width}, keys.file());
  auto net = std::make_unique<Llama>(options);
  report = load(*net, state);
  return net;
}

std::unique_ptr<Gpt2> read_gpt2(const Keys& keys, const StateDict& weights, LoadReport& report) {
  StateDict state = with_names(weights, {{"token_embd", "wte"}, {"position_embd", "wpe"}, {"output_norm", "ln_f"}}, "h.",
                               {{"attn_norm", "ln_1"},
                                {"ffn_norm", "ln_2"},
                                {"attn_qkv", "attn.c_attn"},
                                {"attn_output", "attn.c_proj"},
                                {"ffn_up", "mlp.c_fc"},
                                {"ffn_down", "mlp.c_proj"}});
  std::erase_if(state, [](const NamedTensor& one) { return one.name == "output.weight"; });  // the embedding once more
  for (NamedTensor& one : state) {
    const bool is_matrix = one.name.starts_with("h.") && one.name.ends_with(".weight") && one.value.rank() == 2;
    if (is_matrix) one.value = transpose(one.value), one.change = "(out, in) to (in, out)";
  }
  const auto embedding = std::ranges::find(state, "wte.weight", &NamedTensor::name);
  if (embedding == state.end() || embedding->value.rank() != 2) keys.refuse("no matrix token_embd.weight", "the embedding of tokens");
  const Gpt2Options options{.vocabulary = embedding->value.size(0),
                            .width = keys.size("embedding_length"),
                            .layers = std::min(keys.size("block_count"), static_cast<std::int64_t>(weights.size())),
                            .heads = keys.size("attention.head_count"),
                            .context = keys.size("context_length"),
                            .norm_eps = keys.number("attention.layer_norm_epsilon", 1e-5)};
  keys.require("feed_forward_length", 4 * options.width);
  require_tensor(kOp, state, "wte.weight", {options.vocabulary, options.width}, keys.file());
  require_tensor(kOp, state, "wpe.weight", {options.context, options.width}, keys.file());
  auto net = std::make_unique<Gpt2>(options);
  report = load(*net, state);
  return net;
}

}  // namespace

LanguageModel load_gguf(const std::string& path, const std::string& tokenizer) {
  const io::GgufMetadata metadata = io::read_gguf_metadata(path);
  const std::string& architecture = metadata.text("general.architecture");
  const Keys keys(metadata, architecture);
  if (architecture != "llama" && architecture != "gpt2")
    keys.refuse("the architecture \"" + architecture.substr(0, 80) + "\"", "\"llama\" or \"gpt2\"");
  StateDict weights;
  for (auto& [name, array] : io::read_gguf(path)) weights.push_back({name, from_array(array)});
  LanguageModel out{.net = {}, .tokenizer = tokenizer.empty() ? text::gguf_tokenizer(metadata) : text::read_tokenizer(tokenizer)};
  if (architecture == "llama") out.net = read_llama(keys, weights, out.report);
  else out.net = read_gpt2(keys, weights, out.report);
  constexpr const char* kEnd = "tokenizer.ggml.eos_token_id";
  if (metadata.contains(kEnd) && metadata.integer(kEnd) >= 0 && metadata.integer(kEnd) < out.tokenizer.size())
    out.ends = {static_cast<text::Id>(metadata.integer(kEnd))};
  return out;
}

}  // namespace tegula::models
