#pragma once
// Intrusive reference counting for the objects that are made by the thousand: graph nodes, buffers, ops.

#include <atomic>
#include <cstddef>
#include <utility>

namespace tegula {

/// Base of shared objects. The count is atomic: handles may be copied and dropped on any thread.
class Shared {
 public:
  Shared() = default;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  virtual ~Shared() = default;

  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  /// One more handle, unless the last one has gone and the object is about to be freed: false then. For those who know it by address.
  bool retain_if_alive() const {
    int count = count_.load(std::memory_order_relaxed);
    while (count > 0) {
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  int use_count() const { return count_.load(std::memory_order_acquire); }

 protected:
  virtual void destroy() const { delete this; }

 private:
  mutable std::atomic<int> count_{0};
};

/// An owning handle to a Shared object; may be empty.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  requires std::convertible_to<U*, T*>
  Ref(const Ref<U>& other) : Ref(other.get()) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }

 private:
  T* object_ = nullptr;
};

/// A handle to an object known by its address, or none when it is about to be freed.
template <class T>
Ref<T> ref_if_alive(T* object) {
  if (!object->retain_if_alive()) return nullptr;
  Ref<T> ref(object);
  object->release();
  return ref;
}

template <class T, class... Args>
Ref<T> make(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace tegula
