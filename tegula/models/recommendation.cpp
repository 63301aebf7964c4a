#include "tegula/models/recommendation.h"

#include <algorithm>
#include <string>

#include "tegula/core/error.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/shape/index.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

using Widths = std::vector<std::int64_t>;

void require_sizes(const char* model, Widths sizes, const Widths& more) {
  sizes.insert(sizes.end(), more.begin(), more.end());
  if (sizes.empty() || std::ranges::min(sizes) < 1)
    throw Error({.op = model,
                 .got = sizes.empty() ? "no sizes" : "a size of " + std::to_string(std::ranges::min(sizes)),
                 .expected = "at least 1"});
}

/// Layers of these widths with ReLU behind each, the last one too if it is not the end of the model.
nn::Sequential net(std::int64_t in, const Widths& widths, bool to_the_end) {
  nn::Sequential out;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    out.push_back(nn::Linear{in, widths[i]});
    if (!to_the_end || i + 1 < widths.size()) out.push_back(relu);
    in = widths[i];
  }
  return out;
}

Widths with(Widths widths, std::int64_t last) {
  widths.push_back(last);
  return widths;
}

/// Places of the pairs i > j of `count` vectors in their (count, count) products.
Tensor pairs_of(std::int64_t count) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 1; i < count; ++i)
    for (std::int64_t j = 0; j < i; ++j) places.push_back(i * count + j);
  const auto size = static_cast<std::int64_t>(places.size());
  return tensor(places, {size});
}

const NeuMfOptions& valid(const NeuMfOptions& options) {
  require_sizes("NeuMf", {options.users, options.items, options.factors}, options.layers);
  if (options.layers.empty() || options.layers[0] % 2 != 0)
    throw Error({.op = "NeuMf",
                 .got = options.layers.empty() ? "no layers" : "a first width of " + std::to_string(options.layers[0]),
                 .expected = "an even one, half of it for each vector"});
  return options;
}

}  // namespace

Dlrm::Dlrm(const DlrmOptions& options) : options_(options) {
  if (options.tables.empty()) throw Error({.op = "Dlrm", .got = "no tables", .expected = "at least one category"});
  require_sizes("Dlrm", {options.dense, options.width}, options.tables);
  require_sizes("Dlrm", options.bottom, options.top);
  const auto vectors = static_cast<std::int64_t>(options.tables.size()) + 1;
  bot_l = net(options.dense, with(options.bottom, options.width), false);
  for (const std::int64_t rows : options.tables) emb_l.emplace_back(rows, options.width);
  top_l = net(options.width + vectors * (vectors - 1) / 2, with(options.top, 1), true);
}

Tensor Dlrm::operator()(Tensor numbers, Tensor categories) {
  std::vector<Tensor> vectors{bot_l(numbers)};  // each (N, width)
  for (std::size_t i = 0; i < emb_l.size(); ++i) vectors.push_back(emb_l[i](select(categories, 1, static_cast<std::int64_t>(i))));
  const auto count = static_cast<std::int64_t>(vectors.size());
  const Tensor all = stack(vectors, 1);  // (N, count, width)
  const Tensor products = index_select(flatten(matmul(all, transpose(all)), 1), 1, pairs_of(count));
  return squeeze(top_l(concat({vectors[0], products}, 1)), 1);
}

NeuMf::NeuMf(const NeuMfOptions& options)
    : mf_user(valid(options).users, options.factors),
      mf_item(options.items, options.factors),
      mlp_user(options.users, options.layers[0] / 2),
      mlp_item(options.items, options.layers[0] / 2),
      mlp(net(options.layers[0], Widths(options.layers.begin() + 1, options.layers.end()), false)),
      score(options.factors + options.layers.back(), 1),
      options_(options) {}

Tensor NeuMf::operator()(Tensor users, Tensor items) {
  const Tensor product = mf_user(users) * mf_item(items);
  const Tensor deep = mlp(concat({mlp_user(users), mlp_item(items)}, 1));
  return squeeze(score(concat({product, deep}, 1)), 1);
}

}  // namespace tegula::models
