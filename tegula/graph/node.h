#pragma once
// The immutable vertex of the graph. Its value is filled in once.

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <span>

#include "tegula/core/buffer.h"
#include "tegula/core/line.h"
#include "tegula/graph/op.h"
#include "tegula/graph/precision.h"

namespace tegula {

/// The origin of a node: the user's line, and the library frames between it and the op ("Linear/matmul").
struct Origin {
  Line where{};
  const std::string* path = nullptr;  // interned, never freed; null for a node the user made directly
};

struct Evaluation;  // graph/history.cpp

class Node final : public Shared {
 public:
  static constexpr std::size_t kMaxInline = 3;

  /// Takes its place in program order and, while a trace is active, belongs to it.
  Node(Ref<const Op> op, std::span<const Ref<Node>> inputs, const Shape& shape, DType dtype, Origin origin);
  /// A node of an op with several results (two or more): shape and dtype are those of the first.
  Node(Ref<const Op> op, std::span<const Ref<Node>> inputs, std::span<const Result> results, Origin origin);
  ~Node() override {
    if (evaluation_.load(std::memory_order_relaxed)) leave_history();
    if (is_part_) leave_parts();
    if (is_recent_) leave_recent();
  }

  const Op& op() const { return *op_; }
  const Ref<const Op>& op_ref() const { return op_; }
  std::span<const Ref<Node>> inputs() const {
    return count_ <= kMaxInline ? std::span<const Ref<Node>>(few_.data(), count_) : std::span<const Ref<Node>>(many_);
  }
  const Node& input(int i) const { return *inputs()[static_cast<std::size_t>(i)]; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  /// All results of an op with several, empty for other ops. A node with several results never has a value; only its parts read it.
  std::span<const Result> results() const { return several_ ? std::span<const Result>(several_->results) : std::span<const Result>(); }
  /// The part for result k, if it is alive.
  Ref<Node> living_part(int k) const;
  /// This node, which is new, stands for result k of its input: it belongs where that belongs.
  void become_part(int k);
  bool is_part() const { return is_part_; }
  /// The precision that was in force when the node was made.
  Precision precision() const { return precision_; }
  const Origin& origin() const { return origin_; }
  /// Grows with every node made by this process: program order.
  std::uint64_t sequence() const { return sequence_; }
  /// The trace that made the node, 0 outside of traces.
  std::uint32_t trace() const { return trace_; }

  /// The number of times it was computed on the way to other values without getting one itself (255: as often or more); under graph_mutex().
  int times_passed() const { return times_passed_; }
  void pass() {
    if (times_passed_ < std::numeric_limits<std::uint8_t>::max()) ++times_passed_;
  }

  /// May be asked on any thread, at any time; the value may then be read there.
  bool has_value() const { return valued_.load(std::memory_order_acquire); }
  const Ref<Buffer>& buffer() const { return buffer_; }
  /// The layout of the value; meaningful only when there is one.
  const Layout& layout() const { return layout_; }
  std::byte* data() const { return static_cast<std::byte*>(buffer_->data()) + layout_.offset * static_cast<std::int64_t>(size_of(dtype_)); }

  /// Gives the node its value; from now on evaluation treats it as a leaf. Its inputs stay for `grad`.
  void set_value(Ref<Buffer> buffer, const Layout& layout);
  /// Lets the inputs of a node go that has a value and passes no gradient on (StopOp): it is a leaf now.
  void become_leaf() { take_inputs(); }
  /// Takes the inputs out of a node that has a value, because the budget for history is spent (graph/history.h).
  [[nodiscard]] std::vector<Ref<Node>> give_up();
  /// The history was given up: there is no differentiation through this node any more.
  bool forgotten() const { return forgotten_; }
  /// A cotangent's zeros: which factors they absorb (autodiff/absorb.h). Only the thread that differentiates reads and writes it.
  Zeros zeros() const { return zeros_; }
  void raise_zeros(Zeros zeros) { zeros_ = std::max(zeros_, zeros); }
  /// Its op lets no gradient pass (StopOp).
  bool cuts() const { return op_->role() == Role::Stop; }

  /// The number of the Variable's cell whose value this is (Cell::number); 0 for any other node.
  std::uint32_t cell_number() const { return cell_number_; }
  void set_cell_number(std::uint32_t number) { cell_number_ = number; }
  /// Moves a leaf to another buffer with the same contents (before its old one is overwritten in place).
  void move_value(Ref<Buffer> buffer, const Layout& layout);

  static void* operator new(std::size_t size);
  static void operator delete(void* memory);

 protected:
  void destroy() const override;

 private:
  friend class KeptHistory;
  friend class RecentScalars;
  std::vector<Ref<Node>> take_inputs();
  void leave_history();
  void leave_parts();
  void leave_recent();

  struct Several {
    std::vector<Result> results;
    std::vector<Node*> parts;  // null when there is none; behind a mutex of all nodes
  };

  Ref<const Op> op_;
  std::array<Ref<Node>, kMaxInline> few_;
  std::vector<Ref<Node>> many_;
  std::uint32_t count_ = 0;
  std::uint32_t trace_ = 0;
  std::uint32_t cell_number_ = 0;
  bool forgotten_ = false;
  bool is_part_ = false;
  Zeros zeros_ = Zeros::Plain;
  std::uint8_t times_passed_ = 0;
  bool is_recent_ = false;  // RecentScalars may know it
  DType dtype_;
  Precision precision_;
  bool is_replaced_ = false;  // a Variable held it that has another value now: under KeptHistory's mutex
  Shape shape_;
  Origin origin_;
  std::unique_ptr<Several> several_;
  std::uint64_t sequence_;
  std::atomic<bool> valued_{false};  // buffer_ and layout_ are there
  Ref<Buffer> buffer_;
  Layout layout_;
  std::atomic<Evaluation*> evaluation_{nullptr};  // the entry of KeptHistory that it belongs to
  std::uint32_t evaluation_index_ = 0;
  std::uint32_t charged_to_ = 0;  // the number of the evaluation that is charged for it, under KeptHistory's mutex: so is evaluation_
  mutable const Node* next_waiting_ = nullptr;  // while it waits to be freed
};

}  // namespace tegula
