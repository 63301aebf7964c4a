#include "tegula/graph/precision.h"

#include <atomic>
#include <iterator>

namespace tegula {
namespace {

constexpr std::int8_t kNone = -1;
constexpr std::string_view kNames[] = {"fp32", "tf32", "bf16", "fp16", "fp8"};

std::atomic<Precision> chosen{Precision::fp32};
thread_local std::int8_t scoped = kNone;

}  // namespace

void set_default_precision(Precision precision) { chosen.store(precision, std::memory_order_relaxed); }
Precision default_precision() { return chosen.load(std::memory_order_relaxed); }
Precision current_precision() { return scoped == kNone ? default_precision() : static_cast<Precision>(scoped); }

PrecisionScope::PrecisionScope(Precision precision) : before_(scoped) { scoped = static_cast<std::int8_t>(precision); }
PrecisionScope::~PrecisionScope() { scoped = before_; }

std::string_view name(Precision precision) { return kNames[static_cast<std::size_t>(precision)]; }

std::optional<Precision> precision_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

DType storage_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
    case Precision::fp8: return bf16;
    case Precision::fp16: return f16;
    default: return f32;
  }
}

}  // namespace tegula
