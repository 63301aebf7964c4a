#include "tegula/models/text/llama.h"

#include <cstdlib>
#include <cstring>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/models/text/decoder.h"
#include "tegula/nn/state.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

std::int64_t groups_of(const LlamaOptions& o) { return o.kv_heads > 0 ? o.kv_heads : o.heads; }

const LlamaOptions& checked(const LlamaOptions& o) {
  if (o.vocabulary < 1 || o.layers < 1 || o.heads < 1 || o.hidden < 1 || o.context < 1 || o.width % o.heads != 0 ||
      o.heads % groups_of(o) != 0) {
    ops::refuse("Llama",
                "width " + std::to_string(o.width) + ", heads " + std::to_string(o.heads) + ", kv_heads " + std::to_string(o.kv_heads) +
                    ", layers " + std::to_string(o.layers),
                "positive sizes, a width that the heads divide, and heads that kv_heads divide", {});
  }
  return o;
}

nn::Linear projection(std::int64_t in, std::int64_t out, const LlamaOptions& o) {
  return nn::Linear(in, out, {.bias = false, .dtype = o.dtype});
}

}  // namespace

namespace llama {

Attention::Attention(const LlamaOptions& o)
    : q_proj(projection(o.width, o.width, o)),
      k_proj(projection(o.width, o.width / o.heads * groups_of(o), o)),
      v_proj(projection(o.width, o.width / o.heads * groups_of(o), o)),
      o_proj(projection(o.width, o.width, o)),
      heads_(o.heads),
      groups_(groups_of(o)),
      width_(o.width / o.heads),
      rotary_(width_, o.rotary) {
  split.units = groups_;
}

Tensor Attention::operator()(Tensor x, Tensor places, nn::KeyValueCache* cache, int layer) const {
  x = split.enter(x, {});
  const std::int64_t batch = x.size(0), length = x.size(1), heads = split.own(heads_), groups = split.own(groups_);  // this rank's
  const Tensor q = rotary_(reshape(q_proj(x), {batch, length, heads, width_}), places);
  const Tensor k = rotary_(reshape(k_proj(x), {batch, length, groups, width_}), places);
  const Tensor v = reshape(v_proj(x), {batch, length, groups, width_});
  return o_proj(attend_cached(q, k, v, cache, layer));
}

void Attention::visit(nn::Visitor& visitor, const nn::Path& path) {
  visitor.split(path, split, {{&q_proj.weight, 0}, {&k_proj.weight, 0}, {&v_proj.weight, 0}});
  for (auto [name, layer] : {std::pair{"q_proj", &q_proj}, {"k_proj", &k_proj}, {"v_proj", &v_proj}, {"o_proj", &o_proj}})
    layer->visit(visitor, nn::Path{&path, name});
}

FeedForward::FeedForward(const LlamaOptions& o)
    : gate_proj(projection(o.width, o.hidden, o)),
      up_proj(projection(o.width, o.hidden, o)),
      down_proj(projection(o.hidden, o.width, o)) {}

Tensor FeedForward::operator()(Tensor x) const {
  x = split.enter(x, {});
  return down_proj(silu(gate_proj(x)) * up_proj(x));
}

void FeedForward::visit(nn::Visitor& visitor, const nn::Path& path) {
  visitor.split(path, split, {{&gate_proj.weight, 0}, {&up_proj.weight, 0}});
  for (auto [name, layer] : {std::pair{"gate_proj", &gate_proj}, {"up_proj", &up_proj}, {"down_proj", &down_proj}})
    layer->visit(visitor, nn::Path{&path, name});
}

Block::Block(const LlamaOptions& o)
    : self_attn(o),
      mlp(o),
      input_layernorm(o.width, {.eps = o.norm_eps, .dtype = o.dtype}),
      post_attention_layernorm(o.width, {.eps = o.norm_eps, .dtype = o.dtype}) {}

Tensor Block::operator()(Tensor x, Tensor places, nn::KeyValueCache* cache, int layer) const {
  x = x + self_attn(input_layernorm(x), places, cache, layer);
  return x + mlp(post_attention_layernorm(x));
}

Body::Body(const LlamaOptions& o)
    : embed_tokens(o.vocabulary, o.width, {.dtype = o.dtype}),
      layers(nn::repeat(o.layers, [&] { return Block(o); })),
      norm(o.width, {.eps = o.norm_eps, .dtype = o.dtype}) {}

}  // namespace llama

Llama::Llama(const LlamaOptions& options) : model(checked(options)), options_(options) {
  if (!options.tied) lm_head.emplace(projection(options.width, options.vocabulary, options));
}

Tensor Llama::hidden(Arg tokens, nn::KeyValueCache* cache) const {
  const In frame("Llama", tokens.loc);
  const Tensor t = checked_tokens("Llama", tokens, options_.context);
  const Tensor places = cache ? cache->places(t.size(1)) : arange(t.size(1));
  Tensor x = model.embed_tokens(t);  // (B, T, width)
  for (std::size_t i = 0; i < model.layers.size(); ++i) x = model.layers[i](x, places, cache, static_cast<int>(i));
  if (cache) cache->advance(t.size(1));
  return model.norm(x);
}

Tensor Llama::head(Arg x) const {
  const In frame("Llama", x.loc);
  return lm_head ? (*lm_head)(x) : model.embed_tokens.scores(x);
}

nn::KeyValueCache Llama::cache(std::int64_t batch, std::int64_t capacity) const {
  return nn::KeyValueCache({.layers = static_cast<int>(options_.layers),
                            .batch = batch,
                            .capacity = capacity > 0 ? capacity : options_.context,
                            .heads = model.layers.front().self_attn.split.own(groups_of(options_)),
                            .width = options_.width / options_.heads,
                            .dtype = options_.dtype});
}

dist::TensorPlan llama_plan(dist::Steps steps) {
  using namespace dist;
  const bool shared = steps == Steps::Shared;
  const Placement between = shared ? Placement::Sequence : Placement::Replicated;
  const std::string layers = "model.layers.*.";
  TensorPlan plan{
      {"model.embed_tokens", VocabularyParallel{.output = between}},     {layers + "self_attn", ColwiseParallel{.input = between}},
      {layers + "self_attn.o_proj", RowwiseParallel{.output = between}}, {layers + "mlp", ColwiseParallel{.input = between}},
      {layers + "mlp.down_proj", RowwiseParallel{.output = between}},    {"lm_head", VocabularyParallel{}, true}};  // tied: without
  if (!shared) return plan;
  for (const char* const norm : {"input_layernorm", "post_attention_layernorm"}) plan.push_back({layers + norm, SequenceParallel{}});
  plan.push_back({"model.norm", SequenceParallel{.output = Placement::Replicated}});
  return plan;
}

Llama load_llama2c(const std::string& path) { return parse_llama2c(io::read_file(path, {.op = "load_llama2c"}), path); }

Llama parse_llama2c(std::span<const std::byte> bytes, const std::string& path) {
  const In frame("load_llama2c", {});
  io::refuse_binary_kinds(bytes, "load_llama2c", path, "a checkpoint of llama2.c");
  const auto refuse = [&](const std::string& got, const std::string& expected) {
    throw Error({.op = "load_llama2c", .got = path + ": " + got, .expected = expected});
  };
  std::int32_t header[7];  // width, hidden, layers, heads, kv_heads, vocabulary (negative: not tied), context
  if (bytes.size() < sizeof header) refuse(std::to_string(bytes.size()) + " bytes", "a header of 28");
  std::memcpy(header, bytes.data(), sizeof header);
  constexpr std::int32_t kMost = 1 << 24;
  for (int i = 0; i < 7; ++i) {
    const std::int32_t size = i == 5 && header[i] != std::numeric_limits<std::int32_t>::min() ? std::abs(header[i]) : header[i];
    if (size < 1 || size > kMost) refuse("the size " + std::to_string(header[i]) + " in its header", "sizes from 1 to 2^24");
  }
  LlamaOptions o{.vocabulary = std::abs(header[5]),
                 .width = header[0],
                 .layers = header[2],
                 .heads = header[3],
                 .kv_heads = header[4],
                 .hidden = header[1],
                 .context = header[6],
                 .rotary = {.interleaved = true},
                 .tied = header[5] > 0};
  if (o.width % o.heads != 0 || o.heads % o.kv_heads != 0 || o.width / o.heads % 2 != 0)
    refuse("width " + std::to_string(o.width) + " of " + std::to_string(o.heads) + " heads", "an even width of each head");
  const std::int64_t keys = o.width / o.heads * o.kv_heads, angles = o.context * (o.width / o.heads) / 2;
  const double floats = static_cast<double>(o.vocabulary) * static_cast<double>(o.width) * (o.tied ? 1 : 2) + static_cast<double>(o.width) +
                        2 * static_cast<double>(angles) +
                        static_cast<double>(o.layers) * static_cast<double>(o.width) *
                            (2 + 2 * static_cast<double>(o.width) + 2 * static_cast<double>(keys) + 3 * static_cast<double>(o.hidden));
  if (static_cast<double>(bytes.size()) != static_cast<double>(sizeof header) + 4 * floats)
    refuse(std::to_string(bytes.size()) + " bytes",
           "28 and 4 for each of " + std::to_string(static_cast<std::int64_t>(floats)) + " weights");

  std::size_t at = sizeof header;
  StateDict state;
  const auto next = [&](const std::string& name, const Shape& shape) {
    HostArray array = HostArray::empty(f32, shape);
    std::memcpy(array.values<float>().data(), bytes.data() + at, array.bytes());
    at += array.bytes();
    state.push_back({name, from_array(array)});
  };
  const auto each_layer = [&](const std::string& name, const Shape& shape) {
    for (std::int64_t i = 0; i < o.layers; ++i) next("model.layers." + std::to_string(i) + "." + name + ".weight", shape);
  };
  next("model.embed_tokens.weight", {o.vocabulary, o.width});
  each_layer("input_layernorm", {o.width});
  each_layer("self_attn.q_proj", {o.width, o.width});
  each_layer("self_attn.k_proj", {keys, o.width});
  each_layer("self_attn.v_proj", {keys, o.width});
  each_layer("self_attn.o_proj", {o.width, o.width});
  each_layer("post_attention_layernorm", {o.width});
  each_layer("mlp.gate_proj", {o.hidden, o.width});
  each_layer("mlp.down_proj", {o.width, o.hidden});
  each_layer("mlp.up_proj", {o.hidden, o.width});
  next("model.norm.weight", {o.width});
  at += static_cast<std::size_t>(angles) * 8;  // cosines and sines, which we make ourselves
  if (!o.tied) next("lm_head.weight", {o.vocabulary, o.width});
  Llama llama(o);
  load(llama, state);
  return llama;
}

}  // namespace tegula::models
