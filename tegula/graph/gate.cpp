#include "tegula/graph/gate.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tegula {
namespace {

std::atomic<std::uint64_t> announced{1};  // grows with every function that is made known
std::uint64_t announcements() { return announced.load(std::memory_order_acquire); }

// The lists of all cells. Never freed: Variables may outlive everything else.
std::mutex& lists() {
  static auto* instance = new std::mutex;
  return *instance;
}

// Held while a cell is assigned and while a function becomes known: taken before lists(), never while waiting for a gate.
std::recursive_mutex& assignments() {
  static auto* instance = new std::recursive_mutex;
  return *instance;
}

void sort(Gates& gates) {
  std::sort(gates.begin(), gates.end());
  gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
}

/// Stands for the calling thread.
const void* this_thread() {
  static thread_local char here;
  return &here;
}

void collect(const std::vector<std::weak_ptr<Gate>>& list, Gates& out) {
  for (const auto& known : list) {
    if (auto gate = known.lock()) out.push_back(std::move(gate));
  }
}

void add(std::vector<std::weak_ptr<Gate>>& list, const std::shared_ptr<Gate>& gate) {
  std::erase_if(list, [&](const auto& known) { return known.expired() || known.lock() == gate; });
  list.push_back(gate);
}

}  // namespace

/// A few instructions long: protects a cell's handle and flags.
class Cell::Brief {
 public:
  explicit Brief(const Cell& cell) : cell_(cell) {
    while (cell_.touched_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Brief() { cell_.touched_.clear(std::memory_order_release); }
  Brief(const Brief&) = delete;
  Brief& operator=(const Brief&) = delete;

 private:
  const Cell& cell_;
};

/// Access to the lists of a cell, under their mutex.
struct CellLists {
  static auto& users(const Cell& cell) { return cell.users_; }
  static auto& writers(const Cell& cell) { return cell.writers_; }
  static void train(const Cell& cell) {
    const Cell::Brief brief(cell);
    cell.trained_ = true;
  }
};

Admission::Admission(std::shared_ptr<Gate> gate, std::span<const Ref<Cell>> cells, std::span<const int> written)
    : gate_(std::move(gate)),
      cells_(cells.begin(), cells.end()) {
  Gates others;
  {
    const std::scoped_lock lock(assignments(), lists());
    for (const auto& cell : cells_) {
      collect(CellLists::users(*cell), others);
      add(CellLists::users(*cell), gate_);
    }
    for (const int i : written) {
      const Cell& cell = *cells_[static_cast<std::size_t>(i)];
      add(CellLists::writers(cell), gate_);
      CellLists::train(cell);
    }
    announced.fetch_add(1, std::memory_order_release);
  }
  sort(others);
  // Functions that are running do not know this function yet: waits for them.
  for (const auto& other : others) {
    if (other != gate_) const std::scoped_lock wait(other->mutex);
  }
}

Passage Admission::enter() {
  if (cells_.empty()) return Passage(gates_);
  for (;;) {
    if (const std::uint64_t now = announcements(); known_ != now) {
      gates_ = {gate_};
      const std::scoped_lock lock(lists());
      for (const auto& cell : cells_) collect(CellLists::writers(*cell), gates_);
      sort(gates_);
      known_ = now;
    }
    for (const auto& gate : gates_) gate->mutex.lock();
    if (known_ == announcements()) return Passage(gates_, std::adopt_lock);
    for (const auto& gate : gates_) gate->mutex.unlock();
  }
}

Gates gates_of_writers(const Cell& cell) {
  Gates out;
  const std::scoped_lock lock(lists());
  collect(CellLists::writers(cell), out);
  sort(out);
  return out;
}

void when_unused(const Cell& cell, const std::function<void()>& write) {
  for (;;) {
    Gates gates;
    std::uint64_t known = 0;
    {
      const std::scoped_lock lock(lists());
      known = announcements();
      collect(CellLists::users(cell), gates);
    }
    sort(gates);
    const Passage passage(gates);
    const std::scoped_lock lock(assignments());  // a function that becomes known later finds the cell written
    if (known == announcements()) return write();
  }
}

Passage::Passage(const Gates& gates) : gates_(gates) {
  for (const auto& gate : gates_) gate->mutex.lock();
}
Passage::~Passage() {
  for (const auto& gate : gates_) gate->mutex.unlock();
}

Tensor Cell::value() const {
  const Brief brief(*this);
  return value_;
}

void Cell::put(Tensor value) {
  const Brief brief(*this);
  std::swap(value_, value);
}

Tensor Cell::handle() const {
  {
    const Brief brief(*this);
    reader_ = this_thread();
    if (!trained_) return value_;
  }
  const Gates gates = gates_of_writers(*this);
  const Passage passage(gates);
  return value();
}

bool Cell::handed_elsewhere() const {
  const void* const reader = [&] {
    const Brief brief(*this);
    return reader_;
  }();
  return reader != nullptr && reader != this_thread();
}

}  // namespace tegula
