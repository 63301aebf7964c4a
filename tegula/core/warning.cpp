#include "tegula/core/warning.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <unordered_set>
#include <utility>

namespace tegula {
namespace {

struct State {
  std::mutex mutex;
  WarningHandler handler;
  std::unordered_set<std::size_t> said;  // hashes of name and text: a few bytes, however long the sentences
  std::atomic<Shown> other_warn = nullptr, other_show_text = nullptr;  // forward_warnings
};
State& state() {
  static auto* instance = new State;  // warnings may come while the process ends
  return *instance;
}

void hand_over(const WarningHandler& handler, const std::string& name, const std::string& text) {
  if (handler) return handler(name, text);
  const bool is_block = text.ends_with('\n');  // a plan, a kernel
  std::fprintf(stderr, "tegula: %s:%s%s%s", name.c_str(), is_block ? "\n" : " ", text.c_str(), is_block ? "" : "\n");
}

}  // namespace

void set_warning_handler(WarningHandler handler) {
  const std::scoped_lock lock(state().mutex);
  state().handler = std::move(handler);
  state().said.clear();
}

void forward_warnings(Shown warn, Shown show_text) {
  state().other_warn = warn;
  state().other_show_text = show_text;
}

void warn(const std::string& name, const std::string& text) {
  if (const Shown other = state().other_warn) return other(name, text);
  WarningHandler handler;
  {
    const std::scoped_lock lock(state().mutex);
    if (!state().said.insert(std::hash<std::string>()(name + '\n' + text)).second) return;
    handler = state().handler;
  }
  hand_over(handler, name, text);
}

void show_text(const std::string& name, const std::string& text) {
  if (const Shown other = state().other_show_text) return other(name, text);
  WarningHandler handler;
  {
    const std::scoped_lock lock(state().mutex);
    handler = state().handler;
  }
  hand_over(handler, name, text);
}

}  // namespace tegula
