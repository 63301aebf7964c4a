#pragma once
// Watts, joules and degrees of devices: NVIDIA's cards by NVML, where its library is, processors by the counters of Linux (RAPL), where they may be read; and what
// each multiprocessor of a card has, by its driver.

#include <functional>
#include <optional>
#include <string>

#include "tegula/runtime/registry.h"

namespace tegula {

/// The resources of a card's multiprocessor, and the card's cache.
struct CardLimits {
  int registers = 0;  // of 32 bits
  int threads = 0, warp = 0, blocks = 0;  // at once; threads of a warp; blocks at once
  double shared_memory = 0, shared_memory_of_block = 0;  // bytes; what one block may have of it
  double cache = 0;  // bytes of the card's second level
};
/// Nothing for a device that is no CUDA card.
std::optional<CardLimits> card_limits(Device& device);

/// The state of a card now. NaN: it does not say.
struct CardState {
  std::string name;
  double watts = 0, limit_watts = 0;  // drawn, and at most
  double celsius = 0;
  double busy = 0;  // the share of the last second in which a kernel ran, 0 to 1
  double memory_used = 0;  // bytes
};
/// Nothing for a device that is no CUDA card, without NVML (libnvidia-ml.so.1 of the driver), and where the card that it lists in this place has another name.
std::optional<CardState> card_state(Device& device);

/// A counter of joules since some time. Nothing where there is none: a card before Volta, a processor whose counters only root may read.
std::optional<double> joules_of(Device& device);

/// Joules that one call of `work` takes, of the whole card or the whole processor, idle power included: it is called for at least `seconds`, since the counters
/// move some ten times a second. NaN without a counter.
double joules_a_call(Device& device, const std::function<void()>& work, double seconds = 1);

namespace detail {
/// The state that a library of that name gives for the card at a place in its list, or with a UUID.
std::optional<CardState> nvml_state(const std::string& library, const std::string& card);
std::optional<double> nvml_joules(const std::string& library, const std::string& card);
/// The sum of all packages' counters under a folder like /sys/class/powercap.
std::optional<double> rapl_joules(const std::string& folder);
/// The card that is CUDA's number `index`, as CUDA_VISIBLE_DEVICES (null: not set) has it: a place or a UUID.
std::optional<std::string> visible_card(int index, const char* visible);
}  // namespace detail

}  // namespace tegula
