#pragma once
// A GPT that learns sentences in a moment, for ranks that share out its layers.

#include "tegula/dist.h"
#include "tegula/tegula.h"
#include "tegula/text.h"

namespace tegula::test {

inline constexpr std::int64_t kWords = 41;
struct Gpt {
  models::Gpt2 net;
  explicit Gpt(DType dtype = f32, double dropout = 0)
      : net({.vocabulary = kWords, .width = 16, .layers = 2, .heads = 4, .context = 8, .dropout = dropout, .dtype = dtype}) {}
  Tensor operator()(const Tensor& tokens) { return net(tokens); }
  static constexpr auto fields = nn::fields<&Gpt::net>;
};
inline dist::TensorPlan plan_of_gpt(dist::Steps steps) {
  dist::TensorPlan plan = models::gpt2_plan(steps);
  for (auto& line : plan) line.layers = "net." + line.layers;
  return plan;
}
inline Loss loss_of_words(const dist::Group& group) {
  return [group](const Tensor& scores, const Tensor& labels) {
    return dist::cross_entropy(reshape(scores, {-1, scores.size(2)}), reshape(labels, {-1}), {.group = group, .classes = kWords});
  };
}
/// Rows of tokens below `words`, and those that follow each.
inline data::ArrayDataset sentences(std::int64_t count, std::int64_t words = kWords) {
  HostArray tokens = HostArray::empty(i64, {count, 8}), next = HostArray::empty(i64, {count, 8});
  for (std::int64_t i = 0; i < count * 8; ++i) {
    const auto word = [&](std::int64_t at) { return (i / 8 * 7 + at * at) % words; };
    tokens.values<std::int64_t>()[static_cast<std::size_t>(i)] = word(i % 8);
    next.values<std::int64_t>()[static_cast<std::size_t>(i)] = word(i % 8 + 1);
  }
  return {tokens, next};
}

}  // namespace tegula::test
