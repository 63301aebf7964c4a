#include "tegula/compile/run/slots.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <span>

#include "tegula/compile/run/placement.h"
#include "tegula/graph/tensor.h"

namespace tegula::compile {
namespace {

constexpr std::size_t kFewBytes = 64;

struct Known {
  std::mutex mutex;  // of the list, and of who is in use
  std::set<Slots*> slots;
};

Known& known() {
  static auto* instance = new Known;
  return *instance;
}

}  // namespace

Slots::Slots() {
  const std::scoped_lock lock(known().mutex);
  known().slots.insert(this);
}
Slots::~Slots() {
  const std::scoped_lock lock(known().mutex);
  known().slots.erase(this);
}

Slots::Use::Use(Slots& slots) : slots_(slots) {
  const std::scoped_lock lock(known().mutex);
  slots.used_ = true;
}
Slots::Use::~Use() {
  const std::scoped_lock lock(known().mutex);
  slots_.used_ = false;
}

bool Slots::release_idle() {
  std::vector<Argument> arguments;  // they go when the mutex is free
  std::vector<Result> results;
  {
    const std::scoped_lock lock(known().mutex);
    for (Slots* slots : known().slots) {
      if (slots->used_) continue;
      std::move(slots->arguments_.begin(), slots->arguments_.end(), std::back_inserter(arguments));
      std::move(slots->results_.begin(), slots->results_.end(), std::back_inserter(results));
      slots->arguments_.clear();
      slots->results_.clear();
    }
  }
  return std::ranges::any_of(arguments, [](const Argument& slot) { return static_cast<bool>(slot.buffer); }) || !results.empty();
}

void* Slots::argument(std::size_t i, const Node& value, runtime::Device& device) {
  if (i >= arguments_.size()) arguments_.resize(i + 1);
  Argument& slot = arguments_[i];
  const bool here = value.buffer()->device() == device.number();
  if (here && !slot.buffer && (!slot.address || slot.address == value.data())) return slot.address = value.data();
  const std::size_t bytes = bytes_of(value);
  if (!slot.buffer) slot.buffer = allocate(device, bytes, {"argument", value.origin().where});
  slot.address = slot.buffer->data();
  if (here) {
    device.copy(slot.address, value.data(), bytes);
    slot.number.clear();
    return slot.address;
  }
  if (bytes > kFewBytes && fetch_from_peer(value, device, slot.address)) return slot.address;
  const HostArray contents = on_host(value);
  const auto* from = static_cast<const std::byte*>(contents.buffer->data());
  if (bytes <= kFewBytes) {
    if (std::ranges::equal(slot.number, std::span(from, bytes))) return slot.address;
    slot.number.assign(from, from + bytes);
  }
  device.copy_in(slot.address, from, bytes);
  return slot.address;
}

const Ref<Buffer>& Slots::result(std::size_t o, const Node& like, runtime::Device& device) {
  if (o >= results_.size()) results_.resize(o + 1);
  Result& slot = results_[o];
  const bool held = slot.node && slot.node->buffer() == slot.buffer && slot.node->use_count() > 1;
  const int expected = 1 + (slot.node && slot.node->buffer() == slot.buffer ? 1 : 0);
  if (!slot.buffer || slot.buffer->use_count() > expected) {  // new, or views look at it: theirs from now on
    slot.buffer = allocate_like(like, device);
  } else if (held) {
    Ref<Buffer> copy = allocate_like(like, device);
    device.copy(copy->data(), slot.buffer->data(), copy->bytes());
    slot.node->move_value(std::move(copy), Layout::dense(slot.node->shape()));
  }
  slot.node = nullptr;
  return slot.buffer;
}

}  // namespace tegula::compile
