#pragma once
// The callbacks of a Trainer, and the way to stop it.

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace tegula {

enum class Go : std::uint8_t { On, Stop };

/// A function of a report that returns nothing, or Go::Stop to end the training.
template <class Report>
class Callback {
 public:
  Callback() = default;
  template <class F>
  requires(!std::is_same_v<F, Callback> && std::is_invocable_v<F&, const Report&>)
  Callback(F f)
      : f_([f = std::move(f)](const Report& report) mutable {
          if constexpr (std::is_same_v<std::invoke_result_t<F&, const Report&>, Go>) {
            return f(report);
          } else {
            static_assert(std::is_void_v<std::invoke_result_t<F&, const Report&>>,
                          "tegula: a callback returns nothing, or Go::On or Go::Stop");
            f(report);
            return Go::On;
          }
        }) {}
  explicit operator bool() const { return static_cast<bool>(f_); }
  Go operator()(const Report& report) const { return f_ ? f_(report) : Go::On; }

 private:
  std::function<Go(const Report&)> f_;
};

}  // namespace tegula
