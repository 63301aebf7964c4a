// tokenizer.json against the tokens of the library that writes it, for the same texts (tests/text/make_vectors.py).

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tegula/text/lines.h"
#include "tegula/text/tokens/token_stream.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/unicode.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

std::string folder() { return source_folder() + "/tests/text/tokenizer_json"; }

TEST(TokenizerJson, GivesTheNumbersAndTextsOfItsMaker) {
  const std::string all = read_text(folder() + "/vectors.jsonl");
  std::map<std::string, int> counts;
  for (const auto line : split_lines(all)) {
    const auto vector = nlohmann::json::parse(line);
    const auto file = vector["file"].get<std::string>(), text = vector["text"].get<std::string>();
    const Tokenizer tokenizer = read_tokenizer(folder() + "/" + file + ".json");
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(ids, vector["ids"].get<Ids>()) << file << ": " << text;
    EXPECT_EQ(replace_invalid(tokenizer.decode(ids)), vector["decoded"].get<std::string>()) << file << ": " << text;
    ++counts[file];
  }
  EXPECT_EQ(counts.size(), 9u);
  for (const auto& [file, count] : counts) EXPECT_GE(count, 20) << file;
}

TEST(TokenStream, GivesWhatLongTextsAreDecodedAs) {
  const std::string all = read_text(folder() + "/vectors.jsonl");
  std::map<std::string, Ids> texts;  // by tokenizer, one after another
  for (int times = 0; times < 3; ++times) {
    for (const auto line : split_lines(all)) {
      const auto vector = nlohmann::json::parse(line);
      for (const auto id : vector["ids"].get<Ids>()) texts[vector["file"].get<std::string>()].push_back(id);
    }
  }
  for (const auto& [file, ids] : texts) {
    ASSERT_GT(ids.size(), 300u);
    const Tokenizer tokenizer = read_tokenizer(folder() + "/" + file + ".json");
    const std::string whole = tokenizer.decode(ids);
    for (const std::size_t before : {std::size_t{0}, std::size_t{1}, std::size_t{150}}) {
      const Ids head(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(before));
      TokenStream stream(tokenizer, {"\x01"}, head);
      std::string text = tokenizer.decode(head);
      for (std::size_t i = before; i < ids.size(); ++i) text += stream.push(ids[i]);
      EXPECT_EQ(text + stream.finish(), whole) << file << " behind " << before;
    }
  }
}

/// A tokenizer of whole pieces with these parts; "?" stands for the pieces that are not among the tokens. A model that knows bytes is BPE.
Tokenizer of_pieces(const std::string& parts, const std::vector<std::string>& tokens, const char* model = "WordLevel") {
  nlohmann::json all = nlohmann::json::parse("{" + parts + "}");
  all["model"] = {{"type", model}, {"unk_token", "?"}, {"vocab", {{"?", 0}}}, {"merges", nlohmann::json::array()}, {"ignore_merges", true}};
  for (std::size_t i = 0; i < tokens.size(); ++i) all["model"]["vocab"][tokens[i]] = i + 1;
  return parse_tokenizer_json(all.dump(), "pieces");
}

// The results of tokenizers 0.22.2 for the same files.
TEST(TokenizerJson, ABlankComesInFrontOfOtherWhiteSpace) {
  const Tokenizer one = of_pieces(R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "use_regex": false})",
                                  {"\u0120\u010aa", "\u0120a"}, "BPE");
  EXPECT_EQ(one.encode("\na"), Ids({1}));
  EXPECT_EQ(one.encode(" a"), Ids({2}));
  EXPECT_EQ(one.encode("a"), Ids({2}));
  const Tokenizer cut = of_pieces(R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true})", {"\u0120", "\u010a", "a"}, "BPE");
  EXPECT_EQ(cut.encode("\na"), Ids({1, 2, 3}));
}

TEST(TokenizerJson, ControlCharactersThatAreWhiteSpaceAreCleanedAway) {
  const Tokenizer one = of_pieces(R"("normalizer": {"type": "BertNormalizer"})", {"ab", "a b"});
  EXPECT_EQ(one.encode("a\u0085b"), Ids({1}));
  EXPECT_EQ(one.encode("a\vb"), Ids({1}));
  EXPECT_EQ(one.encode("a\u2028b"), Ids({2}));
  EXPECT_EQ(one.encode("a\tb"), Ids({2}));
}

TEST(TokenizerJson, ContiguousJoinsWhatLiesBetweenEmptyDelimitersToo) {
  const Tokenizer one = of_pieces(
      R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "e"}, "behavior": "Contiguous", "invert": true})", {"ee", "ab", "e"});
  EXPECT_EQ(one.encode("eeabeeabe"), Ids({1, 2, 1, 2, 3}));
}

TEST(TokenizerJson, WordsInPatternsHoldMarksAndNoSignsForNumbers) {
  const auto pieces = [](const std::string& pattern) {
    return of_pieces(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": ")" + pattern + R"("}, "behavior": "Isolated"})",
                     {"\u0915\u094d\u092f\u093e", "\u2460", "a\u00b2", "\u24b6b", " ", "-"});
  };
  const std::string text = "\u0915\u094d\u092f\u093e\u2460a\u00b2 \u24b6b-";
  EXPECT_EQ(pieces(R"(\\w+|\\W)").encode(text), Ids({1, 2, 3, 5, 4, 6}));
  EXPECT_EQ(pieces(R"([\\w]+|[^\\w])").encode(text), Ids({1, 2, 0, 0, 5, 4, 6}));  // "²" is no \w within brackets
  EXPECT_EQ(pieces(R"([]\\w]+|[^]\\w])").encode(text), Ids({1, 2, 0, 0, 5, 4, 6}));
  EXPECT_EQ(of_pieces(R"("pre_tokenizer": {"type": "Whitespace"})", {"\u24b6b", "\u2460"}).encode("\u24b6b \u2460"), Ids({1, 2}));
}

TEST(TokenizerJson, ADecodedTextBeginsWithItsOwnBlank) {
  const Tokenizer one =
      of_pieces(R"("decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"})", {" a", "\u2581a"});
  EXPECT_EQ(one.decode(Ids({1, 2})), " a a");
  EXPECT_EQ(one.decode(Ids({2, 1})), "a a");
}

}  // namespace
}  // namespace tegula::text
