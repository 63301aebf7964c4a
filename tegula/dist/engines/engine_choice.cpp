#include "tegula/dist/engines/engine_choice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tegula/core/error.h"

namespace tegula::dist {
namespace {

template <std::size_t N>
void put(std::array<char, N>& to, const std::string& text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), N - 1));
}
template <std::size_t N>
std::string text_in(const std::array<char, N>& from) {
  return {from.data(), ::strnlen(from.data(), N)};
}

std::string who(const Candidate& one) { return "rank " + std::to_string(one.rank); }

}  // namespace

Wish wish_of_environment() {
  const char* const value = std::getenv("TEGULA_ENGINE");
  const std::string_view text = value ? value : "";
  return text == "nccl" ? Wish::Must : text.empty() ? Wish::Own : Wish::None;
}

Candidate candidate(int rank, Wish wish, runtime::Communicates* device) {
  Candidate mine{.rank = rank, .wish = wish};
  if (!device) {
    put(mine.text, "its device is no GPU");
    return mine;
  }
  try {
    put(mine.identity, device->identity());
    put(mine.text, device->engine());
    mine.able = true;
  } catch (const Error& error) { put(mine.text, error.report().got + "; " + error.report().advice); }
  return mine;
}

std::string objection(std::span<const Candidate> all) {
  for (const Candidate& one : all) {
    if (!one.able) return who(one) + ": " + text_in(one.text);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (all[i].identity == all[k].identity) return who(all[k]) + " and " + who(all[i]) + " on one GPU, " + text_in(all[i].identity);
      if (all[i].text != all[k].text)
        return text_in(all[k].text) + " on " + who(all[k]) + " and " + text_in(all[i].text) + " on " + who(all[i]);
    }
  }
  return "";
}

bool must(std::span<const Candidate> all) {
  return std::ranges::any_of(all, [](const Candidate& one) { return one.wish == Wish::Must; });
}

}  // namespace tegula::dist
