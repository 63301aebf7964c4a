#pragma once
// How a kernel that is written as a C++ lambda becomes a program. A Tile names a slot. A slot has a value on each open level: a level is a loop body or a
// branch that is being recorded. A level records into a builder of its own, where what comes from outside is a placeholder. When it closes, the recorded
// words are said again to the builder around it, with the loop's parameters in place of the placeholders: that builder sees the loop complete, and shares
// and folds as if the loop had been written by hand. So a body is run once, and what a loop carries is what was assigned in it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tegula/tile/builder.h"
#include "tegula/tile/rules.h"
#include "tegula/tile/scalar_words.h"

namespace tegula::tile::language {

/// What a Tile holds: a value of a compute type, and the type of its elements (bf16 tiles are f32 values that have been rounded). Of a pointer: what it
/// points at.
struct Content {
  Value value;
  DType dtype = DType::f32;
};

/// A value as a debugger reads it, without calling anything.
struct View {
  const char* dtype;  // "f32", "ptr"
  int rank;
  std::int64_t sizes[kMaxTileRank];
  const Scalar* elements;  // row-major; floats in real, others in integer
  bool is_float;
};

/// Runs words as soon as they are said.
class Machine {
 public:
  virtual ~Machine() = default;
  /// Runs what has been said since.
  virtual void catch_up() = 0;
  virtual std::int64_t integer(Value scalar) = 0;
  /// A variable begins or ceases to hold a value.
  virtual const View* hold(const Content& content) = 0;
  virtual void release(Value value) = 0;
  virtual void print(const std::string& label, const Content& content, const Line& where) = 0;
};

/// Whether the program's words bear the lines where they are said.
enum class Lines : std::uint8_t { Said, Unsaid };

/// For its loops that say none (RangeHints, control.h).
struct KernelHints {
  int num_warps = 0, num_stages = 0;
  std::int64_t packed() const { return static_cast<std::int64_t>(num_warps) << 32 | num_stages; }
  static KernelHints of(std::int64_t packed) { return {static_cast<int>(packed >> 32), static_cast<int>(packed & 0xffffffff)}; }
};

/// The recording of one kernel, on this thread.
class Trace {
 public:
  explicit Trace(Builder& builder, Machine* machine = nullptr, Lines lines = Lines::Said);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Throws Error where no kernel is recorded.
  static Trace& current(const Line& where);
  /// The one with this serial number, while it is current.
  static Trace* find(std::uint64_t serial);
  /// The line of a word: that of the library's word around it, if there is one.
  static Line said_at(const Line& where);
  std::uint64_t serial() const { return serial_; }
  Machine* machine() const { return machine_; }
  const KernelHints& hints() const { return hints_; }
  void set_hints(const KernelHints& hints) { hints_ = hints; }

  /// Where words of this line go. Throws Error behind a loop that was left.
  Builder& builder(const Line& where);
  void finish() { builder({}); }

  int make_slot(const Line& where);
  void drop_slot(int slot);
  bool has_value(int slot) const { return !slots_[index(slot)].at.empty(); }
  Content read(int slot, const Line& where);
  /// Gives what a debugger sees of it, where the kernel runs at once.
  const View* assign(int slot, Content content, const Line& where);

  /// Opens the body of a loop; gives its counter.
  Value open_loop(const Line& where);
  void close_loop(Value begin, Value end, Value step, std::int64_t hints);
  /// Closes the body of a loop that is run so long as something holds: `first` ahead of it, `again` at the body's end.
  void close_while(const Content& first, const Content& again);
  void branch(Value condition, const std::function<void()>& then, const std::function<void()>& otherwise, const Line& where);
  /// A loop was not run to its end: the next word, or the end of the kernel, says so.
  void break_off(const Line& where);

 private:
  struct Slot {
    std::vector<std::pair<int, Content>> at{};  // by level, the innermost last
    Line declared;
    int born = 0;
    bool alive = true;
    std::uint32_t lost = 0;  // the line of the loop or branch that alone gave it a value
  };
  struct Level {
    Builder* builder = nullptr;
    std::unique_ptr<Builder> own{};
    Line where{};
    Value counter{};
    std::map<int, Value> reads{};  // slot to its placeholder
    std::set<int> assigned{};
  };
  struct Closed {
    Level level;
    std::map<int, Content> last;  // of slots that were there before: what they hold at the end
  };

  static std::size_t index(int slot) { return static_cast<std::size_t>(slot); }
  int depth() const { return static_cast<int>(levels_.size()) - 1; }
  void locate(Builder& builder, const Line& where) const {
    if (lines_ == Lines::Said) builder.set_location(where);
  }
  void open(const Line& where);
  Closed close();
  Content content_at(int slot, int level);
  /// Says a loop's body to the builder around it. `say` is given the first values of what it carries, and what says the body when it has the values of an
  /// iteration: the next ones, by the id of each value of the body.
  using SayBody = std::function<std::map<Id, Value>(Value counter, std::span<const Value> now)>;
  using SayLoop = std::function<std::vector<Value>(const std::vector<Value>& initial, const SayBody& body, const std::vector<Id>& next)>;
  void say_loop(const Closed& body, const SayLoop& say);
  std::map<int, Value> values_outside(const Level& level);

  Machine* machine_;
  KernelHints hints_{};
  Lines lines_;
  Trace* before_;
  std::uint64_t serial_;
  std::vector<Level> levels_;
  std::vector<Slot> slots_;
  std::vector<int> free_slots_;  // where the kernel runs at once
  Line broken_at_{}, outer_{};
  friend class Within;
};

/// Lets words that a word of the library is made of bear the line of that one.
class Within {
 public:
  explicit Within(const Line& where) : trace_(Trace::current(where)), before_(trace_.outer_) {
    if (!before_.known()) trace_.outer_ = where;
  }
  ~Within() { trace_.outer_ = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  Trace& trace_;
  Line before_;
};

}  // namespace tegula::tile::language
