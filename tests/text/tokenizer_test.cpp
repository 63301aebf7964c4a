// Tokenizers against the vectors of their makers.

#include "tegula/text/tokens/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tegula/text/lines.h"
#include "tegula/text/tokens/bpe.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

using testing::shared_data;

/// The shared data, or an empty string, which the test reports as skipped.
#define NEEDS_DATA(variable)                  \
  const std::string variable = shared_data(); \
  if (variable.empty()) GTEST_SKIP() << "skipped: no ../shared/data"

Ids ids_of(std::string_view line) {
  Ids out;
  std::string number;
  for (const char c : std::string(line) + ' ') {
    if (c >= '0' && c <= '9') number += c;
    else if (!number.empty()) out.push_back(std::stoll(std::exchange(number, "")));
  }
  return out;
}

/// The texts of llama.cpp's .inp file, which a line separates.
std::vector<std::string> texts_of(const std::string& path) {
  const std::string all = read_text(path), line = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (std::size_t at = 0;;) {
    const std::size_t end = all.find(line, at);
    texts.push_back(all.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) break;
    at = end + line.size();
  }
  if (texts.back().empty()) texts.pop_back();
  return texts;
}

Tokenizer gpt2(const std::string& data) { return read_gpt2_tokenizer(data + "/gpt2-bpe/encoder.json", data + "/gpt2-bpe/vocab.bpe"); }

TEST(Tokenizers, Gpt2GivesAllVectorsAndTheirTextBack) {
  NEEDS_DATA(data);
  const Tokenizer tokenizer = gpt2(data);
  EXPECT_EQ(tokenizer.size(), 50257);
  int count = 0;
  const std::string lines = read_text(data + "/gpt2-bpe/test-vectors.jsonl");
  for (const auto line : split_lines(lines)) {
    const auto vector = nlohmann::json::parse(line);
    const auto text = vector["text"].get<std::string>();
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(ids, vector["ids"].get<Ids>()) << text;
    EXPECT_EQ(tokenizer.decode(ids), text);
    ++count;
  }
  EXPECT_EQ(count, 159);
}

TEST(Tokenizers, Gpt2GivesTheTokenCountsOfTinyshakespeare) {
  NEEDS_DATA(data);
  const Tokenizer tokenizer = gpt2(data);
  const std::string all = read_text(data + "/tinyshakespeare/input.txt");
  const std::size_t cut = all.size() * 9 / 10;  // as nanoGPT cuts it
  const Ids train = tokenizer.encode(all.substr(0, cut)), val = tokenizer.encode(all.substr(cut));
  EXPECT_EQ(train.size(), 301'966u);
  EXPECT_EQ(val.size(), 36'059u);
  EXPECT_EQ(tokenizer.decode(train), all.substr(0, cut));
}

TEST(Tokenizers, TheVocabulariesOfGgufFilesGiveAllVectors) {
  NEEDS_DATA(data);
  for (const std::string name : {"gpt-2", "bert-bge", "llama-spm"}) {
    const std::string path = data + "/tokenizer-vectors/ggml-vocab-" + name + ".gguf";
    const Tokenizer tokenizer = read_tokenizer(path);
    const auto texts = texts_of(path + ".inp");
    const std::string out = read_text(path + ".out");
    const auto lines = split_lines(out);
    ASSERT_EQ(texts.size(), lines.size());
    EXPECT_EQ(texts.size(), 46u);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Ids ids = tokenizer.encode(texts[i], SpecialTokens::No);
      EXPECT_EQ(ids, ids_of(lines[i])) << name << ", text " << i << ": " << texts[i];
      if (name != "bert-bge") { EXPECT_EQ(tokenizer.decode(ids), texts[i]) << name; }
    }
  }
}

TEST(Tokenizers, GgmlsPromptsOfGpt2) {
  NEEDS_DATA(data);
  const Tokenizer tokenizer = gpt2(data);
  const std::string all = read_text(data + "/tokenizer-vectors/ggml-prompts-gpt-2.txt");
  int count = 0;
  for (const auto line : split_lines(all)) {
    const std::size_t arrow = line.rfind(" => ");
    if (arrow == std::string_view::npos) continue;
    EXPECT_EQ(tokenizer.encode(line.substr(0, arrow)), ids_of(line.substr(arrow + 4))) << line;
    ++count;
  }
  EXPECT_EQ(count, 100);
}

TEST(Tokenizers, BertFramesOneTextAndTwo) {
  NEEDS_DATA(data);
  const Tokenizer bert = read_tokenizer(data + "/tokenizer-vectors/ggml-vocab-bert-bge.gguf");
  EXPECT_EQ(bert.encode("Hello, world!"), (Ids{101, 7592, 1010, 2088, 999, 102}));
  const Encoding pair = bert.encode_pair("Hello", "world");
  EXPECT_EQ(pair.ids, (Ids{101, 7592, 102, 2088, 102}));
  EXPECT_EQ(pair.types, (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ(bert.decode(pair.ids), "hello world");
  EXPECT_EQ(bert.decode(bert.encode("These are embeddings, aren’t they?!")), "these are embeddings, aren ’ t they?!");
  EXPECT_EQ(bert.encode("a [MASK] b", SpecialTokens::No), (Ids{1037, 103, 1038}));
}

TEST(Tokenizers, LlamaBeginsWithItsTokenAndFallsBackToBytes) {
  NEEDS_DATA(data);
  const Tokenizer llama = read_tokenizer(data + "/tokenizer-vectors/ggml-vocab-llama-spm.gguf");
  EXPECT_EQ(llama.encode("Hello world"), (Ids{1, 15043, 3186}));
  const Ids ids = llama.encode("🦙");
  EXPECT_EQ(llama.token(ids.back()), "<0x99>");
  EXPECT_EQ(llama.decode(ids), "🦙");
}

TEST(Tokenizers, StoriesVocabularyOfLlama2c) {
  NEEDS_DATA(data);
  const Tokenizer tokenizer = read_tokenizer(data + "/models/stories260K/tok512.bin");
  EXPECT_EQ(tokenizer.size(), 512);
  const std::string text = "Once upon a time, there was a little girl named Lily.";
  const Ids ids = tokenizer.encode(text);
  EXPECT_EQ(ids.front(), 1);
  EXPECT_LT(ids.size(), 30u);
  EXPECT_EQ(tokenizer.decode(ids), text);
}

}  // namespace
}  // namespace tegula::text
