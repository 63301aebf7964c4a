// Pairs of token sequences as batches, and the tokenizers that are trained for them.

#include "tegula/text/token_sets.h"

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tegula/text.h"
#include "tegula/text/tokens/wordpiece.h"
#include "tests/support/message.h"

namespace tegula {
namespace {

using text::Ids;

TEST(TokenPairs, BatchesArePaddedToFewWidths) {
  EXPECT_EQ(text::ladder_width(1), 8);
  for (const auto& [length, width] : {std::pair(8, 8), {9, 12}, {13, 16}, {17, 24}, {25, 32}, {33, 48}, {100, 128}})
    EXPECT_EQ(text::ladder_width(length), width);
  const text::TokenPairs pairs({{5, 6, 2}, {7, 2}}, {{8}, {9, 10, 11, 12, 13, 14, 15, 16}}, 1, 2);
  EXPECT_EQ(pairs.lengths(), (std::vector<std::int64_t>{3, 9}));
  const std::vector<std::int64_t> rows{1, 0};
  const auto batch = pairs.gather(rows);
  ASSERT_EQ(batch.size(), 4u);
  for (const std::size_t i : {0, 1, 3}) EXPECT_EQ(batch[i].shape, (Shape{2, 12}));
  const auto ids = [](const HostArray& array) { return Ids(array.values<std::int64_t>().begin(), array.values<std::int64_t>().end()); };
  EXPECT_EQ(ids(batch[0]), (Ids{7, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ids(batch[1]), (Ids{1, 9, 10, 11, 12, 13, 14, 15, 16, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(ids(batch[2]), (Ids{2, 3}));
  EXPECT_EQ(ids(batch[3]), (Ids{9, 10, 11, 12, 13, 14, 15, 16, 2, 0, 0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pairs.get(0)[0].shape, Shape{8});
  EXPECT_EQ(text::TokenPairs({{5, 6, 2}, {7, 2}}, {{8, 8}, {9}}, 1, 2).sorted().sources()[0], (Ids{7, 2}));
}

TEST(TokenPairs, ALoaderMakesBatchesOfLikeLengths) {
  std::vector<Ids> sources, targets;
  for (std::size_t i = 0; i < 120; ++i) sources.emplace_back(1 + i * 7 % 40, 3), targets.emplace_back(1 + i * 7 % 40, 4);
  const text::TokenPairs pairs(sources, targets, 1, 2);
  data::Loader loader(pairs, {.batch = 16, .shuffle = true, .lengths = pairs.lengths()});
  std::int64_t rows = 0, places = 0;
  for (const auto& batch : loader) rows += batch.x.size(0), places += batch.x.numel();
  EXPECT_EQ(rows, 120);  // no example is left out
  std::int64_t tokens = 0;
  for (const auto& source : sources) tokens += static_cast<std::int64_t>(source.size());
  EXPECT_LT(places, tokens * 3 / 2);
}

TEST(TokenPairs, RefusesWhatIsNoPair) {
  EXPECT_HAS_MESSAGE(text::TokenPairs({{3}}, {}, 1, 2), "1 sources and 0 targets");
  EXPECT_HAS_MESSAGE(text::TokenPairs({{}}, {{3}}, 1, 2), "an empty source, number 0");
  EXPECT_HAS_MESSAGE(text::TokenPairs({{3}}, {{4, 0}}, 1, 2), "token 0 in pair 0");
}

TEST(WordPieceTraining, MergesTheMostFrequentPairs) {
  text::TextMap<std::int64_t> counts;
  text::count_bert_words("Hug hug hug pug pun pun hugs, hugs!", text::Case::Lower, counts);
  EXPECT_EQ(counts.at("hug"), 3);
  EXPECT_EQ(counts.at(","), 1);
  // Characters by frequency; u g comes six times, then h ug five times …
  const auto vocabulary = text::train_wordpiece(counts, {.vocabulary = 26, .special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}});
  for (const char* token : {"[MASK]", "u", "##u", "##ug", "hug", "!"}) EXPECT_TRUE(vocabulary.contains(token)) << token;
  EXPECT_EQ(vocabulary.size(), 26);
  const text::Tokenizer tokenizer = text::parse_tokenizer_json(text::wordpiece_tokenizer_json(vocabulary, text::Case::Lower), "test");
  EXPECT_EQ(tokenizer.size(), 26);
  const Ids ids = tokenizer.encode("HUGS pun?");
  EXPECT_EQ(ids.front(), vocabulary.id("[CLS]"));
  EXPECT_EQ(ids.back(), vocabulary.id("[SEP]"));
  EXPECT_EQ(tokenizer.token(ids[1]).substr(0, 3), "hug");
  EXPECT_EQ(ids[ids.size() - 2], vocabulary.id("[UNK]"));  // a question mark was never there
  const std::string back = tokenizer.decode(tokenizer.encode("hugs, pun!"));
  EXPECT_EQ(back, "hugs, pun!");
  EXPECT_HAS_MESSAGE(text::train_wordpiece(counts, {.vocabulary = 10}), "a vocabulary of 10");
}

TEST(TokenizerJson, WhatIsWrittenIsReadBack) {
  text::TextMap<std::int64_t> counts;
  const std::string sample = " Ein kleines Mädchen, ein großer Hund; ein kleiner Hund.";
  text::count_pieces(sample + sample, counts);
  const std::vector<std::string> special{"<pad>", "<s>", "</s>"};
  const auto bpe = text::train_bpe(counts, {.vocabulary = 285, .special = special});
  const auto tokenizer = text::parse_tokenizer_json(text::bpe_tokenizer_json(bpe.vocabulary, bpe.merges, special), "test");
  EXPECT_EQ(tokenizer.size(), 285);
  EXPECT_EQ(tokenizer.find("</s>"), 2);
  const text::Tokenizer direct = text::gpt2_tokenizer(bpe.vocabulary, bpe.merges, special);
  for (const std::string text : {"Ein großer Hund", "🦙 und Ärger\n", "x</s>y"}) {
    const Ids ids = tokenizer.encode(text);
    EXPECT_EQ(ids, direct.encode(text == "x</s>y" ? " x</s> y" : " " + text)) << text;
    EXPECT_EQ(tokenizer.decode(ids, text::SpecialTokens::Yes), text == "x</s>y" ? " x</s> y" : " " + text);
  }
  text::TextMap<std::int64_t> words;
  text::count_words(sample, words);
  EXPECT_EQ(words.at("Hund"), 2);
  EXPECT_EQ(words.at(";"), 1);
  const std::vector<std::string> first{"<pad>", "<s>", "</s>", "<unk>"};
  const auto vocabulary = text::count_vocabulary(words, {.first = first});
  const auto whole = text::parse_tokenizer_json(text::word_tokenizer_json(vocabulary, "<unk>", first), "test");
  EXPECT_EQ(whole.size(), vocabulary.size());
  EXPECT_EQ(whole.encode("Ein Kater;"), (Ids{vocabulary.id("Ein"), 3, vocabulary.id(";")}));
  EXPECT_EQ(whole.decode(whole.encode("ein kleiner Hund.")), "ein kleiner Hund.");
}

}  // namespace
}  // namespace tegula
