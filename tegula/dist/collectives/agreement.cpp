#include "tegula/dist/collectives/agreement.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula::dist {
namespace {

template <class T>
std::vector<T> gathered(const std::vector<T>& mine, DType dtype, const Group& group, const Line& where) {
  std::vector<T> all(mine.size() * static_cast<std::size_t>(group.size()));
  exchange_now(group, {Kind::AllGather, dtype, {static_cast<std::int64_t>(mine.size())}}, mine.data(), all.data(), where);
  return all;
}

}  // namespace

void exchange_now(const Group& group, const Collective& what, const void* in, void* out, const Line& where) {
  settle_noted();
  default_device().synchronize();
  carry_out(group, what, in, out, nullptr, where);
}

std::vector<std::vector<std::string>> gather_items(const std::vector<std::string>& mine, const Group& group, const Line& where) {
  std::vector<std::uint8_t> bytes;  // each item and a 0 behind it
  for (const std::string& item : mine) {
    bytes.insert(bytes.end(), item.begin(), item.end());
    bytes.push_back(0);
  }
  const auto lengths = gathered<std::int64_t>({static_cast<std::int64_t>(bytes.size())}, DType::i64, group, where);
  bytes.resize(static_cast<std::size_t>(*std::ranges::max_element(lengths)));
  const auto all = gathered(bytes, DType::u8, group, where);
  std::vector<std::vector<std::string>> out(lengths.size());
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    std::string item;
    for (std::size_t i = 0; i < static_cast<std::size_t>(lengths[r]); ++i) {
      if (const char c = static_cast<char>(all[r * bytes.size() + i])) item += c;
      else out[r].push_back(std::exchange(item, {}));
    }
  }
  return out;
}

void require_alike(std::string_view op, const std::vector<std::string>& items, const std::string& expected, const Group& group,
                   const Line& where) {
  if (group.size() == 1) return;
  const auto all = gather_items(items, group, where);
  const auto other = std::ranges::find_if(all, [&](const auto& theirs) { return theirs != all[0]; });
  if (other == all.end()) return;
  const auto differing = [&](const std::vector<std::string>& ours, const std::vector<std::string>& theirs) {
    std::string text;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (i >= theirs.size() || ours[i] != theirs[i]) text += (text.empty() ? "" : ", ") + ours[i];
    }
    return text;
  };
  throw Error(
      {.op = std::string(op),
       .got = differing(all[0], *other) + " on rank 0 and " + differing(*other, all[0]) + " on rank " + std::to_string(other - all.begin()),
       .expected = expected,
       .where = where});
}

}  // namespace tegula::dist
