// tegula words: what vectors of words know.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>

#include "app/commands.h"
#include "app/progress.h"
#include "app/suggest.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/plot.h"
#include "tegula/text/lines.h"
#include "tegula/text/vectors/word_evaluation.h"

namespace tegula::app {
namespace {

struct WordsChoice {
  std::string vectors, picture, method = "tsne";
  std::vector<std::string> words, without, files;
  std::int64_t count = 10, shown = 300, most = 0;
  double perplexity = 30;
};

void print(const std::vector<text::Near>& words) {
  for (const auto& [word, similarity] : words) std::printf("%7.4f  %s\n", similarity, printable(word).c_str());
}

/// Throws for a word that has no vector.
void require_known(const text::WordVectors& vectors, const std::vector<std::string>& words) {
  const text::Vocabulary& vocabulary = vectors.vocabulary();
  for (const std::string& word : words) {
    if (vocabulary.contains(word)) continue;
    const std::string near = nearest(word, vocabulary.tokens());
    throw Error({.op = "tegula words",
                 .got = "the word '" + printable(word.substr(0, 80)) + "', which has no vector",
                 .expected = "one of the " + std::to_string(vectors.size()) + " words in the file",
                 .advice = near.empty() ? "" : "did you mean '" + printable(near) + "'?"});
  }
}

void similar(const WordsChoice& choice) {
  const text::WordVectors vectors = text::read_word_vectors(choice.vectors, choice.most);
  require_known(vectors, choice.words), require_known(vectors, choice.without);
  print(vectors.most_similar(choice.words, choice.without, choice.count));
}

void analogy(const WordsChoice& choice) {
  if (choice.words.size() != 3)
    throw Error(
        {.op = "tegula words analogy", .got = std::to_string(choice.words.size()) + " words", .expected = "three: a is to b as c is to …"});
  const text::WordVectors vectors = text::read_word_vectors(choice.vectors, choice.most);
  require_known(vectors, choice.words);
  print(vectors.analogy(choice.words[0], choice.words[1], choice.words[2], choice.count));
}

/// A line for each word: the word and its numbers, as in a file of GloVe; more words end with their distances from the first.
void vector(const WordsChoice& choice) {
  const text::WordVectors vectors = text::read_word_vectors(choice.vectors, choice.most);
  require_known(vectors, choice.words);
  for (const std::string& word : choice.words) {
    std::printf("%s", printable(word).c_str());
    for (const float x : vectors[word]) std::printf(" %g", static_cast<double>(x));
    std::printf("\n");
  }
  const auto first = vectors[choice.words[0]];
  for (std::size_t i = 1; i < choice.words.size(); ++i) {
    const auto other = vectors[choice.words[i]];
    double squares = 0;
    for (std::size_t k = 0; k < first.size(); ++k) squares += std::pow(static_cast<double>(first[k]) - static_cast<double>(other[k]), 2);
    std::printf("distance of %s and %s: %.4f\n", printable(choice.words[0]).c_str(), printable(choice.words[i]).c_str(),
                std::sqrt(squares));
  }
}

void evaluate(const WordsChoice& choice) {
  const text::WordVectors vectors = text::read_word_vectors(choice.vectors, choice.most);
  for (const std::string& file : choice.files) {
    const std::string content = text::read_text(file, "tegula words evaluate");
    std::printf("%s\n", printable(file).c_str());
    if (content.starts_with(':')) {
      std::printf("  %8s %8s %9s %9s\n", "right", "asked", "unknown", "accuracy");
      for (const auto& score : text::evaluate_analogies(vectors, text::parse_analogies(content, file)))
        std::printf("  %8lld %8lld %9lld %7.1f %%  %s\n", static_cast<long long>(score.right), static_cast<long long>(score.asked),
                    static_cast<long long>(score.unknown), 100 * score.accuracy(), printable(score.section).c_str());
    } else {
      const auto score = text::evaluate_similarity(vectors, text::parse_word_pairs(content, file));
      std::printf("  Spearman %.4f over %lld pairs, %lld unknown\n", score.spearman, static_cast<long long>(score.pairs),
                  static_cast<long long>(score.unknown));
    }
  }
}

void plot(const WordsChoice& choice) {
  io::require_picture(choice.picture);
  const text::WordVectors vectors = text::read_word_vectors(choice.vectors, choice.most);
  require_known(vectors, choice.words);
  if (choice.method == "tsne" && !choice.words.empty() && choice.words.size() < 4) {
    throw Error({.op = "tegula words plot",
                 .got = std::to_string(choice.words.size()) + " words",
                 .expected = "at least 4 for t-SNE",
                 .advice = "--method pca takes fewer"});
  }
  std::vector<text::Id> ids;
  for (const std::string& word : choice.words) ids.push_back(vectors.vocabulary().id(word));
  for (text::Id id = 0; choice.words.empty() && id < std::min(choice.shown, vectors.size()); ++id) ids.push_back(id);
  HostArray rows = HostArray::empty(f32, {static_cast<std::int64_t>(ids.size()), vectors.dimension()});
  io::Scatter scatter;
  scatter.title = choice.vectors;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string& word = vectors.vocabulary().token(ids[i]);
    const auto row = vectors[word];
    std::copy(row.begin(), row.end(), rows.values<float>().begin() + static_cast<std::ptrdiff_t>(i * row.size()));
    scatter.labels.push_back(word);
  }
  const HostArray points = choice.method == "pca" ? text::principal_components(rows) : text::tsne(rows, {.perplexity = choice.perplexity});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    scatter.x.push_back(points.values<float>()[2 * i]);
    scatter.y.push_back(points.values<float>()[2 * i + 1]);
  }
  io::plot(choice.picture, scatter);
  std::printf("%zu words: %s\n", ids.size(), choice.picture.c_str());
}

}  // namespace

void add_words(Command& app) {
  Command words = app.command("words", "nearest words, analogies, scores and pictures of word vectors");
  words.needs_command();
  const auto begin = [&](const char* name, const char* text) {
    auto choice = std::make_shared<WordsChoice>();
    Command command = words.command(name, text);
    command.option("vectors", choice->vectors, "a file of word2vec (text, binary) or GloVe").required().type("VECTORS");
    command.option("--most", choice->most, "read only the first N words").check(positive()).type("N");
    return std::pair(command, choice);
  };
  {
    auto [command, choice] = begin("similar", "the words nearest to the sum of some");
    command.option("words", choice->words, "words").required().type("WORD");
    command.option("--without", choice->without, "words that are taken away").commas().type("WORD");
    command.option("--count", choice->count, "how many").check(positive()).shows_default().type("N");
    command.runs([choice] { similar(*choice); });
  }
  {
    auto [command, choice] = begin("analogy", "a is to b as c is to …");
    command.option("words", choice->words, "a, b and c").required().type("WORD");
    command.option("--count", choice->count, "how many").check(positive()).shows_default().type("N");
    command.runs([choice] { analogy(*choice); });
  }
  {
    auto [command, choice] = begin("vector", "the numbers of words, and how far they are from the first");
    command.option("words", choice->words, "words").required().type("WORD");
    command.runs([choice] { vector(*choice); });
  }
  {
    auto [command, choice] = begin("evaluate", "scores in analogies (questions-words.txt) and word similarity (WordSim-353, SimLex-999)");
    command.option("files", choice->files, "questions \": section\" and \"a b c d\", or \"word word number\" in each line")
        .required()
        .type("FILE");
    command.runs([choice] { evaluate(*choice); });
  }
  {
    auto [command, choice] = begin("plot", "a picture of a vocabulary");
    command.option("picture", choice->picture, "the picture, .png or .svg").required().type("PICTURE");
    command.option("--words", choice->words, "these words [the most frequent ones]").commas().type("WORD");
    command.option("--count", choice->shown, "how many of the most frequent ones").check(positive()).shows_default().type("N");
    command.option("--method", choice->method, "how vectors become points").check(one_of({"tsne", "pca"})).shows_default();
    command.option("--perplexity", choice->perplexity, "of t-SNE: about how many neighbours a word feels")
        .check(positive_real())
        .shows_default()
        .type("X");
    command.runs([choice] { plot(*choice); });
  }
}

}  // namespace tegula::app
