// Generation: one executable, prompts of different lengths, ways to choose, beams, stops.

#include "tegula/models/text/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tegula/models/text/beam.h"
#include "tegula/models/text/gpt2.h"
#include "tegula/models/text/llama.h"
#include "tegula/tegula.h"
#include "tests/support/on_device.h"
#include "tests/support/queued_device.h"

namespace tegula {
namespace {

using Tokens = std::vector<std::int64_t>;

const models::Llama& llama() {
  static const models::Llama net = [] {
    manual_seed(3);
    models::Llama net({.vocabulary = 61, .width = 32, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 48, .context = 64, .tied = true});
    for (const Parameter& p : parameters(net)) p.assign(p.read() * 2.0);  // scores that differ
    return net;
  }();
  return net;
}

/// The next token by all scores of the whole text, without a cache.
template <class Net>
Tokens by_hand(const Net& net, Tokens text, std::int64_t count) {
  Tokens out;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor scores = net(tensor(text, {1, static_cast<std::int64_t>(text.size())}));
    text.push_back(argmax(select(select(scores, 1, -1), 0, 0)).item<std::int64_t>());
    out.push_back(text.back());
  }
  return out;
}

TEST(TextGenerator, TakesTheGreatestScoreStepByStep) {
  models::TextGenerator generate(llama());
  for (const Tokens& prompt : {Tokens{5}, Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9}, Tokens{60, 0, 13}})
    EXPECT_EQ(generate(prompt, {.max_new_tokens = 12}).tokens, by_hand(llama(), prompt, 12));
  EXPECT_EQ(generate.step_signatures(), 1u);
}

TEST(TextGenerator, GivesPromptsOfDifferentLengthsWhatEachGetsAlone) {
  models::TextGenerator generate(llama(), 3);
  const std::vector<Tokens> prompts{{5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {60, 0, 13}};
  const auto got = generate(prompts, {.max_new_tokens = 10});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i].tokens, by_hand(llama(), prompts[i], 10)) << i;
}

TEST(TextGenerator, KnowsPlacesOfDifferentLengthsInGpt2) {
  manual_seed(4);
  models::Gpt2 net({.vocabulary = 31, .width = 16, .layers = 2, .heads = 2, .context = 32});
  for (const Parameter& p : parameters(net)) p.assign(p.read() * 5.0);
  eval(net);
  models::TextGenerator two(net, 2), one(net);
  const std::vector<Tokens> prompts{{5, 30, 2, 2, 7}, {1, 2}};
  const auto got = two(prompts, {.max_new_tokens = 8});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(got[i].tokens, one(prompts[i], {.max_new_tokens = 8}).tokens) << i;
}

/// Products of few rows are programs that store keys and values in the caches.
TEST(TextGenerator, GivesTheSameTokensOnADeviceThatQueues) {
  const auto made = [] {
    manual_seed(6);
    models::Gpt2 net({.vocabulary = 67, .width = 128, .layers = 2, .heads = 4, .context = 32});
    for (const Parameter& p : parameters(net)) p.assign(p.read() * 3.0);
    return net;
  };
  const std::vector<Tokens> prompts{{5}, {1, 2, 3, 4, 5, 6, 7}, {60, 0, 13}};
  std::vector<Tokens> want;
  const models::Gpt2 here = made();
  for (const Tokens& prompt : prompts) want.push_back(by_hand(here, prompt, 12));
  const test::OnDevice there(test::QueuedDevice::create());
  const models::Gpt2 net = made();
  models::TextGenerator alone(net), together(net, 3);
  const auto all = together(prompts, {.max_new_tokens = 12});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(alone(prompts[i], {.max_new_tokens = 12}).tokens, want[i]) << i;
    EXPECT_EQ(all[i].tokens, want[i]) << i;
  }
}

TEST(TextGenerator, Stops) {
  models::TextGenerator generate(llama());
  const Tokens prompt{5}, all = by_hand(llama(), prompt, 8);
  const auto first = static_cast<std::size_t>(std::ranges::find(all, all[3]) - all.begin());  // its first occurrence
  const auto stopped = generate(prompt, {.max_new_tokens = 8, .stop_tokens = {all[3]}});
  EXPECT_EQ(stopped.tokens, Tokens(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first)));
  EXPECT_TRUE(stopped.finished);
  const auto text = [](const Tokens& tokens) {
    std::string out;
    for (std::int64_t t : tokens) out += "<" + std::to_string(t) + ">";
    return out;
  };
  const std::string stop = std::to_string(all[1]) + "><" + std::to_string(all[2]);  // across two tokens
  const auto by_string = generate(prompt, {.max_new_tokens = 8, .stop_strings = {stop}, .text = text});
  std::size_t until = 0;  // the first tokens whose text holds it
  while (text(Tokens(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(until))).find(stop) == std::string::npos) ++until;
  EXPECT_EQ(by_string.tokens.size(), until);
  EXPECT_TRUE(by_string.finished);
  Tokens streamed;
  generate(prompt, {.max_new_tokens = 8, .on_token = [&](std::size_t, std::int64_t token) {
                      streamed.push_back(token);
                      return streamed.size() < 4;
                    }});
  EXPECT_EQ(streamed, Tokens(all.begin(), all.begin() + 4));
  EXPECT_FALSE(generate(prompt, {.max_new_tokens = 8}).finished);
}

TEST(TextGenerator, FillsTheCacheAndNoMore) {
  models::TextGenerator generate(llama(), 1, 16);
  EXPECT_EQ(generate(Tokens{1, 2, 3}, {.max_new_tokens = 100}).tokens.size(), 13u);
  EXPECT_THROW(generate(Tokens(16, 1)), Error);
  EXPECT_THROW(generate(Tokens{}), Error);
  EXPECT_THROW(generate(Tokens{61}), Error);
  EXPECT_THROW(generate(std::vector<Tokens>{{1}, {2}}), Error);
}

/// The number of times that each token is drawn.
std::map<std::int64_t, int> counts(const Tensor& scores, const models::Sampling& sampling, const Tensor& seen = {}) {
  Generator generator(11);
  const Tensor rows = expand(scores, {4000, scores.size(-1)});
  const Tensor marks = seen.defined() ? expand(seen, rows.shape()) : Tensor();
  std::map<std::int64_t, int> out;
  for (std::int64_t token : models::sample(rows, sampling, marks, &generator).to_host<std::int64_t>()) ++out[token];
  return out;
}

TEST(Sample, DrawsByTheSoftmaxOfWhatIsLeft) {
  const std::vector<double> p{0.5, 0.25, 0.15, 0.1};
  const Tensor scores = log(tensor({0.5f, 0.25f, 0.15f, 0.1f}));
  const auto expect = [&](const models::Sampling& sampling, const std::vector<double>& wanted) {
    auto got = counts(scores, sampling);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(got[static_cast<std::int64_t>(i)] / 4000.0, wanted[i], wanted[i] == 0 ? 1e-12 : 0.03) << i;
  };
  expect({}, p);
  expect({.temperature = 0}, {1, 0, 0, 0});
  expect({.temperature = 0.5}, {0.25 / 0.345, 0.0625 / 0.345, 0.0225 / 0.345, 0.01 / 0.345});
  expect({.top_k = 2}, {2.0 / 3, 1.0 / 3, 0, 0});
  expect({.top_p = 0.7}, {2.0 / 3, 1.0 / 3, 0, 0});
  expect({.top_p = 0.01}, {1, 0, 0, 0});
  expect({.min_p = 0.25}, {0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0});
}

TEST(Sample, PunishesWhatWasThere) {
  const Tensor scores = tensor({2.0f, 1.5f, -1.0f}, {1, 3}), seen = tensor({true, false, false}, {1, 3});
  EXPECT_EQ(models::sample(scores, {.temperature = 0, .repetition_penalty = 2}, seen).to_host<int>(), (std::vector<int>{1}));
  EXPECT_THROW(models::sample(scores, {.repetition_penalty = 2}), Error);
  for (const models::Sampling& wrong :
       {models::Sampling{.temperature = -1}, {.top_k = -1}, {.top_p = 0}, {.min_p = 2}, {.repetition_penalty = 0}})
    EXPECT_THROW(models::sample(scores, wrong, seen), Error);
}

TEST(TextGenerator, RemembersWhatWasThere) {
  models::TextGenerator generate(llama());
  const Tokens got = generate(Tokens{5, 9}, {.max_new_tokens = 30, .sampling = {.temperature = 0, .repetition_penalty = 1e6}}).tokens;
  std::map<std::int64_t, int> times{{5, 1}, {9, 1}};
  for (std::int64_t token : got) EXPECT_EQ(++times[token], 1) << token;
}

/// All continuations of three tokens, by their log-probability / length.
TEST(TextGenerator, FindsTheBestOfAllWithEnoughBeams) {
  manual_seed(6);
  models::Llama net({.vocabulary = 5, .width = 16, .layers = 1, .heads = 2, .hidden = 16, .context = 16, .tied = true});
  for (const Parameter& p : parameters(net)) p.assign(p.read() * 2.0);
  const Tokens prompt{1, 3};
  const std::int64_t stop = 0;
  Tokens best;
  double most = -1e300;
  const std::function<void(Tokens, double)> walk = [&](const Tokens& so_far, double score) {
    Tokens text = prompt;
    text.insert(text.end(), so_far.begin(), so_far.end());
    const auto p =
        log_softmax(select(select(net(tensor(text, {1, static_cast<std::int64_t>(text.size())})), 1, -1), 0, 0), 0).to_host<double>();
    for (std::int64_t token = 0; token < 5; ++token) {
      const double total = score + p[static_cast<std::size_t>(token)], mean = total / static_cast<double>(so_far.size() + 1);
      Tokens next = so_far;
      if (token != stop) next.push_back(token);
      const bool ends = token == stop || next.size() == 3;
      if (ends && mean > most) most = mean, best = next;
      if (!ends) walk(next, total);
    }
  };
  walk({}, 0);
  const std::int64_t beams = 25;
  models::TextGenerator generate(net, beams);
  const auto got = generate(prompt, {.max_new_tokens = 3, .stop_tokens = {stop}, .beams = beams});
  EXPECT_EQ(got.tokens, best);
  EXPECT_NEAR(got.score, most, 1e-5);
}

TEST(BeamSearch, KeepsEndedOnesAsideAndNormalisesByLength) {
  models::BeamSearch search(2, 1, {9});
  const float first[] = {-0.1f, -0.5f, -3.0f, -4.0f, 0, 0, 0, 0};
  const std::int64_t first_tokens[] = {1, 9, 2, 3, 0, 0, 0, 0};
  search.extend(first, first_tokens);
  ASSERT_EQ(search.beams().size(), 2u);
  EXPECT_EQ(search.beams()[0].tokens, (Tokens{1}));
  EXPECT_EQ(search.beams()[1].tokens, (Tokens{2}));
  EXPECT_FALSE(search.done());
  const float second[] = {-0.2f, -2.0f, -3.0f, -4.0f, -0.1f, -1.0f, -2.0f, -3.0f};
  const std::int64_t second_tokens[] = {9, 4, 5, 6, 4, 9, 5, 6};
  search.extend(second, second_tokens);
  EXPECT_TRUE(search.done());  // (-0.1 - 0.2) / 2 and -0.5 / 1 against (-0.1 - 2) / 2
  EXPECT_EQ(search.best().tokens, (Tokens{1}));
  EXPECT_NEAR(search.best().score, -0.15, 1e-6);
}

TEST(KeyValueCache, GrowsAndForgets) {
  nn::KeyValueCache cache = llama().cache(1, 8);
  const Tensor text = tensor<std::int64_t>({1, 2, 3, 4, 5, 6}, {1, 6});
  llama()(text, &cache).to_host();
  EXPECT_EQ(cache.length().item<int>(), 6);
  cache.reserve(16);
  const Tensor more = tensor<std::int64_t>({7, 8, 9, 10}, {1, 4});
  const auto grown = llama()(more, &cache).to_host();
  const auto whole = slice(llama()(tensor<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 10})), 1, {6, {}}).to_host();
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(grown[i], whole[i], 1e-3 * std::max(1.0f, std::abs(whole[i])));
  cache.truncate(6);
  const auto again = llama()(more, &cache).to_host();
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(again[i], grown[i], 1e-5 * std::max(1.0f, std::abs(whole[i])));
  EXPECT_THROW(llama()(tensor(Tokens(17, 1), {1, 17}), &cache), Error);
}

TEST(KeyValueCache, GrowsUnderACompiledStep) {
  const Tensor text = tensor<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 3, 1}, {1, 12});
  const Tensor whole = llama()(text);
  nn::KeyValueCache cache = llama().cache(1, 4);
  auto step = jit([&](const Tensor& token) { return llama()(token, &cache); });
  for (std::int64_t t = 0; t < 12; ++t) {
    if (t == 3) cache.reserve(6);
    if (t == 6) cache.reserve(12);
    const auto got = step(slice(text, 1, {t, t + 1})).to_host(), expected = slice(whole, 1, {t, t + 1}).to_host();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-3 * std::max(1.0f, std::abs(expected[i]))) << t;
    EXPECT_EQ(cache.length().item<int>(), t + 1);
  }
  EXPECT_EQ(step.executables(), 3);
}

}  // namespace
}  // namespace tegula
