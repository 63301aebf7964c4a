#include "tegula/dist/data_parallel.h"

#include "tegula/core/error.h"
#include "tegula/dist/collectives.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/trace.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::dist {
namespace {

std::int64_t bytes_of(const Tensor& x) { return x.numel() * static_cast<std::int64_t>(size_of(x.dtype())); }

/// From the last gradient, which is there first, to the first: neighbours of one dtype, up to so many bytes together.
std::vector<std::vector<std::size_t>> buckets_of(const std::vector<Tensor>& gradients, std::int64_t most) {
  std::vector<std::vector<std::size_t>> buckets;
  std::int64_t bytes = 0;
  for (std::size_t i = gradients.size(); i-- > 0;) {
    const bool fits =
        !buckets.empty() && bytes + bytes_of(gradients[i]) <= most && gradients[buckets.back()[0]].dtype() == gradients[i].dtype();
    if (!fits) buckets.emplace_back(), bytes = 0;
    buckets.back().push_back(i);
    bytes += bytes_of(gradients[i]);
  }
  return buckets;
}

std::vector<Tensor> reduced(const std::vector<Tensor>& gradients, const DataParallelOptions& options, Reduction reduction,
                            const std::source_location& where) {
  if (options.group.size() == 1) return gradients;
  const In frame("data_parallel", where);
  std::vector<Tensor> out(gradients.size());
  for (const auto& bucket : buckets_of(gradients, options.bucket_bytes)) {
    std::vector<Tensor> flat;
    for (const std::size_t i : bucket) flat.push_back(flatten(Arg(gradients[i], where)));
    const Tensor all = all_reduce(Arg(flat.size() == 1 ? flat[0] : concat(flat, 0, where), where), options.group, reduction);
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < bucket.size(); ++k) {
      const std::int64_t end = begin + flat[k].numel();
      out[bucket[k]] = reshape(Arg(slice(Arg(all, where), 0, {begin, end}), where), gradients[bucket[k]].shape());
      begin = end;
    }
  }
  return out;
}

}  // namespace

void broadcast_values(const Parameters& state, const Group& group, int root, std::source_location where) {
  refuse_in_trace("broadcast_values", where);
  if (group.size() == 1) return;
  for (const Parameter& parameter : state) {
    const HostArray mine = parameter.read(where).to_array(where);
    HostArray theirs = HostArray::empty(mine.dtype, mine.shape);
    carry_out(group, {Kind::Broadcast, mine.dtype, mine.shape, Reduction::Sum, root}, mine.buffer->data(), theirs.buffer->data(), nullptr,
              where);
    if (group.rank() != root) parameter.assign(from_array(theirs, where), where);
  }
}

DataParallel::DataParallel(const Parameters& state, DataParallelOptions options, Location where) : options_(std::move(options)) {
  if (options_.bucket_bytes < 1) {
    throw Error({.op = "data_parallel",
                 .got = "buckets of " + std::to_string(options_.bucket_bytes) + " bytes",
                 .expected = "at least one",
                 .where = where});
  }
  broadcast_values(state, options_.group, 0, where);
}

std::vector<Tensor> DataParallel::mean(const std::vector<Tensor>& gradients, Location where) const {
  return reduced(gradients, options_, Reduction::Mean, where);
}

std::vector<Tensor> DataParallel::sum(const std::vector<Tensor>& gradients, Location where) const {
  return reduced(gradients, options_, Reduction::Sum, where);
}

}  // namespace tegula::dist
