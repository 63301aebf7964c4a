#include "tegula/simt/kernel/arena.h"

#include <algorithm>

namespace tegula::simt {

thread_local constinit Arena* Arena::current_ = nullptr;

void Arena::grow(std::size_t bytes) {
  const std::size_t size = std::max(bytes, kChunk);
  chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
  top_ = chunks_.back().bytes.get(), left_ = size;
}

}  // namespace tegula::simt
