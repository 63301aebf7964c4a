#pragma once
// Events with times (runtime::TimeMark).

#include <memory>

#include "tegula/cuda/driver/context.h"
#include "tegula/runtime/time_marks.h"

namespace tegula::gpu {

std::unique_ptr<runtime::TimeMark> make_time_mark(Context& context);

}  // namespace tegula::gpu
