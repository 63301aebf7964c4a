// tegula train word2vec, co-occurrence, bpe: trainings on plain texts.

#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/models/text/counted_vectors.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/tokenizer_files.h"
#include "tegula/text/vectors/word2vec.h"

namespace tegula::app {
namespace {

struct Word2VecChoice {
  std::vector<std::string> files;
  text::Word2VecOptions options;
  text::CorpusOptions corpus;
  std::int64_t phrases = 0;
  std::string architecture = "skip-gram", objective = "negative-sampling", out = "words.txt", format = "text";
};

std::string read_all(const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) all += text::read_text(file, "tegula train") + "\n\n";
  return all;
}

text::VectorFormat format_of(const std::string& name) {
  return name == "binary"  ? text::VectorFormat::Word2VecBinary
         : name == "glove" ? text::VectorFormat::GloVe
                           : text::VectorFormat::Word2VecText;
}

void run_word2vec(Word2VecChoice choice) {
  refuse_ranks("tegula train word2vec", "its threads write into one table without waiting for each other (Hogwild)");
  io::require_writable(choice.out, "tegula train word2vec");
  text::Corpus corpus = text::make_corpus(read_all(choice.files), choice.corpus);
  for (std::int64_t i = 0; i < choice.phrases; ++i) corpus = text::join_phrases(corpus);
  std::printf("%s words in %s sentences, %s different\n", quantity(static_cast<double>(corpus.words.size())).c_str(),
              quantity(static_cast<double>(corpus.sentences())).c_str(), quantity(static_cast<double>(corpus.vocabulary.size())).c_str());
  std::fflush(stdout);
  choice.options.architecture = choice.architecture == "cbow" ? text::Architecture::Cbow : text::Architecture::SkipGram;
  choice.options.objective =
      choice.objective == "hierarchical-softmax" ? text::Objective::HierarchicalSoftmax : text::Objective::NegativeSampling;
  text::Word2VecProgress last;
  {
    ProgressLine line;
    const auto vectors = text::train_word2vec(corpus, choice.options, [&](const text::Word2VecProgress& progress) {
      if (progress.loss > 0) last = progress;
      last.words_per_second = progress.words_per_second;
      if (!line.due()) return;
      line.show({{format("epoch %lld/%lld", static_cast<long long>(progress.epoch), static_cast<long long>(progress.epochs)), 9},
                 {bar(progress.share, 24), 2},
                 {format(" loss %.4f", progress.loss), 8},
                 {format(" lr %.4f", progress.lr), 4},
                 {format(" %s words/s", quantity(progress.words_per_second).c_str()), 6}});
    });
    line.finish(format("loss %.4f, %s words/s", last.loss, quantity(last.words_per_second).c_str()));
    text::write_word_vectors(choice.out, vectors, format_of(choice.format));
  }
  std::printf("vectors: %s\n", choice.out.c_str());
}

struct CountsChoice {
  std::vector<std::string> files;
  models::CountedVectorsOptions options;
  text::CorpusOptions corpus;
  std::string out = "words.txt", format = "text";
};

void run_counts(const CountsChoice& choice) {
  refuse_ranks("tegula train co-occurrence", "one matrix is taken apart");
  io::require_writable(choice.out, "tegula train co-occurrence");
  const text::Corpus corpus = text::make_corpus(read_all(choice.files), choice.corpus);
  const text::WordVectors vectors = models::counted_vectors(corpus, choice.options);
  text::write_word_vectors(choice.out, vectors, format_of(choice.format));
  std::printf("%lld of %s words, %lld singular vectors: %s\n", static_cast<long long>(vectors.size()),
              quantity(static_cast<double>(corpus.vocabulary.size())).c_str(), static_cast<long long>(vectors.dimension()),
              choice.out.c_str());
}

struct BpeChoice {
  std::vector<std::string> files, special;
  text::BpeTrainerOptions options;
  std::string out = "bpe";
};

void run_bpe(BpeChoice choice) {
  refuse_ranks("tegula train bpe", "pairs are joined one after another");
  choice.options.special = choice.special;
  io::make_folder(choice.out, "--out");
  const std::string vocabulary = choice.out + "/vocab.json", merges = choice.out + "/merges.txt";
  io::require_writable(vocabulary, "tegula train bpe");
  text::TextMap<std::int64_t> pieces;
  for (const std::string& file : choice.files) text::count_pieces(text::read_text(file, "tegula train"), pieces);
  const text::TrainedBpe trained = text::train_bpe(pieces, choice.options);
  text::write_gpt2_files(vocabulary, merges, trained.vocabulary, trained.merges);
  std::printf("%lld tokens, %zu merges: %s, %s\n", static_cast<long long>(trained.vocabulary.size()), trained.merges.size(),
              vocabulary.c_str(), merges.c_str());
}

}  // namespace

void add_train_text(Command& train) {
  {
    auto choice = std::make_shared<Word2VecChoice>();
    Command command = train.command("word2vec", "vectors for the words of a text");
    command.last_counts();
    command.option("files", choice->files, "texts, plain or gzipped").required().type("TEXT");
    command.option("--architecture", choice->architecture, "what predicts what").check(one_of({"skip-gram", "cbow"})).shows_default();
    command.option("--objective", choice->objective, "against some other words, or down a tree to the word")
        .check(one_of({"negative-sampling", "hierarchical-softmax"}))
        .shows_default();
    command.option("--size", choice->options.size, "numbers of a vector").check(positive()).shows_default().type("N");
    command.option("--window", choice->options.window, "words on either side, at most").check(positive()).shows_default().type("N");
    command.option("--negatives", choice->options.negatives, "words drawn against each that is there")
        .check(positive())
        .shows_default()
        .type("N");
    command.option("--subsample", choice->options.subsample, "words above this share of the text are left out now and then")
        .check(between(0, 1))
        .shows_default()
        .type("P");
    command.option("--minimum", choice->corpus.minimum, "how often a word must come").check(positive()).shows_default().type("N");
    command.option("--phrases", choice->phrases, "passes that join words which often come together: new_york")
        .check(not_negative())
        .shows_default()
        .type("N");
    command.option("--epochs", choice->options.epochs, "passes over the text").check(positive()).shows_default().type("N");
    command.option("--lr", choice->options.lr, "learning rate at the beginning; it falls linearly")
        .check(positive_real())
        .shows_default()
        .type("X");
    command.option("--seed", choice->options.seed, "with one thread the same seed gives the same bits")
        .check(any_count())
        .shows_default()
        .type("S");
    command.option("--out", choice->out, "the vectors").check(not_empty()).shows_default().type("FILE");
    command.option("--format", choice->format, "of word2vec, or GloVe's").check(one_of({"text", "binary", "glove"})).shows_default();
    command.runs([choice] { run_word2vec(*choice); });
  }
  {
    auto choice = std::make_shared<CountsChoice>();
    Command command = train.command("co-occurrence", "vectors for the words of a text, by counts of neighbours and singular vectors");
    command.last_counts();
    command.option("files", choice->files, "texts, plain or gzipped").required().type("TEXT");
    command.option("--size", choice->options.size, "numbers of a vector").check(positive()).shows_default().type("N");
    command.option("--window", choice->options.window, "words on either side").check(positive()).shows_default().type("N");
    command.option("--words", choice->options.words, "the most frequent ones alone").check(positive()).shows_default().type("N");
    command.option("--minimum", choice->corpus.minimum, "how often a word must come").check(positive()).shows_default().type("N");
    command.option("--out", choice->out, "the vectors").check(not_empty()).shows_default().type("FILE");
    command.option("--format", choice->format, "of word2vec, or GloVe's").check(one_of({"text", "binary", "glove"})).shows_default();
    command.runs([choice] { run_counts(*choice); });
  }
  {
    auto choice = std::make_shared<BpeChoice>();
    Command command = train.command("bpe", "a byte-level tokenizer, as GPT-2's, from texts");
    command.option("files", choice->files, "texts, plain or gzipped").required().type("TEXT");
    command.option("--vocabulary", choice->options.vocabulary, "tokens in all, 256 bytes included")
        .check(positive())
        .shows_default()
        .type("N");
    command.option("--minimum", choice->options.minimum, "how often a pair must come").check(positive()).shows_default().type("N");
    command.option("--special", choice->special, "tokens with the first numbers").commas().type("TOKEN");
    command.option("--out", choice->out, "a folder for vocab.json and merges.txt").check(not_empty()).shows_default().type("DIR");
    command.runs([choice] { run_bpe(*choice); });
  }
}

}  // namespace tegula::app
