#include "tegula/bench/power.h"

#include <dlfcn.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tegula/runtime/device.h"

namespace tegula {
namespace {

constexpr const char* kNvml = "libnvidia-ml.so.1";
constexpr const char* kPowercap = "/sys/class/powercap";
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// NVML's interface, of which the driver has the library and the toolkit the header (nvml.h).
using NvmlDevice = void*;
struct NvmlUtilization {
  unsigned gpu, memory;  // percent
};
struct NvmlMemory {
  unsigned long long total, free, used;  // bytes
};
constexpr int kSuccess = 0, kCoreTemperature = 0;

/// The library, from the first question to the end of the process.
class Nvml {
 public:
  /// Null where it is not there, or does not begin.
  static const Nvml* find(const std::string& library) {
    static const Nvml usual(kNvml);
    if (library == kNvml) return usual.begun_ ? &usual : nullptr;
    static Nvml other;  // of a test
    if (other.name_ != library) other = Nvml(library);
    return other.begun_ ? &other : nullptr;
  }

  NvmlDevice device(const std::string& card) const {
    NvmlDevice device = nullptr;
    unsigned place = 0;
    const auto [end, error] = std::from_chars(card.data(), card.data() + card.size(), place);
    const bool is_place = error == std::errc{} && end == card.data() + card.size();
    const auto by_place = function<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
    const auto by_uuid = function<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID");
    if (is_place ? !by_place || by_place(place, &device) != kSuccess : !by_uuid || by_uuid(card.c_str(), &device) != kSuccess)
      return nullptr;
    return device;
  }
  /// The answer to a question for one number; nothing where the card has none.
  template <class T, class... Arguments>
  std::optional<T> ask(const char* question, NvmlDevice device, Arguments... arguments) const {
    T value{};
    const auto f = function<int(NvmlDevice, Arguments..., T*)>(question);
    return f && f(device, arguments..., &value) == kSuccess ? std::optional<T>(value) : std::nullopt;
  }
  std::string name(NvmlDevice device) const {
    char text[96] = "";
    const auto f = function<int(NvmlDevice, char*, unsigned)>("nvmlDeviceGetName");
    return f && f(device, text, sizeof text) == kSuccess ? text : "";
  }

 private:
  Nvml() = default;
  explicit Nvml(const std::string& library) : name_(library), handle_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const auto begin = function<int()>("nvmlInit_v2");
    begun_ = begin && begin() == kSuccess;
  }
  template <class F>
  F* function(const char* name) const {
    return handle_ ? reinterpret_cast<F*>(::dlsym(handle_, name)) : nullptr;
  }

  std::string name_;
  void* handle_ = nullptr;
  bool begun_ = false;
};

/// CUDA's number of a device of ours.
std::optional<int> cuda_index(Device& device) {
  constexpr std::string_view kCuda = "cuda:";
  const std::string name = device.name();
  if (!name.starts_with(kCuda)) return std::nullopt;
  int index = 0;
  const auto [end, error] = std::from_chars(name.data() + kCuda.size(), name.data() + name.size(), index);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return index;
}

/// NVML's.
std::optional<std::string> card_of(Device& device) {
  const auto index = cuda_index(device);
  if (!index) return std::nullopt;
  const auto card = detail::visible_card(*index, std::getenv("CUDA_VISIBLE_DEVICES"));
  if (!card) return std::nullopt;
  // CUDA may list the fastest card first, NVML lists them by their slots.
  const auto state = detail::nvml_state(kNvml, *card);
  return state && state->name == device.properties().model ? card : std::nullopt;
}

std::optional<double> number_in(const std::filesystem::path& file) {
  double value = 0;
  std::ifstream stream(file);
  return stream >> value ? std::optional<double>(value) : std::nullopt;
}

}  // namespace

namespace detail {

std::optional<std::string> visible_card(int index, const char* visible) {
  if (!visible) return std::to_string(index);
  std::string_view left = visible;
  for (int i = 0;; ++i) {
    const std::size_t comma = left.find(',');
    const std::string_view one = left.substr(0, comma);
    if (one.empty() || one == "-1") return std::nullopt;  // CUDA looks no further
    if (i == index) return std::string(one);
    if (comma == std::string_view::npos) return std::nullopt;
    left.remove_prefix(comma + 1);
  }
}

std::optional<CardState> nvml_state(const std::string& library, const std::string& card) {
  const Nvml* const nvml = Nvml::find(library);
  const NvmlDevice device = nvml ? nvml->device(card) : nullptr;
  if (!device) return std::nullopt;
  constexpr double kMilli = 1e-3, kPercent = 0.01;
  const auto watts = nvml->ask<unsigned>("nvmlDeviceGetPowerUsage", device);
  const auto limit = nvml->ask<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device);
  const auto celsius = nvml->ask<unsigned, int>("nvmlDeviceGetTemperature", device, kCoreTemperature);
  const auto use = nvml->ask<NvmlUtilization>("nvmlDeviceGetUtilizationRates", device);
  const auto memory = nvml->ask<NvmlMemory>("nvmlDeviceGetMemoryInfo", device);
  return CardState{.name = nvml->name(device),
                   .watts = watts ? kMilli * *watts : kUnknown,
                   .limit_watts = limit ? kMilli * *limit : kUnknown,
                   .celsius = celsius ? static_cast<double>(*celsius) : kUnknown,
                   .busy = use ? kPercent * use->gpu : kUnknown,
                   .memory_used = memory ? static_cast<double>(memory->used) : kUnknown};
}

std::optional<double> nvml_joules(const std::string& library, const std::string& card) {
  const Nvml* const nvml = Nvml::find(library);
  const NvmlDevice device = nvml ? nvml->device(card) : nullptr;
  if (!device) return std::nullopt;
  const auto millijoules = nvml->ask<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device);
  return millijoules ? std::optional<double>(1e-3 * static_cast<double>(*millijoules)) : std::nullopt;
}

std::optional<double> rapl_joules(const std::string& folder) {
  std::optional<double> sum;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    constexpr std::string_view kPackage = "intel-rapl:";  // AMD's processors, too; intel-rapl:0:1 is a part of the package intel-rapl:0
    if (!name.starts_with(kPackage) || name.find(':', kPackage.size()) != std::string::npos) continue;
    if (const auto microjoules = number_in(at->path() / "energy_uj")) sum = sum.value_or(0) + 1e-6 * *microjoules;
  }
  return sum;
}

}  // namespace detail

std::optional<CardLimits> card_limits(Device& device) {
  const auto index = cuda_index(device);
  void* const driver = index ? ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : nullptr;  // which the device has opened
  if (!driver) return std::nullopt;
  const auto get = reinterpret_cast<int (*)(int*, int)>(::dlsym(driver, "cuDeviceGet"));
  const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(::dlsym(driver, "cuDeviceGetAttribute"));
  int card = 0;
  if (!get || !attribute || get(&card, *index) != 0) return std::nullopt;
  const auto ask = [&](int which) {
    int value = 0;
    return attribute(&value, which, card) == 0 ? value : 0;
  };
  // CUdevice_attribute of cuda.h.
  constexpr int kWarp = 10, kCache = 38, kThreads = 39, kShared = 81, kRegisters = 82, kSharedOfBlock = 97, kBlocks = 106;
  return CardLimits{.registers = ask(kRegisters),
                    .threads = ask(kThreads),
                    .warp = ask(kWarp),
                    .blocks = ask(kBlocks),
                    .shared_memory = static_cast<double>(ask(kShared)),
                    .shared_memory_of_block = static_cast<double>(ask(kSharedOfBlock)),
                    .cache = static_cast<double>(ask(kCache))};
}

std::optional<CardState> card_state(Device& device) {
  const auto card = card_of(device);
  return card ? detail::nvml_state(kNvml, *card) : std::nullopt;
}

std::optional<double> joules_of(Device& device) {
  if (&device == &cpu()) return detail::rapl_joules(kPowercap);
  const auto card = card_of(device);
  return card ? detail::nvml_joules(kNvml, *card) : std::nullopt;
}

double joules_a_call(Device& device, const std::function<void()>& work, double seconds) {
  using Clock = std::chrono::steady_clock;
  if (!joules_of(device)) return kUnknown;
  work();
  device.synchronize();
  const auto begin = Clock::now();
  const double before = *joules_of(device);
  double calls = 0;
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    constexpr int kTogether = 16;  // between looks at the clock
    for (int i = 0; i < kTogether; ++i) work();
    device.synchronize();
    calls += kTogether;
  }
  const double taken = joules_of(device).value_or(kUnknown) - before;
  return taken >= 0 ? taken / calls : kUnknown;  // a processor's counter begins again at 0 every some hours
}

}  // namespace tegula
