#include "tegula/cpu/onednn/onednn_blocks.h"

#include <algorithm>

namespace tegula::host {

using dnnl::memory;
using runtime::Blocked;

std::optional<Blocked> blocked_of(const memory::desc& layout) {
  Blocked out;
#if DNNL_VERSION_MAJOR >= 3
  if (layout.get_format_kind() != memory::format_kind::blocked || layout.get_inner_nblks() > kMaxRank) return std::nullopt;
  for (const auto size : layout.get_dims()) out.shape.push_back(size);
  for (const auto stride : layout.get_strides()) out.strides.push_back(stride);
  for (const auto axis : layout.get_inner_idxs()) out.axes.push_back(axis);
  for (const auto size : layout.get_inner_blks()) out.sizes.push_back(size);
#else
  const dnnl_memory_desc_t& data = layout.data;
  const auto& blocking = data.format_desc.blocking;
  const bool plain = data.format_kind == dnnl_blocked && data.offset0 == 0 && data.extra.flags == 0 && blocking.inner_nblks <= kMaxRank;
  if (!plain || data.ndims > kMaxRank) return std::nullopt;
  for (int i = 0; i < data.ndims; ++i) out.shape.push_back(data.dims[i]), out.strides.push_back(blocking.strides[i]);
  for (int i = 0; i < blocking.inner_nblks; ++i) out.axes.push_back(blocking.inner_idxs[i]), out.sizes.push_back(blocking.inner_blks[i]);
#endif
  if (runtime::elements(out) * static_cast<std::int64_t>(sizeof(float)) != static_cast<std::int64_t>(layout.get_size()))
    return std::nullopt;
  return out;
}

std::optional<memory::desc> layout_of([[maybe_unused]] const Blocked& blocks) {
#if DNNL_VERSION_MAJOR >= 3
  return std::nullopt;
#else
  dnnl_memory_desc_t data{};
  data.ndims = blocks.shape.rank();
  data.data_type = dnnl_f32;
  data.format_kind = dnnl_blocked;
  auto& blocking = data.format_desc.blocking;
  for (int i = 0; i < data.ndims; ++i) {
    const std::int64_t block = runtime::block_of(blocks, i);
    data.dims[i] = blocks.shape[i];
    data.padded_dims[i] = (blocks.shape[i] + block - 1) / block * block;
    blocking.strides[i] = blocks.strides[i];
  }
  blocking.inner_nblks = blocks.axes.rank();
  for (int i = 0; i < blocks.axes.rank(); ++i) blocking.inner_idxs[i] = blocks.axes[i], blocking.inner_blks[i] = blocks.sizes[i];
  return memory::desc(data);
#endif
}

}  // namespace tegula::host
