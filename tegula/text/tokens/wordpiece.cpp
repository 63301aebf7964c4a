#include "tegula/text/tokens/wordpiece.h"

#include <algorithm>

#include "tegula/text/unicode.h"

namespace tegula::text {

WordPiece::WordPiece(Vocabulary vocabulary, WordPieceOptions options)
    : vocabulary_(std::move(vocabulary)),
      options_(std::move(options)),
      unknown_(vocabulary_.id(options_.unknown)) {
  for (const std::string& token : vocabulary_.tokens()) longest_token_ = std::max(longest_token_, token.size());
}

void WordPiece::encode(std::string_view piece, Ids& out) const {
  if (piece.empty()) return;
  const std::size_t before = out.size();
  const auto give_up = [&] {
    out.resize(before);
    out.push_back(unknown_);
  };
  if (static_cast<std::int64_t>(count_characters(piece)) > options_.longest_word) return give_up();
  std::string token;
  for (std::string_view rest = piece; !rest.empty();) {
    token = rest.size() < piece.size() ? options_.prefix : "";
    const std::size_t front = token.size();
    std::size_t size = std::min(rest.size(), longest_token_ > front ? longest_token_ - front : 0);
    std::optional<Id> id;
    for (token += rest.substr(0, size); size > 0; token.resize(front + --size)) {
      if ((id = vocabulary_.find(token))) break;
    }
    if (!id) return give_up();
    out.push_back(*id);
    rest.remove_prefix(size);
  }
}

WholeWords::WholeWords(Vocabulary vocabulary, const std::string& unknown, Unknowns unknowns)
    : vocabulary_(std::move(vocabulary)),
      unknowns_(unknowns) {
  if (!unknown.empty()) unknown_ = vocabulary_.id(unknown);
}

void WholeWords::encode(std::string_view piece, Ids& out) const {
  if (const auto id = vocabulary_.find(piece)) out.push_back(*id);
  else if (unknown_ && !(unknowns_ == Unknowns::Joined && !out.empty() && out.back() == *unknown_)) out.push_back(*unknown_);
}

}  // namespace tegula::text
