#include "tegula/core/warning.h"

#include <mutex>

namespace tegula {
namespace {

std::mutex mutex;
WarningHandler& current() {
  static auto* handler = new WarningHandler;
  return *handler;
}

}  // namespace

void set_warning_handler(WarningHandler handler) {
  std::scoped_lock lock(mutex);
  current() = std::move(handler);
}

void warn(const std::string& name, const std::string& text) {
  WarningHandler handler;
  {
    std::scoped_lock lock(mutex);
    handler = current();
  }
  if (handler) handler(name, text);
}

}  // namespace tegula
