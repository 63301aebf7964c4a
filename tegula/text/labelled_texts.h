#pragma once
// Texts with classes: their files, and their batches.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tegula/data/dataset.h"
#include "tegula/text/tokens/tokenizer.h"

namespace tegula::text {

/// Text i has label i.
struct LabelledTexts {
  std::vector<std::string> texts, labels;
  std::size_t size() const { return texts.size(); }
};

struct LabelledTextsOptions {
  std::string text_column = {},
              label_column = {};  // of a table whose first line names its columns: .csv, otherwise tabs; empty: lines as below
};
/// A label and a text in each line, a tab between them; or a blank, where no line has a tab (sent-conv: "1 a stirring , funny …"). Bytes that are no UTF-8 become
/// U+FFFD, empty lines are skipped. Throws Error when the file cannot be read, with the line where a label or text is missing, and for a file without texts.
LabelledTexts read_labelled_texts(const std::string& path, const LabelledTextsOptions& options = {});

/// The different labels, sorted.
std::vector<std::string> classes_of(const LabelledTexts& texts);

/// Counts each word in the texts: between white space, in lower case, as words_json cuts them.
TextMap<std::int64_t> count_words(std::span<const std::string> texts);

/// Token sequences with class numbers. A batch is (n, W) tokens, (n) lengths and (n) labels, all i64; W is the longest sequence's length there, rounded up to a
/// multiple of 8, so that there are few shapes. Behind a sequence are zeros.
class LabelledSequences {
 public:
  /// Sequences are cut behind `longest` tokens; an empty one becomes one token 0. Throws Error for a label that is not among the classes.
  LabelledSequences(const LabelledTexts& texts, const Tokenizer& tokenizer, const std::vector<std::string>& classes, std::int64_t longest);
  std::int64_t size() const { return static_cast<std::int64_t>(sequences_->size()); }
  data::Sample get(std::int64_t i) const;
  std::vector<HostArray> gather(std::span<const std::int64_t> rows) const;

  /// The length of each sequence, by which batches are made (data::SamplerOptions).
  std::vector<std::int64_t> lengths() const;
  std::int64_t label(std::int64_t i) const { return (*labels_)[static_cast<std::size_t>(i)]; }
  /// The same in the order of their lengths: little is padded in batches that follow it.
  LabelledSequences by_length() const;

 private:
  std::shared_ptr<const std::vector<Ids>> sequences_;
  std::shared_ptr<const std::vector<std::int64_t>> labels_;
};

/// Sequences as one batch: (n, W) tokens and (n) lengths, W as above.
std::vector<HostArray> as_batch(std::span<const Ids* const> sequences);
/// The tokens of a text for a classifier: at most `longest`, at least one.
Ids classifier_tokens(const Tokenizer& tokenizer, std::string_view text, std::int64_t longest);
/// The same where the tokenizer frames a text (BERT's [CLS] and [SEP]): the last token stays.
Ids framed_tokens(const Tokenizer& tokenizer, std::string_view text, std::int64_t longest);
/// The same of two texts with a tab between them: [CLS] first [SEP] second [SEP], of which the longer one is cut. Throws Error for a text without a tab, and room for less than a
/// token of each.
Ids framed_pair(const Tokenizer& tokenizer, std::string_view texts, std::int64_t longest);

}  // namespace tegula::text
