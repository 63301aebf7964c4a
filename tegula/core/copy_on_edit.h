#pragma once
// Values that many objects hold and few change.

#include <memory>
#include <utility>

namespace tegula {

/// A T whose copies share one object until one of them is edited. A moved-from one reads as T{}. Not for objects that several threads edit.
template <class T>
class CopyOnEdit {
 public:
  CopyOnEdit() = default;
  CopyOnEdit(T value) : value_(std::make_shared<T>(std::move(value))) {}

  const T& operator*() const {
    static const T none{};
    return value_ ? *value_ : none;
  }
  const T* operator->() const { return &**this; }
  T& edit() {
    if (!value_) value_ = std::make_shared<T>();
    else if (value_.use_count() > 1) value_ = std::make_shared<T>(*value_);
    return *value_;
  }
  /// True if both are one object.
  bool is_shared_with(const CopyOnEdit& other) const { return &**this == &*other; }
  friend bool operator==(const CopyOnEdit& a, const CopyOnEdit& b) { return a.is_shared_with(b) || *a == *b; }

 private:
  std::shared_ptr<T> value_;
};

}  // namespace tegula
