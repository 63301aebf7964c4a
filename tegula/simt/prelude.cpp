// What generated kernels stand on: stored types, wide accesses, exchange between threads, tensor cores, and words that CUDA has no function for.

#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tegula/simt/codegen.h"
#include "tegula/simt/prelude.cuh.h"
#include "tegula/simt/prelude_across.cuh.h"
#include "tegula/simt/prelude_products.cuh.h"
#include "tegula/simt/prelude_words.cuh.h"

namespace tegula::gpu {

namespace {

using Names = std::unordered_set<std::string_view>;

/// Calls f(identifier, its offset) for each identifier of the text, in order.
template <class F>
void for_each_identifier(std::string_view text, F&& f) {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end > at) f(text.substr(at, end - at), at);
    at = end + 1;
  }
}

/// The names by which other text uses the part: functions, structs and macros that it declares.
std::vector<std::string_view> declared_in(std::string_view part) {
  std::vector<std::string_view> names;
  bool in_struct = false, in_macro = false;  // between the word and the name
  bool in_function = false;  // between __device__ and the parenthesis behind the function's name
  for_each_identifier(part, [&](std::string_view name, std::size_t at) {
    const std::size_t end = at + name.size();
    if (name == "struct") in_struct = true;
    else if (name == "define") in_macro = true;
    else if (name == "__device__") in_function = true;
    else if (in_macro || (in_struct && name != "alignas" && !std::isdigit(static_cast<unsigned char>(name[0]))))
      names.push_back(name), in_struct = in_macro = false;
    else if (in_function && end < part.size() && part[end] == '(') names.push_back(name), in_function = false;
  });
  return names;
}

/// A later part may use an earlier one.
struct Part {
  std::string_view text;
  std::vector<std::string_view> names;
  explicit Part(std::string_view words) : text(words), names(declared_in(words)) {}
};
const std::array<Part, 4>& parts() {
  static const std::array<Part, 4> all{Part(kTypes), Part(kWords), Part(kAcross), Part(kProducts)};
  return all;
}
constexpr std::string_view kBegin = "// Tegula's prelude: see tegula/simt/prelude.cpp\n", kEnd = "// Tegula's kernels:\n";

}  // namespace

std::string prelude() {
  std::string text(kBegin);
  for (const Part& part : parts()) text += part.text;
  return text += kEnd;
}

std::string with_prelude(std::string_view kernels) {
  Names used;
  const auto use = [&](std::string_view text) {
    for_each_identifier(text, [&](std::string_view name, std::size_t) { used.insert(name); });
  };
  use(kernels);
  std::array<bool, 4> needed{true};  // the types
  for (std::size_t i = parts().size(); i-- > 0;) {
    for (const std::string_view name : parts()[i].names) needed[i] = needed[i] || used.contains(name);
    if (needed[i]) use(parts()[i].text);
  }
  std::string text(kBegin);
  for (std::size_t i = 0; i < parts().size(); ++i)
    if (needed[i]) text += parts()[i].text;
  return (text += kEnd) += kernels;
}

std::string_view behind_prelude(std::string_view unit) {
  if (!unit.starts_with(kBegin)) return {};
  const std::size_t end = unit.find(kEnd);
  return end == unit.npos ? std::string_view() : unit.substr(end + kEnd.size());
}

}  // namespace tegula::gpu
