#pragma once

#include "tegula/runtime/registry.h"

namespace tegula::test {

/// Makes this the default device while it lives.
class OnDevice {
 public:
  explicit OnDevice(runtime::Device& device) : before_(default_device()) { set_default_device(device); }
  ~OnDevice() { set_default_device(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  runtime::Device& before_;
};

}  // namespace tegula::test
