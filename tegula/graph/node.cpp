#include "tegula/graph/node.h"

#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/graph/recent_scalars.h"
#include "tegula/graph/regions/new_nodes.h"
#include "tegula/graph/tensor.h"
#include "tegula/graph/trace.h"
#include "tegula/runtime/call_description.h"

namespace tegula {
namespace {

std::atomic<std::uint64_t> next_sequence{1};

// Freed nodes of this thread, kept for the next ones. A node freed on another thread joins that thread's list, which is threaded through the
// freed memory itself: freeing needs no memory.
struct NodePool {
  struct Free {
    Free* next;
  };
  Free* first = nullptr;
  std::size_t count = 0;
  ~NodePool() {
    alive = false;
    while (first) ::operator delete(std::exchange(first, first->next));
  }
  static thread_local bool alive;
};
thread_local bool NodePool::alive = true;
thread_local NodePool node_pool;

constexpr std::size_t kMaxPooled = 1 << 16;

// Protects the lists of parts. Never freed: nodes may outlive static objects.
std::mutex& parts_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

}  // namespace

std::vector<Tensor> Op::gradient(const Node&, const Tensor&, const std::vector<bool>&) const { return {}; }
std::vector<Tensor> Op::gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const {
  return gradient(y, dys[0], wanted);
}
void KernelOp::reference(std::span<const std::span<const double>> x, std::span<const Shape> shapes, std::span<double> y,
                         const Shape&) const {
  references(x, shapes, std::span(&y, 1));
}
void LibraryOp::references(std::span<const std::span<const double>>, std::span<const Shape>, std::span<const std::span<double>>) const {}
void KernelOp::references(std::span<const std::span<const double>>, std::span<const Shape>, std::span<const std::span<double>>) const {}
runtime::CallDescription LibraryOp::describe(const Setting&) const { return {}; }

std::unique_ptr<runtime::Call> LibraryOp::prepare(runtime::Device&, const Setting&) const {
  throw Error({.op = std::string(name()),
               .got = "an op taken for a call of the device",
               .expected = "one that describes a call, or prepares its own",
               .advice = "this is a bug in Tegula"});
}

std::optional<Layout> shown(const Op& op, const Layout& input) {
  return op.role() == Role::View ? static_cast<const ViewOp&>(op).apply(input) : input;
}
std::vector<Tensor> BarrierOp::gradient(const Node&, const Tensor& dy, const std::vector<bool>& wanted) const {
  std::vector<Tensor> out(wanted.size());
  out[0] = dy;
  return out;
}
std::vector<Tensor> LibraryOp::spelled_out(const runtime::Device&, std::span<const Tensor>, const Shape&) const { return {}; }

std::string Op::check_advice() const { return "check the data that was passed in"; }
std::string Op::check_message(std::int64_t, std::int64_t value) const { return "the value " + std::to_string(value) + " out of range"; }

Node::Node(Ref<const Op> op, std::span<const Ref<Node>> inputs, const Shape& shape, DType dtype, Origin origin)
    : op_(std::move(op)),
      count_(static_cast<std::uint32_t>(inputs.size())),
      dtype_(dtype),
      precision_(current_precision()),
      shape_(shape),
      origin_(origin),
      sequence_(next_sequence.fetch_add(1, std::memory_order_relaxed)) {
  if (inputs.size() <= kMaxInline) {
    for (std::size_t i = 0; i < inputs.size(); ++i) few_[i] = inputs[i];
  } else {
    many_.assign(inputs.begin(), inputs.end());
  }
  if (const Trace* trace = Trace::current()) trace_ = trace->id();
  if (NewNodes::innermost) NewNodes::innermost->nodes_.insert(this);
}

Node::Node(Ref<const Op> op, std::span<const Ref<Node>> inputs, std::span<const Result> results, Origin origin)
    : Node(std::move(op), inputs, results[0].shape, results[0].dtype, origin) {
  several_ = std::make_unique<Several>(std::vector<Result>(results.begin(), results.end()), std::vector<Node*>(results.size()));
}

thread_local NewNodes* NewNodes::innermost = nullptr;
NewNodes::NewNodes() : around_(innermost) { innermost = this; }
NewNodes::~NewNodes() {
  innermost = around_;
  if (around_) around_->nodes_.merge(nodes_);
}

Ref<Node> Node::living_part(int k) const {
  const std::scoped_lock lock(parts_mutex());
  Node* const part = several_->parts[static_cast<std::size_t>(k)];
  return part ? ref_if_alive(part) : nullptr;
}

void Node::become_part(int k) {
  const Node& of = input(0);
  precision_ = of.precision_;
  trace_ = of.trace_;
  const std::scoped_lock lock(parts_mutex());
  of.several_->parts[static_cast<std::size_t>(k)] = this;
  is_part_ = true;
}

void Node::leave_parts() {
  const std::scoped_lock lock(parts_mutex());
  Node*& place = input(0).several_->parts[static_cast<std::size_t>(static_cast<const PartOp&>(op()).index())];
  if (place == this) place = nullptr;
  is_part_ = false;
}

void Node::leave_recent() { RecentScalars::forget(*this); }

void Node::set_value(Ref<Buffer> buffer, const Layout& layout) {
  buffer_ = std::move(buffer);
  layout_ = layout;
  valued_.store(true, std::memory_order_release);
}

void Node::move_value(Ref<Buffer> buffer, const Layout& layout) {
  buffer_ = std::move(buffer);
  layout_ = layout;
}

std::vector<Ref<Node>> Node::take_inputs() {
  if (is_part_) leave_parts();
  std::vector<Ref<Node>> taken = std::move(many_);
  many_.clear();
  if (count_ <= kMaxInline) {
    for (std::uint32_t i = 0; i < count_; ++i) taken.push_back(std::move(few_[i]));
  }
  count_ = 0;
  return taken;
}

std::vector<Ref<Node>> Node::give_up() {
  if (count_ != 0) forgotten_ = true;
  return take_inputs();
}

// A long chain of nodes must not recurse once per link: nodes freed while one is being freed wait in a list. The list is threaded
// through the nodes, so that it outlives every other thread-local object.
void Node::destroy() const {
  thread_local const Node* waiting = nullptr;
  thread_local bool busy = false;
  next_waiting_ = waiting;
  waiting = this;
  if (busy) return;
  busy = true;
  while (waiting) {
    const Node* node = waiting;
    waiting = node->next_waiting_;
    delete node;
  }
  busy = false;
}

void* Node::operator new(std::size_t size) {
  if (NodePool::alive && node_pool.first) {
    --node_pool.count;
    return std::exchange(node_pool.first, node_pool.first->next);
  }
  return ::operator new(size);
}

void Node::operator delete(void* memory) {
  if (NodePool::alive && node_pool.count < kMaxPooled) {
    node_pool.first = new (memory) NodePool::Free{node_pool.first};
    ++node_pool.count;
  } else {
    ::operator delete(memory);
  }
}

}  // namespace tegula
