#include "tegula/models/text/decoder.h"

#include "tegula/ops/shape/axes.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {

Tensor attend_cached(const Tensor& q, const Tensor& k, const Tensor& v, nn::KeyValueCache* cache, int layer, double dropout) {
  const auto by_head = [](const Tensor& x) { return permute(x, {0, 2, 1, 3}); };
  AttentionOptions options{.causal = true};
  nn::KeyValueCache::Seen seen{};
  if (cache) seen = cache->extend(layer, k, v), options = cache->attention();
  else seen = {by_head(k), by_head(v)};
  options.dropout = dropout;
  const Tensor y = scaled_dot_product_attention(by_head(q), seen.keys, seen.values, options);
  return reshape(by_head(y), {q.size(0), q.size(1), q.size(2) * q.size(3)});
}

Tensor checked_tokens(std::string_view model, const Arg& tokens, std::int64_t context) {
  const Tensor t = tokens.tensor(model);
  if (t.rank() != 2 || !is_integer(t.dtype()))
    ops::refuse(model, "tokens of shape " + to_string(t.shape()) + " and dtype " + std::string(name(t.dtype())), "integers (batch, length)",
                tokens.loc, "expand_dims(tokens, 0) makes a batch of one sequence");
  if (t.size(1) > context)
    ops::refuse(model, std::to_string(t.size(1)) + " tokens", "at most the context of " + std::to_string(context), tokens.loc,
                "cut the text, or make the model with a longer context");
  return t;
}

}  // namespace tegula::models
