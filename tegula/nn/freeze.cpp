#include "tegula/nn/freeze.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/frozen.h"
#include "tegula/graph/trace.h"

namespace tegula {
namespace nn {
namespace {

/// True if the name matches the pattern, with * for anything and ? for one character.
bool fits(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) ++n, ++p;
    else if (p < pattern.size() && pattern[p] == '*') star = p++, mark = n;
    else if (star != std::string_view::npos) p = star + 1, n = ++mark;
    else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

class Freezing final : public Visitor {
 public:
  Freezing(std::string_view pattern, bool frozen) : pattern_(pattern), frozen_(frozen) {}

  void parameter(const Path& path, Variable& x) override {
    const std::string name = path.text();
    if (example_.empty()) example_ = name;
    if (!detail::fits_within(name, pattern_)) return;
    tegula::set_frozen(*x.cell(), frozen_);
    ++count_;
  }
  void flag(const Path& path, Flag& x) override {
    if (path.name == "frozen" && detail::fits_within(path.text(), pattern_)) x = frozen_ ? 1 : 0;
  }
  std::int64_t count() const { return count_; }
  const std::string& example() const { return example_; }  // a parameter's name

 private:
  std::string_view pattern_;
  bool frozen_;
  std::int64_t count_ = 0;
  std::string example_;
};

}  // namespace

bool detail::fits_within(std::string_view name, std::string_view pattern) {
  if (pattern.empty() || fits(name, pattern)) return true;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (fits(name.substr(0, dot), pattern)) return true;
  }
  return false;
}

std::int64_t detail::set_frozen(const AnyModule& module, std::string_view pattern, bool frozen, const Line& where) {
  refuse_in_trace(frozen ? "freeze" : "unfreeze", where);
  Freezing visitor(pattern, frozen);
  module.visit(visitor);
  if (visitor.count() > 0 || pattern.empty()) return visitor.count();
  throw Error({.op = frozen ? "freeze" : "unfreeze",
               .got = "\"" + std::string(pattern) + "\", which no parameter's name fits",
               .expected = "names such as \"" + visitor.example() + "\", parts of them with * for the rest",
               .advice = "summary(net) and parameters(net) show the names",
               .where = origin_at(where).where});
}

}  // namespace nn

Parameters trainable(const Parameters& parameters) {
  Parameters out;
  for (const Parameter& parameter : parameters) {
    if (!is_frozen(*parameter.cell)) out.push_back(parameter);
  }
  return out;
}

}  // namespace tegula
