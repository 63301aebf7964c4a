// Word vectors from counts of neighbours: words in the same places lie near each other.

#include "tegula/models/text/counted_vectors.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/message.h"

namespace tegula {
namespace {

std::string animals_and_fruits() {
  std::string out;
  const std::vector<std::string> animals{"cat", "dog", "horse"}, fruits{"apple", "pear", "plum"};
  for (std::size_t i = 0; i < 60; ++i) {
    out += "the " + animals[i % 3] + " runs and the " + animals[(i + 1) % 3] + " sleeps. ";
    out += "we eat a ripe " + fruits[i % 3] + " or a sweet " + fruits[(i + 1) % 3] + ". ";
  }
  return out;
}

TEST(CountedVectors, WordsInTheSamePlacesLieNearEachOther) {
  const text::Corpus corpus = text::make_corpus(animals_and_fruits());
  const text::WordVectors vectors = models::counted_vectors(corpus, {.size = 4, .window = 3});
  EXPECT_EQ(vectors.size(), corpus.vocabulary.size());
  EXPECT_EQ(vectors.dimension(), 4);
  EXPECT_GT(vectors.similarity("cat", "horse"), 0.9);
  EXPECT_GT(vectors.similarity("apple", "plum"), 0.9);
  EXPECT_LT(vectors.similarity("cat", "plum"), 0.5);
  const text::WordVectors again = models::counted_vectors(corpus, {.size = 4, .window = 3});
  EXPECT_EQ(again["cat"][0], vectors["cat"][0]);
}

TEST(CountedVectors, TheMostFrequentWordsAlone) {
  const text::Corpus corpus = text::make_corpus(animals_and_fruits());
  const text::WordVectors vectors = models::counted_vectors(corpus, {.size = 100, .words = 3});
  EXPECT_EQ(vectors.size(), 3);
  EXPECT_EQ(vectors.dimension(), 3) << "no more than there are words";
  EXPECT_HAS_MESSAGE(models::counted_vectors(corpus, {.size = 0}), "counted_vectors: got .size = 0");
}

}  // namespace
}  // namespace tegula
