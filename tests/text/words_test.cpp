// The lecture's word tokenizer, and the uses of its numbers.

#include "tegula/text/words.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/text/lines.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

const std::vector<std::string> kSentences = {"I love my dog", "I love my cat", "You love my dog!", "Do you think my dog is amazing?"};
const std::vector<std::string> kTest = {"i really love my dog", "my dog loves my manatee"};

std::vector<Ids> rows_of(const HostArray& array) {
  std::vector<Ids> rows;
  const auto columns = static_cast<std::size_t>(array.shape[1]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.shape[0]); ++i) {
    const auto row = array.values<Id>().subspan(i * columns, columns);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

TEST(Words, ThePrintedSequencesOfTheLecture) {
  WordTokenizer tokenizer({.most = 100, .unknown = "<OOV>"});
  tokenizer.fit(kSentences);
  EXPECT_EQ(tokenizer.vocabulary().tokens(),
            (std::vector<std::string>{"", "<OOV>", "my", "love", "dog", "i", "you", "cat", "do", "think", "is", "amazing"}));
  const auto sequences = tokenizer.encode(kSentences);
  EXPECT_EQ(sequences, (std::vector<Ids>{{5, 3, 2, 4}, {5, 3, 2, 7}, {6, 3, 2, 4}, {8, 6, 9, 2, 4, 10, 11}}));
  EXPECT_EQ(rows_of(pad_sequences(sequences, {.length = 5})),
            (std::vector<Ids>{{0, 5, 3, 2, 4}, {0, 5, 3, 2, 7}, {0, 6, 3, 2, 4}, {9, 2, 4, 10, 11}}));
  const auto test = tokenizer.encode(kTest);
  EXPECT_EQ(test, (std::vector<Ids>{{5, 1, 3, 2, 4}, {2, 4, 1, 2, 1}}));
  EXPECT_EQ(rows_of(pad_sequences(test, {.length = 9})), (std::vector<Ids>{{0, 0, 0, 0, 5, 1, 3, 2, 4}, {0, 0, 0, 0, 2, 4, 1, 2, 1}}));
  EXPECT_EQ(tokenizer.decode(test[0]), "i <OOV> love my dog");
  EXPECT_EQ(tokenizer.count("dog"), 3);
}

TEST(Words, WithoutAWordForThemUnknownWordsAreLeftOut) {
  WordTokenizer tokenizer({.most = 4});
  tokenizer.fit(kSentences);
  EXPECT_EQ(tokenizer.vocabulary().id("my"), 1);
  EXPECT_EQ(tokenizer.encode("I love my cat"), (Ids{2, 1}));  // numbers below 4
  WordTokenizer characters({.filters = "", .characters = true});
  characters.fit({"abba", "Ä"});
  EXPECT_EQ(characters.encode("bÄa"), (Ids{2, 3, 1}));
}

TEST(Words, PaddingAndTruncatingAtEitherSide) {
  const std::vector<Ids> sequences = {{1, 2, 3}, {4}, {}};
  EXPECT_EQ(rows_of(pad_sequences(sequences)), (std::vector<Ids>{{1, 2, 3}, {0, 0, 4}, {0, 0, 0}}));
  EXPECT_EQ(rows_of(pad_sequences(sequences, {.padding = Side::Back, .value = 9})), (std::vector<Ids>{{1, 2, 3}, {4, 9, 9}, {9, 9, 9}}));
  EXPECT_EQ(rows_of(pad_sequences(sequences, {.length = 2})), (std::vector<Ids>{{2, 3}, {0, 4}, {0, 0}}));
  EXPECT_EQ(rows_of(pad_sequences(sequences, {.length = 2, .truncating = Side::Back})), (std::vector<Ids>{{1, 2}, {0, 4}, {0, 0}}));
  EXPECT_EQ(sequence_lengths(sequences, 2).values<Id>()[0], 2);
  EXPECT_ERROR(pad_sequences(sequences, {.length = -1}), "length -1");
}

TEST(Words, BagsOfTheLecturesReviews) {
  WordTokenizer tokenizer;
  const std::vector<std::string> reviews = {"Great Restaurant and great service !", "They can do better to provide better service",
                                            "Only two thumbs up, worst service ever"};
  tokenizer.fit(reviews);
  const auto sequences = tokenizer.encode(reviews);
  const Id size = tokenizer.vocabulary().size();
  const HostArray ones = bag_of_words(sequences, size, Bag::Ones), counts = bag_of_words(sequences, size);
  const auto at = [&](const HostArray& bag, std::size_t row, const char* word) {
    return bag.values<float>()[row * static_cast<std::size_t>(size) + static_cast<std::size_t>(tokenizer.vocabulary().id(word))];
  };
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(at(ones, i, "service"), 1);
  EXPECT_EQ(at(ones, 0, "great"), 1);
  EXPECT_EQ(at(counts, 0, "great"), 2);
  EXPECT_EQ(at(ones, 1, "great"), 0);
  EXPECT_ERROR(bag_of_words(sequences, 3), "from 0 to 2");

  const TfIdf weigh(sequences, size);
  const HostArray rows = weigh(sequences);
  EXPECT_NEAR(weigh.weights()[static_cast<std::size_t>(tokenizer.vocabulary().id("great"))], std::log(4.0 / 2) + 1, 1e-12);
  EXPECT_NEAR(weigh.weights()[static_cast<std::size_t>(tokenizer.vocabulary().id("service"))], 1, 1e-12);
  double squares = 0;
  for (const float value : rows.values<float>().first(static_cast<std::size_t>(size))) squares += double{value} * value;
  EXPECT_NEAR(squares, 1, 1e-6);
  // great twice, restaurant, and, service: 2·1.693, 1.693, 1.693, 1 over their length
  const double length = std::sqrt(std::pow(2 * 1.6931472, 2) + 2 * std::pow(1.6931472, 2) + 1);
  EXPECT_NEAR(at(rows, 0, "great"), 2 * 1.6931472 / length, 1e-6);
}

TEST(Words, CharactersAreTokens) {
  const Tokenizer tokenizer = character_tokenizer("hello wörld\n");
  EXPECT_EQ(tokenizer.size(), 10);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("wörld hello\n")), "wörld hello\n");
  EXPECT_EQ(tokenizer.encode("xyz").size(), 0u);
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no ../shared/data";
  const std::string text = read_text(data + "/tinyshakespeare/input.txt");
  const Tokenizer shakespeare = character_tokenizer(text);
  EXPECT_EQ(shakespeare.size(), 65);
  EXPECT_EQ(shakespeare.encode(text).size(), text.size());
}

}  // namespace
}  // namespace tegula::text
