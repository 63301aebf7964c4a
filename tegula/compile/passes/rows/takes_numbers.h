#pragma once

namespace tegula::compile {

/// What a KernelOp is as well when its inputs may be numbers of the run, which need not lie in memory (KernelArgument::constant).
class TakesNumbers {
 public:
  virtual ~TakesNumbers() = default;
};

}  // namespace tegula::compile
