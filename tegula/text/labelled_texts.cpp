#include "tegula/text/labelled_texts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/csv.h"
#include "tegula/text/lines.h"
#include "tegula/text/tokens/splitter.h"
#include "tegula/text/unicode.h"

namespace tegula::text {
namespace {

constexpr const char* kOp = "read_labelled_texts";

LabelledTexts from_table(const std::string& path, const LabelledTextsOptions& options) {
  const io::Table table = io::read_csv(path, path.ends_with(".csv") || path.ends_with(".csv.gz") ? io::CsvOptions{} : io::tsv());
  return {table.texts(options.text_column), table.texts(options.label_column)};
}

/// For a first line that looks like the names of a table's columns: several words with a sign between them.
std::string table_advice(std::string_view line) {
  const bool is_heading =
      line.find_first_of(",;\t") != std::string_view::npos && line.find_first_of(".!?0123456789") == std::string_view::npos;
  return is_heading ? "of a table whose first line names its columns say which hold texts and labels: --text-column, --label-column" : "";
}

}  // namespace

LabelledTexts read_labelled_texts(const std::string& path, const LabelledTextsOptions& options) {
  LabelledTexts out;
  if (!options.text_column.empty() || !options.label_column.empty()) {
    if (options.text_column.empty() || options.label_column.empty())
      throw Error({.op = kOp, .got = "one column", .expected = "the names of two, of texts and of labels"});
    out = from_table(path, options);
  } else {
    const std::string all = replace_invalid(read_text(path, kOp));
    const auto lines = split_lines(all);
    const bool tabs = std::ranges::any_of(lines, [](std::string_view line) { return line.find('\t') != std::string_view::npos; });
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].empty()) continue;
      const std::size_t at = lines[i].find(tabs ? '\t' : ' ');
      if (at == 0 || at == std::string_view::npos || at + 1 == lines[i].size()) {
        throw Error({.op = kOp,
                     .got = path + ", line " + std::to_string(i + 1) + ": '" + printable(lines[i].substr(0, 60)) + "'",
                     .expected = std::string("a label, ") + (tabs ? "a tab" : "a blank") + " and a text",
                     .advice = i == 0 ? table_advice(lines[0]) : ""});
      }
      out.labels.emplace_back(lines[i].substr(0, at));
      out.texts.emplace_back(lines[i].substr(at + 1));
    }
  }
  if (out.texts.empty()) throw Error({.op = kOp, .got = path + ", a file without texts", .expected = "a label and a text in each line"});
  return out;
}

std::vector<std::string> classes_of(const LabelledTexts& texts) {
  const std::set<std::string> all(texts.labels.begin(), texts.labels.end());
  return {all.begin(), all.end()};
}

TextMap<std::int64_t> count_words(std::span<const std::string> texts) {
  const Splitter split = split_by(is_space, Delimiter::Removed);
  TextMap<std::int64_t> counts;
  Pieces pieces;
  for (const std::string& text : texts) {
    pieces.clear();
    split({lowercase(text), true}, pieces);
    for (Piece& piece : pieces) ++counts[std::move(piece.text)];
  }
  return counts;
}

Ids classifier_tokens(const Tokenizer& tokenizer, std::string_view text, std::int64_t longest) {
  Ids ids = tokenizer.encode(text);
  if (static_cast<std::int64_t>(ids.size()) > longest) ids.resize(static_cast<std::size_t>(longest));
  if (ids.empty()) ids.push_back(0);
  return ids;
}

Ids framed_tokens(const Tokenizer& tokenizer, std::string_view text, std::int64_t longest) {
  Ids ids = tokenizer.encode(text);
  if (const auto most = static_cast<std::size_t>(longest); ids.size() > most) {
    ids[most - 1] = ids.back();
    ids.resize(most);
  }
  return ids;
}

Ids framed_pair(const Tokenizer& tokenizer, std::string_view texts, std::int64_t longest) {
  constexpr std::size_t kFrame = 3;
  const std::size_t tab = texts.find('\t');
  if (tab == std::string_view::npos || longest < static_cast<std::int64_t>(kFrame) + 2) {
    throw Error({.op = "framed_pair",
                 .got = printable(texts.substr(0, 60)) + ", at most " + std::to_string(longest) + " tokens",
                 .expected = "two texts with a tab between them, and room for a token of each"});
  }
  Ids first = tokenizer.encode(texts.substr(0, tab), SpecialTokens::No),
      second = tokenizer.encode(texts.substr(tab + 1), SpecialTokens::No);
  while (first.size() + second.size() + kFrame > static_cast<std::size_t>(longest))
    (first.size() > second.size() ? first : second).pop_back();
  Ids out{tokenizer.id("[CLS]")};
  out.insert(out.end(), first.begin(), first.end());
  out.push_back(tokenizer.id("[SEP]"));
  out.insert(out.end(), second.begin(), second.end());
  out.push_back(tokenizer.id("[SEP]"));
  return out;
}

std::vector<HostArray> as_batch(std::span<const Ids* const> sequences) {
  constexpr std::size_t kStep = 8;
  std::size_t longest = 1;
  for (const Ids* one : sequences) longest = std::max(longest, one->size());
  const std::size_t width = (longest + kStep - 1) / kStep * kStep;
  std::vector<std::int64_t> tokens(sequences.size() * width), lengths;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::ranges::copy(*sequences[i], tokens.begin() + static_cast<std::ptrdiff_t>(i * width));
    lengths.push_back(static_cast<std::int64_t>(sequences[i]->size()));
  }
  const auto n = static_cast<std::int64_t>(sequences.size());
  return {HostArray::from(std::span<const std::int64_t>(tokens), {n, static_cast<std::int64_t>(width)}),
          HostArray::from(std::span<const std::int64_t>(lengths), {n})};
}

LabelledSequences::LabelledSequences(const LabelledTexts& texts, const Tokenizer& tokenizer, const std::vector<std::string>& classes,
                                     std::int64_t longest) {
  std::vector<Ids> sequences;
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto found = std::ranges::find(classes, texts.labels[i]);
    if (found == classes.end()) {
      std::string names;
      for (const std::string& name : classes) names += (names.empty() ? "" : ", ") + name;
      throw Error({.op = "LabelledSequences",
                   .got = "the label '" + printable(texts.labels[i].substr(0, 60)) + "' of text " + std::to_string(i + 1),
                   .expected = "one of the training set's: " + names});
    }
    labels.push_back(found - classes.begin());
    sequences.push_back(classifier_tokens(tokenizer, texts.texts[i], longest));
  }
  sequences_ = std::make_shared<const std::vector<Ids>>(std::move(sequences));
  labels_ = std::make_shared<const std::vector<std::int64_t>>(std::move(labels));
}

std::vector<HostArray> LabelledSequences::gather(std::span<const std::int64_t> rows) const {
  std::vector<const Ids*> sequences;
  std::vector<std::int64_t> labels;
  for (const std::int64_t row : rows) {
    sequences.push_back(&(*sequences_)[static_cast<std::size_t>(row)]);
    labels.push_back(label(row));
  }
  std::vector<HostArray> batch = as_batch(sequences);
  batch.push_back(HostArray::from(std::span<const std::int64_t>(labels), {static_cast<std::int64_t>(labels.size())}));
  return batch;
}

data::Sample LabelledSequences::get(std::int64_t i) const {
  const Ids& ids = (*sequences_)[static_cast<std::size_t>(i)];
  const auto length = static_cast<std::int64_t>(ids.size());
  return {HostArray::from(std::span<const Id>(ids), {length}), data::number(length), data::number(label(i))};
}

std::vector<std::int64_t> LabelledSequences::lengths() const {
  std::vector<std::int64_t> out;
  for (const Ids& ids : *sequences_) out.push_back(static_cast<std::int64_t>(ids.size()));
  return out;
}

LabelledSequences LabelledSequences::by_length() const {
  std::vector<std::size_t> order(sequences_->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return (*sequences_)[i].size(); });
  std::vector<Ids> sequences;
  std::vector<std::int64_t> labels;
  for (const std::size_t i : order) sequences.push_back((*sequences_)[i]), labels.push_back((*labels_)[i]);
  LabelledSequences out = *this;
  out.sequences_ = std::make_shared<const std::vector<Ids>>(std::move(sequences));
  out.labels_ = std::make_shared<const std::vector<std::int64_t>>(std::move(labels));
  return out;
}

}  // namespace tegula::text
