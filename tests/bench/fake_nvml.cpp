// In the place of libnvidia-ml.so.1: two cards, of which the first is an old one that does not answer every question.

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {
constexpr int kSuccess = 0, kNotFound = 6, kNotSupported = 3;
std::uintptr_t number(void* device) { return reinterpret_cast<std::uintptr_t>(device) - 1; }
}  // namespace

extern "C" {
int nvmlInit_v2() { return kSuccess; }
int nvmlDeviceGetHandleByIndex_v2(unsigned place, void** device) {
  *device = reinterpret_cast<void*>(std::uintptr_t{place} + 1);
  return place < 2 ? kSuccess : kNotFound;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  return std::strcmp(uuid, "GPU-abc") == 0 ? nvmlDeviceGetHandleByIndex_v2(1, device) : kNotFound;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "Fake card %u", static_cast<unsigned>(number(device)));
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 123'456;
  return kSuccess;
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return number(device) == 1 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) {
  *celsius = 45;
  return sensor == 0 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percent) {
  percent[0] = 50, percent[1] = 20;
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* bytes) {
  bytes[0] = 1 << 30, bytes[1] = (1 << 30) - (1 << 20), bytes[2] = 1 << 20;
  return kSuccess;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long counted = 0;
  *millijoules = counted += 2500;
  return number(device) == 1 ? kSuccess : kNotSupported;
}
}
