// Lesson 11: a GPT from scratch, with its cache.
//
// A decoder reads a text from left to right and predicts the next token at each position. This is all of it: an embedding, blocks of attention and
// feed-forward layers, and a product with the embedding's own matrix. models::Gpt2 is the same with the names of the published weights.

#include <tegula/tegula.h>
#include <tegula/text.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

using namespace tegula;
using Ids = std::vector<std::int64_t>;

// --- 1. The net -----------------------------------------------------------------------------------------------------------------------
struct Attention {
  std::int64_t width, heads;
  nn::Linear qkv{width, 3 * width};
  nn::Linear out{width, width};

  // x (B, T, width). Each position compares its query (q) with the keys (k) of all earlier ones and takes the weighted mean of their values (v).
  Tensor operator()(Tensor x, nn::KeyValueCache* cache, int layer) const {
    const std::int64_t batch = x.size(0), length = x.size(1), each = width / heads;
    const auto parts = split(qkv(x), width, -1);
    const auto by_head = [&](const Tensor& t) { return reshape(t, {batch, length, heads, each}); };  // (B, T, H, D)
    const auto swapped = [](const Tensor& t) { return permute(t, {0, 2, 1, 3}); };  // (B, H, T, D)
    Tensor y;
    if (cache) {  // earlier positions are in the cache: only the new ones are computed
      const auto [keys, values] = cache->extend(layer, by_head(parts[1]), by_head(parts[2]));
      y = scaled_dot_product_attention(swapped(by_head(parts[0])), keys, values, cache->attention());
    } else {
      y = scaled_dot_product_attention(swapped(by_head(parts[0])), swapped(by_head(parts[1])), swapped(by_head(parts[2])),
                                       {.causal = true});
    }
    return out(reshape(swapped(y), {batch, length, width}));
  }
};

struct Block {
  std::int64_t width, heads;
  nn::LayerNorm norm1{width};
  Attention attention{width, heads};
  nn::LayerNorm norm2{width};
  nn::Linear up{width, 4 * width}, down{4 * width, width};

  Tensor operator()(Tensor x, nn::KeyValueCache* cache, int layer) const {
    x = x + attention(norm1(x), cache, layer);
    return x + down(gelu(up(norm2(x))));
  }
};

struct Gpt {
  std::int64_t vocabulary, context, width, heads, depth;
  nn::Embedding tokens{vocabulary, width}, places{context, width};
  std::vector<Block> blocks = nn::repeat(depth, [&] { return Block{width, heads}; });
  nn::LayerNorm norm{width};

  Tensor hidden(Tensor ids, nn::KeyValueCache* cache = nullptr) const {  // (B, T) -> (B, T, width)
    const Tensor at = cache ? cache->places(ids.size(1)) : arange(ids.size(1));
    Tensor x = tokens(ids) + places(at);
    for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x, cache, static_cast<int>(i));
    if (cache) cache->advance(ids.size(1));
    return norm(x);
  }
  Tensor head(Tensor x) const { return linear(x, tokens.weight); }  // (…, width) -> (…, vocabulary)
  Tensor operator()(Tensor ids, nn::KeyValueCache* cache = nullptr) const { return head(hidden(ids, cache)); }
  nn::KeyValueCache cache(std::int64_t batch = 1, std::int64_t capacity = 0) const {
    return nn::KeyValueCache({.layers = static_cast<int>(depth),
                              .batch = batch,
                              .capacity = capacity > 0 ? capacity : context,
                              .heads = heads,
                              .width = width / heads});
  }
};

Gpt small_gpt(std::int64_t vocabulary) {
  manual_seed(1);
  Gpt net{vocabulary, 32, 32, 4, 2};
  for (nn::Embedding* table : {&net.tokens, &net.places}) table->weight = normal(table->weight.shape(), 0, 0.1);
  return net;
}

// --- 2. Nobody looks ahead, and a cache changes nothing --------------------------------------------------------------------------------
void the_past_only() {
  const Gpt net = small_gpt(20);
  const Ids text{3, 14, 15, 9, 2, 6, 5, 3, 5, 8};
  const auto length = static_cast<std::int64_t>(text.size());
  const auto whole = net(tensor(text, {1, length})).to_host();  // (1, T, 20)

  Ids other = text;
  other.back() = 0;
  const auto changed = net(tensor(other, {1, length})).to_host();
  for (std::size_t i = 0; i < 9 * 20; ++i) assert(whole[i] == changed[i]);  // a later token changes nothing before it

  // Four tokens at once, then one by one. One executable serves all lengths: the length is a Variable, the cache is written in place.
  nn::KeyValueCache cache = net.cache();
  auto step = jit([&](const Tensor& ids) { return net(ids, &cache); });
  std::vector<float> parts = step(tensor(Ids(text.begin(), text.begin() + 4), {1, 4})).to_host();
  for (std::size_t i = 4; i < text.size(); ++i) {
    const auto next = step(tensor(Ids{text[i]}, {1, 1})).to_host();
    parts.insert(parts.end(), next.begin(), next.end());
  }
  assert(parts.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) assert(std::abs(parts[i] - whole[i]) < 2e-5f * (1 + std::abs(whole[i])));
  assert(step.executables() == 2);  // for four tokens, for one
}

// --- 3. Training on a text, writing on -------------------------------------------------------------------------------------------------
void learn_a_rhyme() {
  std::string rhyme;
  for (int i = 0; i < 60; ++i) rhyme += "one two buckle my shoe\nthree four knock at the door\nfive six pick up sticks\n";
  const text::Tokenizer characters = text::character_tokenizer(rhyme);
  const auto ids = std::make_shared<const text::Ids>(characters.encode(rhyme));
  Gpt net = small_gpt(characters.size());
  optim::AdamW adam(parameters(net), {.lr = 3e-3, .beta2 = 0.99});

  auto step = jit([&](const Tensor& x, const Tensor& y) {  // (B, T): tokens, and those that follow each
    const Tensor loss = cross_entropy(reshape(net(x), {-1, net.vocabulary}), reshape(y, {-1}));
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  data::Loader loader(text::RandomWindows(ids, 32, text::endless(16)), {.batch = 16, .seed = 1});
  const optim::CosineLR schedule{.base = 3e-3, .total = 200, .warmup = 10, .minimum = 3e-4};
  float loss = 0;
  for (int k = 0; k < 200; ++k) {
    adam.lr = schedule(k);
    const auto [x, y] = *loader.next();
    loss = step(x, y).item();
    if (k == 0) assert(std::abs(loss - std::log(static_cast<float>(net.vocabulary))) < 0.5f);  // nothing is known: all are as likely
    if (k % 50 == 49) std::printf("step %3d: %.3f nats per character\n", k + 1, loss);
  }
  assert(loss < 0.4f);

  // By hand: the most likely token, again and again, with all that is there.
  const Ids prompt = characters.encode("one two ");
  Ids by_hand = prompt;
  for (int k = 0; k < 20; ++k) {
    const Tensor scores = net(tensor(by_hand, {1, static_cast<std::int64_t>(by_hand.size())}));
    by_hand.push_back(argmax(select(select(scores, 0, 0), 0, -1)).item<std::int64_t>());
  }
  // TextGenerator does the same for any decoder that has hidden, head and cache.
  models::TextGenerator generate(net);
  const models::Generated text = generate(prompt, {.max_new_tokens = 20});
  std::printf("one two %s\n", characters.decode(text.tokens).c_str());
  assert(Ids(by_hand.begin() + static_cast<std::ptrdiff_t>(prompt.size()), by_hand.end()) == text.tokens);
  assert(characters.decode(text.tokens).starts_with("buckle my shoe"));
  assert(generate.step_signatures() == 1);

  // Less likely tokens now and then: the temperature divides the scores.
  Generator dice(7);
  const models::Generated sampled =
      generate(prompt, {.max_new_tokens = 20, .sampling = {.temperature = 1.5, .top_k = 5}, .generator = &dice});
  std::printf("one two %s\n", characters.decode(sampled.tokens).c_str());
  assert(sampled.tokens.size() == 20);
}

int main() {
  the_past_only();
  learn_a_rhyme();
}
