// Word vectors: training, files, scores.

#include "tegula/text/vectors/word_vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tegula/core/philox.h"
#include "tegula/text/lines.h"
#include "tegula/text/vectors/vector_rows.h"
#include "tegula/text/vectors/word2vec.h"
#include "tegula/text/vectors/word_evaluation.h"
#include "tests/io/files.h"

namespace tegula::text {
namespace {

using testing::bytes_of;
using testing::TemporaryFolder;

/// Two groups of words that come with their own group only.
Corpus two_topics(int sentences) {
  std::string text;
  const std::vector<std::string> topics[] = {{"sun", "rain", "cloud", "wind", "snow"}, {"bread", "cheese", "soup", "apple", "rice"}};
  for (int i = 0; i < sentences; ++i) {
    const auto& words = topics[i % 2];
    for (int k = 0; k < 8; ++k) text += words[philox_word(1, static_cast<std::uint64_t>(8 * i + k)) % 5] + " ";
    text += ".\n";
  }
  return make_corpus(text);
}

TEST(Word2Vec, WordsOfOneTopicComeToLieTogetherInAllForms) {
  const Corpus corpus = two_topics(600);
  for (const auto architecture : {Architecture::SkipGram, Architecture::Cbow}) {
    for (const auto objective : {Objective::NegativeSampling, Objective::HierarchicalSoftmax}) {
      const WordVectors vectors = train_word2vec(
          corpus,
          {.architecture = architecture, .objective = objective, .size = 20, .subsample = 0, .epochs = 12, .lr = 0.05, .threads = 1});
      for (const char* word : {"rain", "cloud", "snow", "wind"}) {
        for (const char* other : {"bread", "soup", "rice"})
          EXPECT_GT(vectors.similarity("sun", word), vectors.similarity("sun", other) + 0.3) << word << other;
      }
      const auto near = vectors.most_similar("cheese", 4);
      ASSERT_EQ(near.size(), 4u);
      for (const auto& [word, similarity] : near)
        EXPECT_TRUE(word == "bread" || word == "soup" || word == "apple" || word == "rice") << word;
    }
  }
}

TEST(Word2Vec, OneThreadGivesTheSameBitsForTheSameSeed) {
  const Corpus corpus = two_topics(100);
  const auto run = [&](std::uint64_t seed) {
    const WordVectors vectors = train_word2vec(corpus, {.size = 33, .epochs = 2, .seed = seed, .threads = 1});
    const auto values = vectors.vectors().values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(Word2Vec, ReportsItsProgressAndEndsWhenTheReportThrows) {
  const Corpus corpus = two_topics(400);
  std::vector<Word2VecProgress> reports;
  train_word2vec(corpus, {.size = 8, .epochs = 3, .threads = 2}, [&](const Word2VecProgress& one) { reports.push_back(one); });
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back().share, 1);
  EXPECT_GT(reports.back().words_per_second, 0);
  EXPECT_THROW(train_word2vec(corpus, {.size = 8}, [](const Word2VecProgress&) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_ERROR(train_word2vec(corpus, {.size = 0}), "vectors of 0");
  EXPECT_ERROR(train_word2vec(corpus, {.window = 0}), "a window of 0");
  EXPECT_ERROR(train_word2vec(corpus, {.lr = -1}), "a rate from -1");
  EXPECT_ERROR(train_word2vec({}, {}), "a corpus of 0");
}

TEST(Rows, SumsAreThoseOfPlainLoops) {
  for (const std::int64_t size : {16, 32, 112, 304}) {
    std::vector<std::vector<float>> rows(9, std::vector<float>(static_cast<std::size_t>(size)));
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (std::size_t i = 0; i < rows[k].size(); ++i) rows[k][i] = std::sin(static_cast<float>(k * 100 + i));
    }
    const auto plain_dot = [&](const auto& a, const auto& b) {
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
      return sum;
    };
    const RowFunctions& f = row_functions();
    EXPECT_NEAR(f.dot(rows[0].data(), rows[1].data(), size), plain_dot(rows[0], rows[1]), 1e-4);
    auto changed = rows;
    std::vector<float*> pointers;
    for (std::size_t k = 1; k < 9; ++k) pointers.push_back(changed[k == 8 ? 1 : k].data());  // the first row twice
    std::vector<float> dots(8), factors = {0.5f, -1, 2, 0.25f, 0, 1, 3, -0.5f}, change(static_cast<std::size_t>(size), 1.0f);
    f.dots(rows[0].data(), pointers.data(), 8, size, dots.data());
    for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(dots[k], plain_dot(rows[0], rows[k == 7 ? 1 : k + 1]), 1e-4);
    f.exchange(rows[0].data(), pointers.data(), factors.data(), 8, size, change.data());
    auto expected = rows;
    std::vector<double> sum(static_cast<std::size_t>(size), 1.0);
    for (std::size_t k = 0; k < 8; ++k) {
      auto& row = expected[k == 7 ? 1 : k + 1];
      for (std::size_t i = 0; i < row.size(); ++i) {
        sum[i] += double{factors[k]} * row[i];
        row[i] += factors[k] * rows[0][i];
      }
    }
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(change[i], sum[i], 1e-5);
    for (std::size_t k = 1; k < 9; ++k) {
      for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(changed[k][i], expected[k][i], 1e-5);
    }
  }
}

TEST(Corpus, CutsWordsAndSentences) {
  const Corpus corpus = make_corpus("The king's men. The men  won’t — don''t!\n\nThe\nmen", {.minimum = 1});
  std::vector<std::vector<std::string>> sentences;
  for (std::int64_t i = 0; i < corpus.sentences(); ++i) {
    sentences.emplace_back();
    for (const auto word : corpus.sentence(i)) sentences.back().push_back(corpus.vocabulary.token(word));
  }
  EXPECT_EQ(sentences,
            (std::vector<std::vector<std::string>>{{"the", "king's", "men"}, {"the", "men", "won't", "don", "t"}, {"the", "men"}}));
  EXPECT_EQ(corpus.vocabulary.token(0), "men");  // three each, in the order of bytes
  EXPECT_EQ(corpus.counts[0], 3);
  EXPECT_EQ(make_corpus("a a b", {.minimum = 2}).words.size(), 2u);
  EXPECT_ERROR(make_corpus("a b c", {.minimum = 2}), "none of which comes 2 times");
}

TEST(Corpus, JoinsWordsThatComeTogether) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "we saw new york and we ate " + std::string(i % 2 ? "new bread" : "old york ham") + " word" + std::to_string(i) + ". ";
  for (int i = 0; i < 40; ++i) text += "san francisco was far. san francisco is near. ";
  const Corpus corpus = make_corpus(text, {.minimum = 1});
  const Corpus joined = join_phrases(corpus, {.threshold = 0.5, .minimum = 5});
  EXPECT_TRUE(joined.vocabulary.contains("san_francisco"));
  EXPECT_FALSE(joined.vocabulary.contains("san"));
  EXPECT_EQ(joined.counts[static_cast<std::size_t>(joined.vocabulary.id("san_francisco"))], 80);
  EXPECT_EQ(joined.sentences(), corpus.sentences());
}

WordVectors compass() {
  const std::vector<float> values = {1, 0, 0.9f, 0.1f, 0, 1, -1, 0, 0.5f, 0.5f};
  return {Vocabulary({"east", "eastish", "north", "west", "northeast"}), HostArray::from(std::span<const float>(values), {5, 2})};
}

TEST(WordVectors, NearestWordsAndAnalogies) {
  const WordVectors vectors = compass();
  EXPECT_NEAR(vectors.similarity("east", "northeast"), std::sqrt(0.5), 1e-6);
  EXPECT_NEAR(vectors.similarity("east", "west"), -1, 1e-6);
  const auto near = vectors.most_similar("east", 2);
  EXPECT_EQ(near[0].first, "eastish");
  EXPECT_EQ(near[1].first, "northeast");
  EXPECT_EQ(vectors.most_similar("east", 100).size(), 4u);
  const std::string plus[] = {"east", "north"};
  EXPECT_EQ(vectors.most_similar(plus)[0].first, "northeast");
  EXPECT_EQ(vectors.analogy("east", "west", "north", 1).size(), 1u);
  EXPECT_ERROR(vectors.similarity("East", "west"), "'east' is one");
  EXPECT_ERROR(vectors.most_similar("south"), "'south'");
  EXPECT_ERROR(vectors.nearest(std::vector<float>{1, 2, 3}), "a vector of 3 numbers");
  EXPECT_ERROR(WordVectors(Vocabulary({"a"}), HostArray::empty(f32, {2, 3})), "for 1 words");
}

TEST(WordVectors, EveryFormatComesBackToTheBit) {
  const TemporaryFolder folder;
  const WordVectors vectors = compass();
  for (const auto format : {VectorFormat::Word2VecText, VectorFormat::Word2VecBinary, VectorFormat::GloVe}) {
    write_word_vectors(folder / "v", vectors, format);
    const WordVectors read = read_word_vectors(folder / "v");
    EXPECT_EQ(read.vocabulary(), vectors.vocabulary());
    ASSERT_EQ(read.vectors().shape, vectors.vectors().shape);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(read.vectors().values<float>()[i], vectors.vectors().values<float>()[i]);
    EXPECT_EQ(read_word_vectors(folder / "v", 2).size(), 2);
  }
  EXPECT_ERROR(write_word_vectors(folder / "w", WordVectors(Vocabulary({"a b"}), HostArray::empty(f32, {1, 1}))), "'a b'");
  EXPECT_FALSE(std::filesystem::exists(folder / "w"));
}

TEST(WordVectors, ReadsWhatOtherProgramsWrite) {
  const auto read = [](std::string_view text) { return parse_word_vectors(bytes_of(text), "file"); };
  EXPECT_EQ(read("2 3\nthe 1 2 3 \nof -1 .5 1e-3 \n")["of"][2], 1e-3f);  // word2vec ends lines with a blank
  EXPECT_EQ(read("the 1 2 3\r\nof -1 .5 1e-3\r\n")["of"][1], .5f);
  EXPECT_EQ(read(std::string("1 2\na \0\0\x80?\0\0\0@\n", 15))["a"][1], 2.0f);
  EXPECT_EQ(read("the 1 2 3\nof -1 1e-60 1\n")["of"][1], 0.0f);                                           // nearer to 0 than floats are
  const WordVectors common = read("the 1 2 3\n. . . 4 5 6\nat name@domain.com .7 .8 .9\nof 10 11 12\n");  // as glove.840B has them
  EXPECT_EQ(common.vocabulary().tokens(), (std::vector<std::string>{"the", ". . .", "at name@domain.com", "of"}));
  EXPECT_EQ(common[". . ."][0], 4.0f);
  EXPECT_EQ(common["at name@domain.com"][2], .9f);
  EXPECT_ERROR(read(""), "no vectors");
  EXPECT_ERROR(read("2 3\nthe 1 2 3\n"), "1 words before the end");
  EXPECT_ERROR(read("the 1 2 3\nof 1 2\n"), "vector 2, 'of 1 2', with 2 numbers");
  EXPECT_ERROR(read("the 1 x 3\n"), "the number 'x'");
  EXPECT_ERROR(read("the 1 2\nof 3 4 5\n"), "vector 2, 'of 3 4 5', with more than 2 numbers");
  EXPECT_ERROR(read("the 1 2\nof 3 x\n"), "vector 2, 'of 3 x', with the number 'x'");
  EXPECT_ERROR(read("the 1 2\nof 3 1e39\n"), "the number '1e39'");
  EXPECT_ERROR(read("the 1\nthe 2\n"), "'the' twice");
  EXPECT_ERROR(read("5 100000000\nthe 1\n"), "100000000 dimensions");
  EXPECT_ERROR(read("2 2\na \x01\x02"), "the end of the data in word 1");
}

TEST(Evaluation, Analogies) {
  const auto sections = parse_analogies(": turns\neast west north south\nEAST northeast north northeast\n: none\n", "file");
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].questions.size(), 2u);
  const auto scores = evaluate_analogies(compass(), sections);
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_EQ(scores[0].unknown, 1);  // south
  EXPECT_EQ(scores[0].asked, 1);
  EXPECT_EQ(scores[0].right, 0);  // northeast is one of the three
  const auto right = evaluate_analogies(compass(), parse_analogies(": x\nwest east eastish eastish\nwest north east northeast\n", "file"));
  EXPECT_EQ(right[0].right, 1);
  EXPECT_EQ(right.back().section, "total");
  EXPECT_ERROR(parse_analogies("a b c d\n", "file"), "file, line 1");
  EXPECT_ERROR(parse_analogies(": x\na b c\n", "file"), "file, line 2: 'a b c'");
}

TEST(Evaluation, SpearmanIsThatOfScipy) {
  const double a[] = {1, 2, 2, 4, 5, 7}, b[] = {3, 1, 4, 4, 9, 8};
  EXPECT_NEAR(spearman(a, b), 0.8088235294117647, 1e-12);  // scipy.stats.spearmanr
  EXPECT_TRUE(std::isnan(spearman(std::vector<double>{1, 1}, std::vector<double>{1, 2})));
  EXPECT_ERROR(spearman(std::vector<double>{1}, std::vector<double>{}), "1 and 0");
  const auto score =
      evaluate_similarity(compass(), parse_word_pairs("# words\neast\teastish\t9\neast north 3\neast west 1\nup down 5\n", "file"));
  EXPECT_EQ(score.pairs, 3);
  EXPECT_EQ(score.unknown, 1);
  EXPECT_NEAR(score.spearman, 1, 1e-12);
  EXPECT_ERROR(parse_word_pairs("a b\n", "file"), "file, line 1");
  EXPECT_ERROR(parse_word_pairs("a b nan\n", "file"), "two words and a number");
}

TEST(Evaluation, TheSharedListsAreRead) {
  const std::string data = testing::shared_data();
  if (data.empty()) GTEST_SKIP() << "skipped: no ../shared/data";
  std::size_t questions = 0;
  const auto sections = read_analogies(data + "/word-vectors/questions-words.txt");
  for (const auto& section : sections) questions += section.questions.size();
  EXPECT_EQ(sections.size(), 14u);
  EXPECT_EQ(questions, 19'544u);
  EXPECT_EQ(read_word_pairs(data + "/word-vectors/word-sim/EN-WS-353-ALL.txt").size(), 353u);
  EXPECT_EQ(read_word_pairs(data + "/word-vectors/word-sim/EN-SIMLEX-999.txt").size(), 999u);
}

TEST(Projection, PrincipalComponentsOfAnEllipse) {
  HostArray x = HostArray::empty(f32, {200, 3});
  for (std::size_t i = 0; i < 200; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / 200, u = 5 * std::cos(t), v = 2 * std::sin(t);
    x.values<float>()[3 * i] = static_cast<float>(0.6 * u - 0.8 * v + 10);
    x.values<float>()[3 * i + 1] = static_cast<float>(0.8 * u + 0.6 * v - 3);
    x.values<float>()[3 * i + 2] = 7;
  }
  const HostArray y = principal_components(x, 2);
  double first = 0, second = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / 200;
    first = std::max(first, std::abs(y.values<float>()[2 * i] - 5 * std::cos(t)));
    second = std::max(second, std::abs(std::abs(y.values<float>()[2 * i + 1]) - std::abs(2 * std::sin(t))));
  }
  EXPECT_LT(first, 1e-4);
  EXPECT_LT(second, 1e-4);
  EXPECT_ERROR(principal_components(x, 4), "1 to 3");
}

TEST(Projection, TsneKeepsClustersApart) {
  HostArray x = HostArray::empty(f32, {90, 10});
  for (std::size_t i = 0; i < 90; ++i) {
    for (std::size_t k = 0; k < 10; ++k)
      x.values<float>()[10 * i + k] = (k == i % 3 ? 8.0f : 0.0f) + std::sin(static_cast<float>(i * 10 + k * k));
  }
  const HostArray y = tsne(x, {.perplexity = 10, .steps = 400});
  const auto distance = [&](std::size_t a, std::size_t b) {
    return std::hypot(y.values<float>()[2 * a] - y.values<float>()[2 * b], y.values<float>()[2 * a + 1] - y.values<float>()[2 * b + 1]);
  };
  for (std::size_t i = 0; i < 90; ++i) {  // the nearest neighbour is of the same cluster
    std::size_t nearest = i == 0 ? 1 : 0;
    for (std::size_t j = 0; j < 90; ++j) {
      if (j != i && distance(i, j) < distance(i, nearest)) nearest = j;
    }
    EXPECT_EQ(nearest % 3, i % 3) << i;
  }
  EXPECT_ERROR(tsne(HostArray::empty(f32, {3, 5})), "at least 4 rows");
  EXPECT_ERROR(tsne(x, {.perplexity = 0}), "perplexity 0");
}

}  // namespace
}  // namespace tegula::text
