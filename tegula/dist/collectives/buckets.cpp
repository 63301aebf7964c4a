#include "tegula/dist/collectives/buckets.h"

#include <algorithm>

#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

std::int64_t bytes_of(const Tensor& x) { return x.numel() * static_cast<std::int64_t>(size_of(x.dtype())); }

std::vector<std::vector<std::size_t>> buckets_of(const std::vector<Tensor>& tensors, std::int64_t most) {
  std::vector<std::vector<std::size_t>> buckets;
  std::int64_t bytes = 0;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    if (!tensors[i].defined()) continue;
    const bool fits = !buckets.empty() && bytes + bytes_of(tensors[i]) <= most && tensors[buckets.back()[0]].dtype() == tensors[i].dtype();
    if (!fits) buckets.emplace_back(), bytes = 0;
    buckets.back().push_back(i);
    bytes += bytes_of(tensors[i]);
  }
  return buckets;
}

/// The bound on a bucket's size: beside a backward pass, the first of few exchanges must not wait until its end.
std::int64_t most_in_one(const std::vector<Tensor>& tensors, std::int64_t most) {
  constexpr std::int64_t kFew = 4, kLeast = 64 << 10;  // a message of fewer bytes costs mostly latency
  std::int64_t all = 0;
  for (const Tensor& tensor : tensors) all += tensor.defined() ? bytes_of(tensor) : 0;
  return std::min(most, std::max(all / kFew, kLeast));
}

}  // namespace

std::vector<Tensor> in_buckets(const std::vector<Tensor>& tensors, std::int64_t most, const std::function<Tensor(const Tensor&)>& exchange,
                               const Line& where) {
  const auto alone = [&](const Tensor& all) { return std::vector{exchange(all)}; };
  std::vector<Tensor> out;
  for (const auto& results : several_in_buckets(tensors, most, alone, where)) out.push_back(results.empty() ? Tensor() : results[0]);
  return out;
}

std::vector<std::vector<Tensor>> several_in_buckets(const std::vector<Tensor>& tensors, std::int64_t most,
                                                    const std::function<std::vector<Tensor>(const Tensor&)>& exchange, const Line& where) {
  std::vector<std::vector<Tensor>> out(tensors.size());
  for (const auto& bucket : buckets_of(tensors, most_in_one(tensors, most))) {
    std::vector<Tensor> members;
    for (const std::size_t i : bucket) members.push_back(tensors[i]);
    const std::vector<Tensor> all = exchange(members.size() == 1 ? members[0] : concat(members, -1, where));
    std::int64_t begin = 0;
    for (const std::size_t i : bucket) {
      const std::int64_t end = begin + tensors[i].shape().back();
      for (const Tensor& result : all) out[i].push_back(slice(Arg(result, where), -1, {begin, end}));
      begin = end;
    }
  }
  return out;
}

}  // namespace tegula::dist
