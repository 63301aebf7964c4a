// Lesson 10: attention, from one query to multi-head.
//
// A recurrent net hands everything it has read through one vector. Attention looks back instead: it compares a question (query) with each position's
// key, and its answer is the mean of the positions' values, weighted by how well each key fits.

#include <tegula/tegula.h>
#include <tegula/text.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace tegula;

namespace {

bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  const auto x = a.to_host<double>(), y = b.to_host<double>();
  assert(a.shape() == b.shape());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::abs(x[i] - y[i]) > tolerance) return false;
  return true;
}

// --- 1. One query ---------------------------------------------------------------------------------------------------------------------
// Inputs X (N, D), a query q (D). e_i = q · x_i, a = softmax(e), y = Σ a_i x_i.
void one_query() {
  const Tensor x = tensor({1.f, 0.f, 0.f, 1.f, 1.f, 1.f}, {3, 2});
  const Tensor q = tensor({2.f, 0.f});
  const Tensor e = matmul(x, q);  // (3): 2 0 2
  const Tensor a = softmax(e, 0);  // most of the weight is where q points
  const Tensor y = matmul(a, x);  // (2)
  std::printf("weights %.3f %.3f %.3f, answer (%.3f, %.3f)\n", a.to_host()[0], a.to_host()[1], a.to_host()[2], y.to_host()[0],
              y.to_host()[1]);
  assert(std::abs(sum(a).item() - 1) < 1e-6f);
  assert(a.to_host()[0] == a.to_host()[2] && a.to_host()[1] < 0.1f);
  // A query that is long asks for one place alone: a table that is looked up softly, so that it has gradients.
  assert(close(matmul(softmax(matmul(x, tensor({100.f, -100.f})), 0), x), tensor({1.f, 0.f})));
}

// --- 2. Why the scores are divided by √D ------------------------------------------------------------------------------------------------
// Products of random vectors have the variance D. Scores of that size make softmax a choice of one place, and gradients vanish.
void scaled_scores() {
  manual_seed(1);
  const std::int64_t d = 256;
  const Tensor q = normal({64, d}), k = normal({64, d});
  const Tensor raw = matmul(q, transpose(k)), scaled = raw / std::sqrt(static_cast<double>(d));
  const auto spread = [](const Tensor& e) { return std::sqrt(mean(square(e)).item()); };
  const auto sharpest = [](const Tensor& e) { return mean(max(softmax(e, 1), 1)).item(); };
  std::printf("deviation of the scores %.1f, scaled %.2f; greatest weight %.2f, scaled %.2f\n", spread(raw), spread(scaled), sharpest(raw),
              sharpest(scaled));
  assert(std::abs(spread(raw) - 16) < 1 && std::abs(spread(scaled) - 1) < 0.1f);
  assert(sharpest(raw) > 0.7f && sharpest(scaled) < 0.25f);
}

// --- 3. Many queries; keys and values of their own -----------------------------------------------------------------------------------------
// Q (M, D), X (N, F): K = X W_K, V = X W_V, Y = softmax(Q Kᵀ / √D) V. Keys and values are learned apart.
void queries_keys_values() {
  manual_seed(2);
  const Tensor q = normal({2, 8}), x = normal({5, 6}), w_k = normal({6, 8}), w_v = normal({6, 4});
  eval(q, x, w_k, w_v);
  const Tensor k = matmul(x, w_k), v = matmul(x, w_v);
  const Tensor by_hand = matmul(softmax(matmul(q, transpose(k)) / std::sqrt(8.0), 1), v);  // (2, 4)
  assert(close(by_hand, scaled_dot_product_attention(q, k, v)));  // in blocks, without the (M, N) scores in memory
  // Masks: a place that must not be seen gets the score -inf, hence the weight 0. Its key and value may then hold anything.
  const Tensor lengths = tensor<std::int64_t>({3});
  const Tensor three = scaled_dot_product_attention(q, slice(k, 0, {0, 3}), slice(v, 0, {0, 3}));
  assert(close(
      three,
      squeeze(nn::dot_attention(unsqueeze(q, 0), unsqueeze(k, 0), unsqueeze(v, 0), {.lengths = lengths}, 1 / std::sqrt(8.0)).context, 0)));
}

// --- 4. Additive attention --------------------------------------------------------------------------------------------------------------------
// Bahdanau's score is a small net: v · tanh(W q + U k). This score came first, for translation: the decoder's state asks the encoder's states.
void additive() {
  manual_seed(3);
  const nn::AdditiveAttention attention(4, 6, 8);
  const Tensor state = normal({1, 1, 4}), annotations = normal({1, 5, 6});
  eval(state, annotations);
  const auto [context, weights] = attention(state, annotations);
  const Tensor energy = tanh(linear(state, attention.query_layer.weight) + linear(annotations, attention.key_layer.weight));  // (1, 5, 8)
  const Tensor e = squeeze(linear(energy, attention.energy_layer.weight), -1);  // (1, 5)
  assert(close(squeeze(weights, 1), softmax(e, 1)));
  assert(close(context, matmul(weights, annotations)));
}

// --- 5. Self-attention -------------------------------------------------------------------------------------------------------------------------
// Queries come of X, too. Nothing says where a place is: another order of the inputs gives the same outputs in that order. Hence position encodings.
void self_attention() {
  manual_seed(4);
  const nn::MultiheadAttention attention(8, 1, {.batch_first = true});
  const Tensor x = normal({1, 5, 8});
  eval(x);
  const auto looked = [&](const Tensor& t) { return attention(t, t, t).output; };
  const Tensor order = tensor<std::int64_t>({3, 0, 4, 1, 2}), shuffled = take(x, order, 1);
  assert(close(looked(shuffled), take(looked(x), order, 1)));
  const Tensor places = nn::sinusoidal_positions(5, 8);
  assert(!close(looked(shuffled + places), take(looked(x + places), order, 1), 1e-3));
  // A decoder must not see the tokens it is to predict: causal. Then a later input changes no earlier output.
  const Tensor other = concat({slice(x, 1, {0, 4}), normal({1, 1, 8})}, 1);
  const auto past = [&](const Tensor& t) { return slice(attention(t, t, t, {.is_causal = true}).output, 1, {0, 4}); };
  assert(close(past(x), past(other)));
}

// --- 6. Several heads -------------------------------------------------------------------------------------------------------------------------
// One softmax gives one mean. H heads split the features and look at H things at once; their answers lie beside each other, and a last product mixes them.
void several_heads() {
  manual_seed(5);
  const std::int64_t width = 8, heads = 2, each = width / heads;
  const nn::MultiheadAttention attention(width, heads, {.bias = false, .batch_first = true});
  const Tensor x = normal({1, 5, width});
  eval(x);
  const auto parts = chunk(linear(squeeze(x, 0), attention.in_proj_weight), 3, 1);  // Q, K, V (5, width)
  std::vector<Tensor> answers;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto head = [&](const Tensor& t) { return slice(t, 1, {h * each, (h + 1) * each}); };  // (5, each)
    answers.push_back(
        matmul(softmax(matmul(head(parts[0]), transpose(head(parts[1]))) / std::sqrt(static_cast<double>(each)), 1), head(parts[2])));
  }
  const Tensor by_hand = linear(concat(answers, 1), attention.out_proj.weight);
  assert(close(by_hand, squeeze(attention(x, x, x).output, 0)));
}

// --- 7. The learned attention --------------------------------------------------------------------------------------------------------------------
// A translator with attention learns to turn sequences around without being told where to look. The picture of its weights is the other diagonal:
// tegula translate MODEL --text "…" --attention map.png draws one for a real sentence.
void what_it_looks_at() {
  manual_seed(6);
  models::Seq2Seq net({.source_vocabulary = 12, .target_vocabulary = 12, .embedding = 24, .hidden = 24, .dropout = 0});
  optim::Adam adam(parameters(net), {.lr = 1e-2});
  auto step = jit([&](Tensor source) {  // (N, 6) of 3 … 11; 1 begins a target, 2 ends it
    const std::int64_t n = source.size(0);
    const Tensor target = concat({ones({n, 1}, i64), flip(source, {1}), full({n, 1}, 2)}, 1);
    const Tensor scores = net(source, slice(target, 1, {0, -1}));
    const Tensor loss = cross_entropy(reshape(scores, {n * 7, 12}), reshape(slice(target, 1, {1, {}}), {n * 7}));
    adam.step(optim::clip_grad_norm(grad(loss, parameters(net)), 1.0).gradients);
    return loss;
  });
  float loss = 9;
  for (int i = 0; i < 400; ++i) loss = step(randint(3, 12, {64, 6})).item();
  eval(net);
  const std::vector<std::int64_t> sentence{5, 9, 3, 11, 7, 4};
  const Tensor map = select(net.attention(tensor(sentence, {1, 6}), tensor<std::int64_t>({1, 4, 7, 11, 3, 9}, {1, 6})), 0, 0);  // (6, 6)
  const auto a = map.to_host();
  int diagonal = 0;
  std::printf("loss %.3f; what each output looks at:\n", loss);
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 6; ++column)
      std::printf("%s", a[row * 6 + column] > 0.5f ? " #" : a[row * 6 + column] > 0.2f ? " +" : " .");
    std::printf("\n");
    diagonal += std::max_element(a.begin() + static_cast<std::ptrdiff_t>(row * 6), a.begin() + static_cast<std::ptrdiff_t>(row * 6 + 6)) -
                    a.begin() ==
                static_cast<std::ptrdiff_t>(row * 6 + 5 - row);
  }
  assert(loss < 0.2f);
  assert(diagonal >= 5);
}

}  // namespace

int main() {
  one_query();
  scaled_scores();
  queries_keys_values();
  additive();
  self_attention();
  several_heads();
  what_it_looks_at();
}
