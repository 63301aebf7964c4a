#include "tegula/models/text/hugging_face.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/io/file.h"
#include "tegula/models/description.h"
#include "tegula/text/tokens/tokenizer_files.h"

namespace tegula::models {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(std::string got, std::string expected, std::string advice = {}) {
  throw Error({.op = "load_hugging_face", .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
}

Json read_json(const std::string& path) {
  const io::Bytes bytes = io::read_file(path);
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  Json json = parse_json({begin, bytes.size()}, "load_hugging_face", path);
  if (!json.is_object()) refuse(path + ", which is no JSON object", "what save_pretrained writes");
  return json;
}

/// config.json. An entry that is missing or null is as its default says.
class Config {
 public:
  explicit Config(std::string path) : path_(std::move(path)), json_(read_json(path_)) {}

  std::int64_t size(const char* name, std::optional<std::int64_t> otherwise = {}) const {
    const Json* value = find(name);
    if (!value && otherwise) return *otherwise;
    constexpr std::int64_t kMost = 1 << 24;
    if (!value || !value->is_number_integer() || value->get<double>() < 1 || value->get<double>() > static_cast<double>(kMost))
      wrong(name, value, "a whole number from 1 to " + std::to_string(kMost));
    return value->get<std::int64_t>();
  }
  double number(const char* name, double otherwise) const { return number(json_, name, otherwise); }
  bool flag(const char* name, bool otherwise) const {
    const Json* value = find(name);
    if (value && !value->is_boolean()) wrong(name, value, "true or false");
    return value ? value->get<bool>() : otherwise;
  }
  std::string text(const char* name) const {
    const Json* value = find(name);
    return value && value->is_string() ? value->get<std::string>() : "";
  }
  /// Throws unless the entry is missing or one of these.
  void require(const char* name, std::initializer_list<Json> accepted) const {
    const Json* value = find(name);
    if (!value || std::find(accepted.begin(), accepted.end(), *value) != accepted.end()) return;
    std::string list;
    for (const Json& one : accepted) list += (list.empty() ? "" : " or ") + shown(one);
    wrong(name, value, list + ", which is what this net has");
  }
  /// Rotary positions, where Transformers 4 and 5 write them.
  nn::RotaryOptions rotary() const {
    nn::RotaryOptions out{.theta = number("rope_theta", 10000)};
    for (const char* name : {"rope_scaling", "rope_parameters"}) {
      const Json* rope = find(name);
      if (!rope) continue;
      const auto known = [&](std::initializer_list<const char*> types) {
        for (const char* kind : {"rope_type", "type"}) {
          const auto type = rope->find(kind);
          if (type != rope->end()) return std::find(types.begin(), types.end(), *type) != types.end();
        }
        return false;
      };
      const char* const expected = "rotary positions of the kind default, linear or llama3";
      if (!rope->is_object()) wrong(name, rope, expected);
      out.theta = number(*rope, "rope_theta", out.theta);
      if (known({"default"})) continue;
      if (!known({"linear", "llama3"})) wrong(name, rope, expected);
      out.scaling.factor = number(*rope, "factor", 1);
      if (!known({"llama3"})) continue;
      out.scaling.original_context = static_cast<std::int64_t>(std::min(number(*rope, "original_max_position_embeddings", 8192), 1e9));
      out.scaling.low_freq_factor = number(*rope, "low_freq_factor", 1),
      out.scaling.high_freq_factor = number(*rope, "high_freq_factor", 4);
    }
    return out;
  }
  /// One number or several.
  text::Ids tokens(const char* name, std::int64_t vocabulary) const {
    const Json* value = find(name);
    text::Ids ids;
    if (!value) return ids;
    for (const Json& one : value->is_array() ? *value : Json::array({*value})) {
      if (!one.is_number_integer() || one.get<double>() < 0 || one.get<double>() >= static_cast<double>(vocabulary))
        wrong(name, value, "tokens below " + std::to_string(vocabulary));
      ids.push_back(one.get<text::Id>());
    }
    return ids;
  }
  const std::string& path() const { return path_; }

 private:
  const Json* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  double number(const Json& in, const char* name, double otherwise) const {
    const auto found = in.find(name);
    if (found == in.end() || found->is_null()) return otherwise;
    if (!found->is_number() || !(found->get<double>() > 0)) wrong(name, &*found, "a positive number");
    return found->get<double>();
  }
  [[noreturn]] void wrong(const char* name, const Json* value, const std::string& expected) const {
    refuse(path_ + ": " + name + (value ? " = " + shown(*value) : " is missing"), expected);
  }
  std::string path_;
  Json json_;
};

/// The tensors of the folder, in one file or several: safetensors, or PyTorch's of older models.
StateDict read_weights(const std::filesystem::path& folder) {
  std::filesystem::path index;
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    if (io::is_there(folder / name)) return load_state(folder / name);
    index = folder / (std::string(name) + ".index.json");
    if (io::is_there(index)) break;
  }
  if (!io::is_there(index))
    refuse(folder.string() + ", a folder without model.safetensors and pytorch_model.bin", "weights in one of these files");
  const Json json = read_json(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) refuse(index.string() + " without weight_map", "the file of each tensor");
  std::set<std::string> files;
  for (const Json& file : *map) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || std::filesystem::path(name).filename() != name)
      refuse(index.string() + ": weights in " + shown(file), "names of files in the folder");
    files.insert(name);
  }
  StateDict state;
  for (const std::string& file : files) {
    StateDict part = load_state(folder / file);
    std::move(part.begin(), part.end(), std::back_inserter(state));
  }
  return state;
}

std::unique_ptr<Gpt2> read_gpt2(const Config& config, const StateDict& weights, LoadReport& report) {
  config.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  config.require("tie_word_embeddings", {true});
  config.require("scale_attn_weights", {true});
  config.require("scale_attn_by_inverse_layer_idx", {false});
  const Gpt2Options options{.vocabulary = config.size("vocab_size"),
                            .width = config.size("n_embd"),
                            .layers = std::min(config.size("n_layer"), static_cast<std::int64_t>(weights.size())),
                            .heads = config.size("n_head"),
                            .context = config.size("n_positions", 1024),
                            .norm_eps = config.number("layer_norm_epsilon", 1e-5)};
  config.require("n_inner", {4 * options.width});
  const StateDict state = gpt2_state(weights);
  require_tensor("load_hugging_face", state, "wte.weight", {options.vocabulary, options.width}, config.path());
  require_tensor("load_hugging_face", state, "wpe.weight", {options.context, options.width}, config.path());
  auto net = std::make_unique<Gpt2>(options);
  report = load(*net, state);
  return net;
}

std::unique_ptr<Llama> read_llama(const Config& config, const StateDict& weights, LoadReport& report) {
  config.require("hidden_act", {"silu"});
  config.require("attention_bias", {false});
  config.require("mlp_bias", {false});
  const std::int64_t heads = config.size("num_attention_heads"), width = config.size("hidden_size");
  LlamaOptions options{.vocabulary = config.size("vocab_size"),
                       .width = width,
                       .layers = std::min(config.size("num_hidden_layers"), static_cast<std::int64_t>(weights.size())),
                       .heads = heads,
                       .kv_heads = config.size("num_key_value_heads", heads),
                       .hidden = config.size("intermediate_size"),
                       .context = config.size("max_position_embeddings", 2048),
                       .norm_eps = config.number("rms_norm_eps", 1e-6),
                       .rotary = config.rotary(),
                       .tied = config.flag("tie_word_embeddings", false)};
  config.require("head_dim", {width / heads});
  StateDict state;
  for (const NamedTensor& one : weights) {
    const bool computed = one.name.ends_with("rotary_emb.inv_freq") || (options.tied && one.name == "lm_head.weight");
    if (!computed) state.push_back(one);
  }
  require_tensor("load_hugging_face", state, "model.embed_tokens.weight", {options.vocabulary, width}, config.path());
  require_tensor("load_hugging_face", state, "model.layers.0.mlp.up_proj.weight", {options.hidden, width}, config.path());
  auto net = std::make_unique<Llama>(options);
  report = load(*net, state);
  return net;
}

}  // namespace

LanguageModel load_hugging_face(const std::string& folder, const std::string& tokenizer) {
  const Config config((std::filesystem::path(folder) / "config.json").string());
  const std::string type = config.text("model_type");
  if (type != "gpt2" && type != "llama") refuse(config.path() + ": model_type \"" + type.substr(0, 80) + "\"", "\"gpt2\" or \"llama\"");
  const StateDict weights = read_weights(folder);
  LoadReport report;
  const auto with_tokenizer = [&](auto net) -> LanguageModel {
    return {.net = std::move(net),
            .tokenizer = text::read_tokenizer(tokenizer.empty() ? folder : tokenizer),
            .ends = config.tokens("eos_token_id", config.size("vocab_size")),
            .report = std::move(report)};
  };
  return type == "gpt2" ? with_tokenizer(read_gpt2(config, weights, report)) : with_tokenizer(read_llama(config, weights, report));
}

}  // namespace tegula::models
