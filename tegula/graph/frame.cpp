#include "tegula/graph/frame.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <set>

#include "tegula/graph/evaluate.h"
#include "tegula/graph/noted.h"

namespace tegula {
namespace {

thread_local const In* innermost = nullptr;
thread_local int being_made = 0;

}  // namespace

Making::Making() : exceptions_(std::uncaught_exceptions()) { ++being_made; }

Making::~Making() noexcept(false) {
  if (--being_made > 0) return;
  if (std::uncaught_exceptions() == exceptions_) settle_noted();
  else forget_noted();
}

bool Making::any() { return being_made > 0; }

// Nodes point at paths from every thread.
const std::string* kept_path(std::string path) {
  if (path.empty()) return nullptr;
  static std::mutex mutex;
  static auto* paths = new std::set<std::string>;
  std::scoped_lock lock(mutex);
  return &*paths->insert(std::move(path)).first;
}

In::In(std::string_view name, const Line& where) : name_(name), where_(where), parent_(innermost) { innermost = this; }

In::~In() noexcept(false) { innermost = parent_; }

Origin origin_at(const Line& where) {
  if (!innermost) return {where, nullptr};
  const In* outermost = innermost;
  while (outermost->parent_) outermost = outermost->parent_;
  if (!innermost->path_) {
    std::string path;
    for (const In* frame = innermost; frame; frame = frame->parent_) path = std::string(frame->name_) + (path.empty() ? "" : "/") + path;
    const_cast<In*>(innermost)->path_ = kept_path(std::move(path));
  }
  return {outermost->where_, innermost->path_};
}

bool is_within(const Origin& origin, std::string_view frame) {
  std::string_view rest = origin.path ? std::string_view(*origin.path) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    if (rest.substr(0, end) == frame) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace tegula
