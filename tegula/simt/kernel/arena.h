#pragma once
// Memory of the lists that a kernel is made of.

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tegula::simt {

/// While one lives, the lists of expressions and statements that its thread makes lie in memory of the arena, which goes with it: a kernel is a thousand
/// short lists, and most live for microseconds. None of them may live longer than the arena. Without one they come from operator new.
class Arena {
 public:
  Arena() : before_(current_) { current_ = this; }
  ~Arena() { current_ = before_; }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static void* take(std::size_t bytes) { return current_ ? current_->find(bytes) : ::operator new(bytes); }
  static void give(void* memory, std::size_t bytes) noexcept {
    if (current_ && current_->owns(memory)) current_->keep(memory, bytes);
    else ::operator delete(memory);
  }

 private:
  static constexpr std::size_t kStep = 16, kSteps = 64, kChunk = std::size_t{48} << 10;
  struct Free {
    Free* next;
  };
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    bool has(const void* memory) const { return memory >= bytes.get() && memory < bytes.get() + size; }
  };

  void* find(std::size_t bytes) {
    const std::size_t steps = (bytes + kStep - 1) / kStep;
    if (steps < kSteps && free_[steps]) {
      Free* const found = free_[steps];
      free_[steps] = found->next;
      return found;
    }
    if (steps * kStep > left_) grow(steps * kStep);
    void* const found = top_;
    top_ += steps * kStep, left_ -= steps * kStep;
    return found;
  }
  void keep(void* memory, std::size_t bytes) {
    const std::size_t steps = (bytes + kStep - 1) / kStep;
    if (steps < kSteps) free_[steps] = new (memory) Free{free_[steps]};
  }
  bool owns(const void* memory) const {
    for (auto chunk = chunks_.rbegin(); chunk != chunks_.rend(); ++chunk)
      if (chunk->has(memory)) return true;
    return false;
  }
  void grow(std::size_t bytes);

  static thread_local constinit Arena* current_;
  Arena* before_;
  std::vector<Chunk> chunks_;
  std::byte* top_ = nullptr;
  std::size_t left_ = 0;
  Free* free_[kSteps] = {};
};

/// Allocator of containers whose elements lie in the arena.
template <class T>
struct InArena {
  using value_type = T;
  InArena() = default;
  template <class U>
  InArena(const InArena<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(Arena::take(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { Arena::give(memory, count * sizeof(T)); }
  bool operator==(const InArena&) const = default;
};

/// One value there, copied with its holder.
template <class T>
class Box {
 public:
  Box() = default;
  Box(T value) : value_(new(Arena::take(sizeof(T))) T(std::move(value))) {}
  Box(const Box& other) : value_(other.value_ ? new(Arena::take(sizeof(T))) T(*other.value_) : nullptr) {}
  Box(Box&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Box& operator=(Box other) noexcept { return std::swap(value_, other.value_), *this; }
  ~Box() {
    if (value_) value_->~T(), Arena::give(value_, sizeof(T));
  }
  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }

 private:
  T* value_ = nullptr;
};

}  // namespace tegula::simt
