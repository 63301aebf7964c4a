#include "tegula/compile/run/placement.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "tegula/compile/run/arena.h"
#include "tegula/compile/run/cache.h"
#include "tegula/compile/run/slots.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/tensor.h"
#include "tegula/runtime/device.h"
#include "tegula/runtime/registry.h"

namespace tegula {
namespace compile {
namespace {

struct Watched {
  std::mutex mutex;
  std::vector<std::weak_ptr<Executable>> executables;
};

Watched& watched() {
  static auto* instance = new Watched;
  return *instance;
}

}  // namespace

Ref<Buffer> allocate(runtime::Device& device, std::size_t bytes, const runtime::Purpose& purpose) {
  try {
    return device.allocate(bytes, purpose);
  } catch (const runtime::OutOfMemory&) {
    // All three, one after another: what an executable leaves behind may be an arena that nobody runs in any more.
    const bool forgot = forget_executables(), left = Slots::release_idle(), gave_back = release_idle_arenas();
    if (!forgot && !left && !gave_back) throw;
  }
  return device.allocate(bytes, purpose);
}

std::size_t bytes_of(const Node& node) { return static_cast<std::size_t>(numel(node.shape())) * size_of(node.dtype()); }

Ref<Buffer> allocate_like(const Node& node, runtime::Device& device) {
  return allocate(device, bytes_of(node), {node.op().role() == Role::Leaf ? "tensor" : node.op().name(), node.origin().where});
}

HostArray on_host(const Node& value) { return Tensor(Ref<Node>(const_cast<Node*>(&value))).to_array(value.origin().where); }

bool fetch_from_peer(const Node& value, runtime::Device& device, void* to) {
  const int other = value.buffer()->device();
  if (other == 0 || !value.layout().is_dense() || !runtime::has_device(other)) return false;
  return device.copy_from(to, runtime::device_of(other), value.data(), bytes_of(value));
}

bool move_to(Node& leaf, runtime::Device& device) {
  if (leaf.buffer()->device() == device.number()) return false;
  Ref<Buffer> buffer;
  if (device.number() != 0) {
    buffer = allocate_like(leaf, device);
    if (!fetch_from_peer(leaf, device, buffer->data())) {
      const HostArray contents = on_host(leaf);
      device.copy_in(buffer->data(), contents.buffer->data(), contents.bytes());
    }
  } else {
    buffer = on_host(leaf).buffer;
  }
  leaf.move_value(std::move(buffer), Layout::dense(leaf.shape()));
  return true;
}

void watch_checks(const std::shared_ptr<Executable>& executable) {
  Watched& w = watched();
  std::scoped_lock lock(w.mutex);
  std::erase_if(w.executables, [](const auto& known) { return known.expired(); });
  const bool known = std::any_of(w.executables.begin(), w.executables.end(), [&](const auto& e) { return e.lock() == executable; });
  if (!known) w.executables.push_back(executable);
}

}  // namespace compile

void confirm_checks(const Node& value) {
  std::vector<std::shared_ptr<compile::Executable>> executables;
  {
    compile::Watched& w = compile::watched();
    std::scoped_lock lock(w.mutex);
    for (const auto& known : w.executables) {
      if (auto executable = known.lock(); executable && executable->device().number() == value.buffer()->device())
        executables.push_back(std::move(executable));
    }
  }
  for (const auto& executable : executables) executable->confirm();
}

std::string device_name(const Node& node) {
  Device& standard = default_device();
  if (!node.has_value() || node.buffer()->device() == standard.number()) return standard.name();
  return runtime::device_of(node.buffer()->device()).name();
}

}  // namespace tegula
