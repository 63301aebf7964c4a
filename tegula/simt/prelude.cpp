// The functions that generated kernels call: stored types, wide accesses, exchange between threads, tensor cores, and words that CUDA has no function for.

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tegula/simt/codegen.h"
#include "tegula/simt/prelude.cuh.h"
#include "tegula/simt/prelude_across.cuh.h"
#include "tegula/simt/prelude_products.cuh.h"
#include "tegula/simt/prelude_words.cuh.h"

namespace tegula::gpu {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Calls f(identifier, its offset) for each identifier of the text, in order.
template <class F>
void for_each_identifier(std::string_view text, F&& f) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end > at) f(text.substr(at, end - at), at);
    at = end + 1;
  }
}

/// Calls f(name) for each name by which other text uses the part: of functions, structs and macros that it declares. A static member is reached by its struct's.
template <class F>
void for_each_declared(std::string_view part, F&& f) {
  bool in_struct = false, in_macro = false;  // between the word and the name
  bool in_function = false, is_static = false;  // between __device__ and the parenthesis behind the function's name
  std::string_view before;
  for_each_identifier(part, [&](std::string_view name, std::size_t at) {
    const std::size_t end = at + name.size();
    if (name == "struct") in_struct = true;
    else if (name == "define") in_macro = true;
    else if (name == "__device__") in_function = true, is_static = before == "static";
    else if (in_macro || (in_struct && name != "alignas" && !is_digit(name[0]))) f(name), in_struct = in_macro = false;
    else if (in_function && end < part.size() && part[end] == '(') {
      if (!is_static) f(name);
      in_function = false;
    }
    before = name;
  });
}

constexpr std::size_t kParts = 4;
/// The parts in their order: a later one may use an earlier one.
constexpr std::array<std::string_view, kParts> kText{kTypes, kWords, kAcross, kProducts};

/// The names that the parts declare, and the parts that each part uses.
class Parts {
 public:
  Parts() {
    for (std::size_t i = 0; i < kParts; ++i) for_each_declared(kText[i], [&](std::string_view name) { declaring_[name] |= 1u << i; });
    for (std::size_t i = 0; i < kParts; ++i) uses_[i] = named_in(kText[i]) & ((1u << i) - 1);
  }
  /// Bit i: the kernels need part i.
  unsigned needed_by(std::string_view kernels) const {
    unsigned needed = 1 | named_in(kernels);  // the types always
    for (std::size_t i = kParts; i-- > 0;)
      if (needed >> i & 1) needed |= uses_[i];
    return needed;
  }

 private:
  unsigned named_in(std::string_view words) const {
    unsigned parts = 0;
    for_each_identifier(words, [&](std::string_view name, std::size_t) {
      if (const auto found = declaring_.find(name); found != declaring_.end()) parts |= found->second;
    });
    return parts;
  }
  std::unordered_map<std::string_view, unsigned> declaring_;  // parts, by name
  std::array<unsigned, kParts> uses_{};
};
constexpr std::string_view kBegin = "// Tegula's prelude: see tegula/simt/prelude.cpp\n", kEnd = "// Tegula's kernels:\n";

}  // namespace

std::string prelude() {
  std::string text(kBegin);
  for (const std::string_view part : kText) text += part;
  return text += kEnd;
}

std::string with_prelude(std::string_view kernels) {
  static const Parts parts;
  const unsigned needed = parts.needed_by(kernels);
  std::string text(kBegin);
  for (std::size_t i = 0; i < kParts; ++i)
    if (needed >> i & 1) text += kText[i];
  return (text += kEnd) += kernels;
}

std::string_view behind_prelude(std::string_view unit) {
  if (!unit.starts_with(kBegin)) return {};
  const std::size_t end = unit.find(kEnd);
  return end == unit.npos ? std::string_view() : unit.substr(end + kEnd.size());
}

}  // namespace tegula::gpu
