#pragma once
// What kernels are cut for.

namespace tegula::gpu {

/// A card as the code generator and the handwritten kernels see it; the defaults are an H200's, on which they were measured.
struct Card {
  int architecture = 90;      // 90 for compute capability 9.0
  int multiprocessors = 132;
};

}  // namespace tegula::gpu
