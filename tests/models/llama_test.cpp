// The decoders: with a trained model's text, and the modes of one against each other.

#include "tegula/models/text/llama.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tegula/io/file.h"
#include "tegula/models/text/generate.h"
#include "tegula/tegula.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

using Tokens = std::vector<std::int64_t>;

models::LlamaOptions small(bool tied = true) {
  return {.vocabulary = 61, .width = 32, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 48, .context = 64, .tied = tied};
}

/// The pieces of a tokenizer of llama2.c, without their scores.
std::vector<std::string> pieces(const std::string& path, std::size_t count) {
  const io::Bytes bytes = io::read_file(path);
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  std::vector<std::string> out;
  for (std::size_t at = 4; out.size() < count;) {  // behind the longest piece's length: score, length, text
    std::int32_t length = 0;
    std::memcpy(&length, text + at + 4, 4);
    out.emplace_back(text + at + 8, static_cast<std::size_t>(length));
    at += 8 + static_cast<std::size_t>(length);
  }
  return out;
}

TEST(Llama, WritesTheStoryThatStories260KIsKnownFor) {
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no shared data";
  const std::string folder = data + "/models/stories260K/";
  const models::Llama llama = models::load_llama2c(folder + "stories260K.bin");
  const auto vocabulary = pieces(folder + "tok512.bin", static_cast<std::size_t>(llama.options().vocabulary));
  const auto text = [&](const Tokens& tokens) {
    std::string out;
    for (std::int64_t token : tokens) {
      std::string piece = vocabulary[static_cast<std::size_t>(token)];
      if (piece.size() == 6 && piece.starts_with("<0x"))
        piece = std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
      out += out.empty() && piece.starts_with(" ") ? piece.substr(1) : piece;
    }
    return out;
  };
  const io::Bytes bytes = io::read_file(folder + "expected_greedy_n200.txt");
  const std::string expected(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  models::TextGenerator generate(llama);
  std::string streamed;
  const models::Generated story = generate(Tokens{1}, {.max_new_tokens = 200, .on_token = [&](std::size_t, std::int64_t token) {
                                                         streamed += text({token});
                                                         return true;
                                                       }});
  EXPECT_EQ(text(story.tokens) + "\n", expected);
  EXPECT_EQ(story.tokens.size(), 200u);
  EXPECT_EQ(generate.step_signatures(), 1u);
}

/// Scores of all places at once against those of a prefill and one token at a time.
TEST(Llama, GivesTheSameScoresWithACacheAsWithout) {
  manual_seed(3);
  models::Llama llama(small());
  const Tokens tokens{5, 17, 60, 0, 33, 9, 9, 41, 2};
  const std::int64_t n = static_cast<std::int64_t>(tokens.size());
  const auto whole = llama(tensor(tokens, {1, n})).to_host();
  nn::KeyValueCache cache = llama.cache(1, 16);
  auto step = jit([&](const Tensor& t) { return llama(t, &cache); });
  std::vector<float> parts = step(tensor(Tokens(tokens.begin(), tokens.begin() + 4), {1, 4})).to_host();
  for (std::int64_t i = 4; i < n; ++i) {
    const auto next = step(tensor(Tokens{tokens[static_cast<std::size_t>(i)]}, {1, 1})).to_host();
    parts.insert(parts.end(), next.begin(), next.end());
  }
  ASSERT_EQ(parts.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(parts[i], whole[i], 2e-5) << i;
  EXPECT_EQ(step.executables(), 2);
  EXPECT_EQ(cache.length().item<std::int64_t>(), n);
  const std::string plan = step.print_plan();
  EXPECT_EQ(plan.find("copy"), std::string::npos) << plan;  // rows are written where the cache lies
}

}  // namespace
}  // namespace tegula
