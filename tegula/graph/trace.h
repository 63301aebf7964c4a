#pragma once
// The record of the reads and writes of one call of a jit-ed function. Thread-local: the innermost one is active.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tegula/graph/variable.h"

namespace tegula {

class Trace {
 public:
  explicit Trace(const Line& where);
  /// The trace of a loop's body: its nodes belong to the trace around it, if there is one, and so do the flags that it reads.
  struct OfBody {};
  Trace(const Line& where, OfBody);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The active trace of this thread, or null.
  static Trace* current();
  std::uint32_t id() const { return id_; }
  const Line& where() const { return where_; }
  bool is_of_body() const { return of_body_; }
  /// "the jit at net.cpp:12", "the body of the scan at net.cpp:30".
  std::string name() const;

  /// A leaf without a value that stands for an argument.
  Tensor argument(const Shape& shape, DType dtype);

  struct CellUse {
    Ref<Cell> cell;
    Tensor placeholder;  // stands for the value at the start of the call
    Tensor current;      // the value that a read gives now
    bool written = false;
  };
  CellUse& use(const Ref<Cell>& cell);
  const CellUse* find(const Cell* cell) const;
  const std::vector<CellUse>& cells() const { return cells_; }
  const std::vector<Tensor>& arguments() const { return arguments_; }

  struct Condition {
    std::shared_ptr<int> flag;
    int value;
  };
  void depend_on(const std::shared_ptr<int>& flag);

  /// A node that runs even if nothing reads it (Effect::Always). Throws Error in the body of a loop, which runs only the nodes that its results need.
  void keep(const Ref<Node>& node);
  const std::vector<Ref<Node>>& kept() const { return kept_; }
  const std::vector<Condition>& conditions() const { return conditions_; }

  static void refuse(std::string_view what, const Line& where);  // refuse_in_trace

  /// While one lives no trace is active on this thread: what depends on nothing traced is computed (require_known).
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Trace* before_;
  };

 private:
  friend void require_known(std::string_view, const Node&, const Line&);
  std::uint32_t id_;
  Line where_;
  Trace* parent_;
  bool of_body_ = false;
  std::vector<Tensor> arguments_;
  std::vector<CellUse> cells_;
  std::unordered_map<const Cell*, std::size_t> place_of_;  // in cells_
  std::vector<Condition> conditions_;
  std::vector<Ref<Node>> kept_;
};

/// Throws Error when a trace is active: `what` ("item()", "print") needs a value that does not exist yet.
void refuse_in_trace(std::string_view what, const Line& where);
/// Throws Error if a trace is active and the value of `node` depends on traced values: arguments, Variables, the carried values of a loop. Literals, captured
/// tensors, and tensors computed from these alone, may be read (`what`: "item").
void require_known(std::string_view what, const Node& node, const Line& where);

}  // namespace tegula
