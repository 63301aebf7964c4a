#include "tegula/text/tokens/splitter.h"

#include <utility>

namespace tegula::text {
namespace {

struct Fragment {
  std::size_t begin, end;
  bool delimits;
};

/// Matches and the texts between them, from the left.
std::vector<Fragment> parts_of(const std::string& text, const std::vector<Pattern::Match>& matches, bool inverted) {
  std::vector<Fragment> parts;
  std::size_t at = 0;
  for (const auto [begin, end] : matches) {
    if (begin > at) parts.push_back({at, begin, inverted});
    parts.push_back({begin, end, !inverted});
    at = end;
  }
  if (at < text.size()) parts.push_back({at, text.size(), inverted});
  return parts;
}

void cut(const Piece& piece, std::vector<Fragment> parts, Delimiter delimiter, Pieces& out) {
  std::vector<Fragment> kept;
  bool joins_next = false;
  for (const Fragment& part : parts) {
    const bool after_delimiter = !kept.empty() && kept.back().delimits && kept.back().end == part.begin;
    const bool joins = (delimiter == Delimiter::MergedWithNext && joins_next && !kept.empty()) ||
                       (delimiter == Delimiter::MergedWithPrevious && part.delimits && !kept.empty() && !after_delimiter) ||
                       (delimiter == Delimiter::Contiguous && !kept.empty() && part.delimits == kept.back().delimits);
    joins_next = part.delimits;
    if (joins && delimiter == Delimiter::MergedWithNext && part.delimits) {
      kept.push_back(part);
    } else if (joins) {
      kept.back().end = part.end;
      kept.back().delimits = part.delimits;
    } else if (!part.delimits || delimiter != Delimiter::Removed) {
      kept.push_back(part);
    }
  }
  for (const Fragment& part : kept) out.push_back({piece.text.substr(part.begin, part.end - part.begin), piece.first && part.begin == 0});
}

}  // namespace

Splitter word_splitter() {
  const char* word = R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|[^\s\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+)";
  return split_by(Pattern(word), Delimiter::Removed, true);
}

bool is_bert_punctuation(char32_t code) {
  if (code < 0x80)
    return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) || (code >= 123 && code <= 126);
  return is_punctuation(code);
}

const char* const kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Splitter chain(std::vector<Splitter> steps) {
  return [steps = std::move(steps)](Piece piece, Pieces& out) {
    Pieces now, next;
    now.push_back(std::move(piece));
    for (const Splitter& step : steps) {
      next.clear();
      for (Piece& one : now) step(std::move(one), next);
      std::swap(now, next);
    }
    for (Piece& one : now) out.push_back(std::move(one));
  };
}

Splitter split_by(Sought what, Delimiter delimiter, bool inverted) {
  return [what = std::move(what), delimiter, inverted](const Piece& piece, Pieces& out) {
    std::vector<Pattern::Match> matches;
    if (const auto* pattern = std::get_if<Pattern>(&what)) {
      matches = pattern->matches(piece.text);
    } else if (const std::string& sought = std::get<std::string>(what); !sought.empty()) {
      for (std::size_t at = piece.text.find(sought); at != std::string::npos; at = piece.text.find(sought, at + sought.size()))
        matches.push_back({at, at + sought.size()});
    }
    cut(piece, parts_of(piece.text, matches, inverted), delimiter, out);
  };
}

Splitter split_by(bool (*is_delimiter)(char32_t), Delimiter delimiter) {
  return [is_delimiter, delimiter](const Piece& piece, Pieces& out) {
    std::vector<Pattern::Match> matches;
    std::size_t at = 0;
    for_each_character(piece.text, [&](char32_t code, std::string_view bytes) {
      if (is_delimiter(code)) matches.push_back({at, at + bytes.size()});
      at += bytes.size();
    });
    cut(piece, parts_of(piece.text, matches, false), delimiter, out);
  };
}

Splitter gpt2_splitter() { return split_by(Pattern(kGpt2Pattern), Delimiter::Isolated); }

Splitter blank_in_front() {
  return [](Piece piece, Pieces& out) {
    if (!piece.text.empty() && !piece.text.starts_with(' ')) piece.text.insert(piece.text.begin(), ' ');
    out.push_back(std::move(piece));
  };
}

Splitter bert_splitter() { return chain({split_by(is_space, Delimiter::Removed), split_by(is_bert_punctuation, Delimiter::Isolated)}); }

Splitter metaspace(std::string mark, PrependMark prepend, bool split) {
  const Normalizer blanks = replace(std::string(" "), mark);
  const Splitter at_marks = split_by(mark, Delimiter::MergedWithNext);
  return [=](Piece piece, Pieces& out) {
    piece.text = blanks(std::move(piece.text));
    const bool wanted = prepend == PrependMark::Always || (prepend == PrependMark::First && piece.first);
    if (wanted && !piece.text.empty() && !piece.text.starts_with(mark)) piece.text.insert(0, mark);
    if (split) at_marks(std::move(piece), out);
    else if (!piece.text.empty()) out.push_back(std::move(piece));
  };
}

}  // namespace tegula::text
