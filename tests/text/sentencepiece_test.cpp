// SentencePiece: rules of normalisation that a model brings itself, symbols of the user's, unknown words. Compared with the results of sentencepiece 0.2.3 for 28 of its models.

#include "tegula/text/tokens/sentencepiece.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "tegula/io/wire.h"
#include "tegula/text/tokens/precompiled.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

std::string bytes_of(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

/// Rules as precompiled_normalizer takes them: a node's children fill 256 places of their own.
std::string compiled(const std::map<std::string, std::string>& rules) {
  std::string replacements;
  std::vector<std::uint32_t> trie(512);
  const auto link = [&](std::uint32_t node, std::uint32_t block) { trie[node] |= (node ^ block) << 10; };
  link(0, 256);
  for (const auto& [from, to] : rules) {
    std::uint32_t node = 0, block = 256;
    for (const char c : from) {
      node = block ^ static_cast<unsigned char>(c);
      if (trie[node] >> 10 == 0) {
        trie[node] = static_cast<unsigned char>(c);
        link(node, static_cast<std::uint32_t>(trie.size()));
        trie.resize(trie.size() + 256);
      }
      block = node ^ trie[node] >> 10;
    }
    trie[node] |= 0x100;
    trie[block] = 0x80000000 | static_cast<std::uint32_t>(replacements.size());
    replacements += to + '\0';
  }
  return bytes_of({static_cast<std::uint32_t>(trie.size() * 4)}) + bytes_of(trie) + replacements;
}

std::string base64(const std::string& bytes) {
  const std::string signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 6) {
    int six = 0;
    for (std::size_t i = bit; i < bit + 6; ++i)
      six = six << 1 | (i / 8 < bytes.size() ? static_cast<unsigned char>(bytes[i / 8]) >> (7 - i % 8) & 1 : 0);
    out += signs[static_cast<std::size_t>(six)];
  }
  return out + std::string((4 - out.size() % 4) % 4, '=');
}

const std::map<std::string, std::string> kRules = {{"a", "x"}, {"abc", "yy"}, {"e\u0301", "\u00e9"}, {"\t", " "}, {"\u200b", ""}};

TEST(Precompiled, TheLongestTextWithARuleIsReplaced) {
  const Normalizer normalize = precompiled_normalizer(compiled(kRules), "test", "rules", {"<a>", "<a"});
  EXPECT_EQ(normalize("abcab"), "yyxb");
  EXPECT_EQ(normalize("e\u0301e\t\u200b\u6771"), "\u00e9e \u6771");
  EXPECT_EQ(normalize("a<a>a<ab"), "x<a>x<ab");
  EXPECT_EQ(normalize("a\xFF"), "x\uFFFD");
  EXPECT_EQ(precompiled_normalizer("", "test", "rules")("abc"), "abc");
}

TEST(Precompiled, ATokenizerJsonHasItsRules) {
  const auto json = [](const std::string& map) {
    return R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "yyx": 1}},
      "normalizer": {"type": "Precompiled", "precompiled_charsmap": ")" +
           map + R"("}})";
  };
  EXPECT_EQ(parse_tokenizer_json(json(base64(compiled(kRules))), "t.json").encode("abca\u200b"), Ids({1}));
  EXPECT_ERROR(parse_tokenizer_json(json("!"), "t.json"), "t.json: a precompiled_charsmap that is not base64");
  EXPECT_ERROR(parse_tokenizer_json(json("AAAA"), "t.json"), "t.json: rules of normalisation with a trie of 0 in 3 bytes");
}

TEST(Precompiled, DamagedRulesAreAnErrorOrStayWithinTheirBytes) {
  const std::string good = compiled(kRules);
  for (const std::size_t size : {1, 4, 100})
    EXPECT_ERROR(precompiled_normalizer(good.substr(0, size), "test", "rules"), "rules of normalisation");
  for (std::size_t at = 4; at + 4 < good.size(); at += 97) {
    std::string bad = good;
    for (std::size_t i = 0; i < 4; ++i) bad[at + i] = static_cast<char>(0xFF);
    if (bad.back() == '\0') precompiled_normalizer(bad, "test", "rules")("abc e\u0301\t");
  }
}

SentencePieceModel model_of(SentencePieceModel::Type type) {
  SentencePieceModel model;
  model.type = type;
  model.pieces = {"<unk>", "<sep>", "a b", "\u2581", "\u2581ab", "a", "b", "\u2581a", "s", "\u2581x"};
  model.kinds = {PieceKind::Unknown, PieceKind::UserDefined, PieceKind::UserDefined};
  model.kinds.resize(model.pieces.size(), PieceKind::Normal);
  for (std::size_t i = 0; i < model.pieces.size(); ++i) model.scores.push_back(-static_cast<float>(i));
  model.rules = compiled(kRules);
  return model;
}

TEST(SentencePiece, SymbolsOfTheUsersStandAnywhereAndKeepTheBlanksBesideThem) {
  using Type = SentencePieceModel::Type;
  for (const Type type : {Type::Bpe, Type::Unigram}) {
    const Tokenizer one = make_tokenizer(model_of(type), "test", "model");
    EXPECT_EQ(one.encode("b<sep>b", SpecialTokens::No), Ids({3, 6, 1, 6}));
    EXPECT_EQ(one.encode("b <sep> b", SpecialTokens::No), Ids({3, 6, 3, 1, 3, 6}));
    EXPECT_EQ(one.encode("<sep>s", SpecialTokens::No), Ids({3, 1, 8}));
    EXPECT_EQ(one.encode("ba ba", SpecialTokens::No), Ids({3, 6, 2, 0})) << "a symbol with a blank within, before any rule";
    EXPECT_EQ(one.encode("abc", SpecialTokens::No).back(), 0) << "other text follows the rules: yy";
    EXPECT_EQ(one.decode(one.encode("b <sep>\tb")), "b <sep> b");
  }
}

// A model file by hand: fields of protocol buffers.
std::string field(std::uint32_t number, const std::string& bytes) { return io::WireWriter().bytes(number, bytes).text(); }
std::string field(std::uint32_t number, std::uint64_t value) { return io::WireWriter().varint(number, value).text(); }
std::string piece(const std::string& text, float score, std::uint64_t kind = 1) {
  return field(1, io::WireWriter().bytes(1, text).fixed32(2, score).varint(3, kind).text());
}

const std::string kMark = "\u2581", kFrame = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
const std::string kNormalizer =
    field(3, field(1, "identity") + field(3, std::uint64_t{1}) + field(4, std::uint64_t{1}) + field(5, std::uint64_t{1}));
const std::string kSuffixPieces =
    kFrame + piece("a" + kMark, -1) + piece("b" + kMark, -1) + piece("a", -5) + piece("b", -5) + piece(kMark, -6);

Tokenizer model_from(const std::string& file) { return parse_sentencepiece(testing::bytes_of(file), "m.model"); }
std::string trainer(std::uint64_t type, const std::string& more = "") { return field(2, field(3, type) + more); }

TEST(SentencePiece, BlanksBehindWordsAreThoseOfTheFile) {
  // The results of sentencepiece 0.2.3 for models trained with treat_whitespace_as_suffix: the blank is after the text, and decoding keeps it.
  const Tokenizer behind = model_from(kSuffixPieces + trainer(1, field(24, std::uint64_t{1})) + kNormalizer);
  EXPECT_EQ(behind.encode("a b", SpecialTokens::No), Ids({3, 4}));
  EXPECT_EQ(behind.encode("  a  b ", SpecialTokens::No), Ids({3, 4}));
  EXPECT_EQ(behind.encode("ab", SpecialTokens::No), Ids({5, 4}));
  EXPECT_TRUE(behind.encode("", SpecialTokens::No).empty());
  EXPECT_EQ(behind.decode(Ids{3, 4}), "a b ");
  const Tokenizer front = model_from(kSuffixPieces + trainer(1) + kNormalizer);
  EXPECT_EQ(front.encode("a b", SpecialTokens::No), Ids({7, 3, 6}));
}

TEST(SentencePiece, TheUnknownPieceIsDecodedToItsSurface) {
  const Tokenizer plain = model_from(kSuffixPieces + trainer(1) + kNormalizer);
  EXPECT_EQ(plain.decode(Ids{0, 5}), " \u2047 a");
  EXPECT_EQ(plain.decode(Ids{5, 0, 7, 6}), "a \u2047  b");
  EXPECT_EQ(model_from(kSuffixPieces + trainer(1, field(44, "?")) + kNormalizer).decode(Ids{5, 0, 6}), "a?b");
}

TEST(SentencePiece, AFileThatWasCutBetweenTwoPiecesIsRefused) {
  const std::string whole = kSuffixPieces + trainer(1, field(4, std::uint64_t{8})) + kNormalizer;
  EXPECT_EQ(model_from(whole).size(), 8);
  EXPECT_ERROR(model_from(kFrame), "m.model: 3 pieces and no trainer_spec behind them");
  EXPECT_ERROR(model_from(kFrame + trainer(1, field(4, std::uint64_t{8}))), "m.model: 3 pieces of the 8 that trainer_spec names");
  EXPECT_EQ(model_from(kSuffixPieces + trainer(1, field(4, std::uint64_t{6}))).size(), 8) << "pieces that were added later";
}

TEST(SentencePiece, AFieldThatNobodyKnowsRefusesTheFile) {
  EXPECT_ERROR(model_from(kSuffixPieces + trainer(1, field(60, std::uint64_t{1}))), "m.model: the field 60 of trainer_spec");
  EXPECT_ERROR(model_from(kSuffixPieces + trainer(1) + field(3, field(9, "x"))), "the field 9 of normalizer_spec");
  EXPECT_ERROR(model_from(kSuffixPieces + trainer(1) + field(5, "x")), "the field 5 of the model");
  EXPECT_ERROR(model_from(field(1, field(200, "x")) + trainer(1)), "the field 200 of a piece");
  EXPECT_NO_THROW(model_from(kSuffixPieces + trainer(1, field(50, std::uint64_t{0}) + field(2, "prefix"))));
}

TEST(SentencePiece, UnknownWordsThatFollowEachOtherAreOne) {
  const Tokenizer words = make_tokenizer(model_of(SentencePieceModel::Type::Word), "test", "model");
  EXPECT_EQ(words.encode("q r a s<sep>", SpecialTokens::No), Ids({0, 9, 0}));
}

}  // namespace
}  // namespace tegula::text
