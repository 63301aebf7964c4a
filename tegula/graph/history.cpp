#include "tegula/graph/history.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"

namespace tegula {

struct Ledger;

/// The values of one evaluation, null once they died, and their charge.
struct Evaluation {
  Ledger* ledger;
  std::list<Evaluation>::iterator self;
  std::vector<Node*> values;
  std::size_t alive, nodes, bytes;
  std::size_t replaced = 0;    // bytes among these that Variables held before they were assigned
  std::uint32_t number = 0;    // grows; Node::charged_to_
};

namespace {

// One mutex for all threads, since values die on any of them. Never freed: nodes may outlive everything else.
struct Common {
  std::mutex mutex;
  HistoryBudget budget;
  int readers = 0;
  std::uint32_t last_number = 0;
};
Common& common() {
  static auto* instance = new Common;
  return *instance;
}

}  // namespace

/// The evaluations of one thread, oldest first. Access only under the common mutex.
struct Ledger {
  std::list<Evaluation> evaluations;
  std::size_t nodes = 0, bytes = 0, replaced = 0;
  std::size_t steps = 0;  // evaluations that keep what Variables held before
  bool told = false;      // the warning about the present ones was given

  void erase(const Evaluation& evaluation) {
    nodes -= evaluation.nodes;
    bytes -= evaluation.bytes;
    replaced -= evaluation.replaced;
    steps -= evaluation.replaced > 0 ? 1 : 0;
    if (steps == 0) told = false;
    evaluations.erase(evaluation.self);
  }
  bool over(const HistoryBudget& budget) const {
    return evaluations.size() > 1 && (nodes > budget.nodes || bytes > budget.bytes || replaced > budget.replaced_bytes);
  }
};

/// A thread that ends leaves its values their history, which is not counted any more.
struct ThreadLedger : Ledger {
  ~ThreadLedger() { KeptHistory::abandon(*this); }
};
static thread_local ThreadLedger ledger;

void set_history_budget(const HistoryBudget& budget) {
  std::scoped_lock lock(common().mutex);
  common().budget = budget;
}

HistoryBudget history_budget() {
  std::scoped_lock lock(common().mutex);
  return common().budget;
}

KeptHistory::Reader::Reader() {
  std::scoped_lock lock(common().mutex);
  ++common().readers;
}

KeptHistory::Reader::~Reader() {
  std::scoped_lock lock(common().mutex);
  --common().readers;
}

void KeptHistory::remember(std::span<const Ref<Node>> values, std::size_t nodes, std::span<const Node* const> leaves) {
  std::string warning;
  {
    std::vector<Ref<Node>> released;  // freed behind the lock: what dies takes it
    std::scoped_lock lock(common().mutex);
    Evaluation& entry = ledger.evaluations.emplace_back();
    if (++common().last_number == 0) ++common().last_number;  // 0: none
    entry = {.ledger = &ledger,
             .self = std::prev(ledger.evaluations.end()),
             .values = {},
             .alive = 0,
             .nodes = nodes,
             .bytes = 0,
             .number = common().last_number};
    const auto charge = [&](Node& node) {
      if (node.charged_to_ != 0) return;
      entry.bytes += node.buffer()->bytes();
      if (node.is_replaced_) entry.replaced += node.buffer()->bytes();
      node.charged_to_ = entry.number;
    };
    for (const auto& value : values) {
      // Nothing to keep, or no other holder than the caller.
      if (value->inputs().empty() || value->use_count() == 1 || value->evaluation_.load(std::memory_order_relaxed)) continue;
      value->evaluation_.store(&entry, std::memory_order_relaxed);
      value->evaluation_index_ = static_cast<std::uint32_t>(entry.values.size());
      entry.values.push_back(value.get());
      if (!shows_input(value->op().role())) charge(*value);  // a view keeps no memory of its own
    }
    if (entry.values.empty()) return ledger.evaluations.pop_back();
    entry.alive = entry.values.size();
    for (const Node* leaf : leaves)
      if (leaf->use_count() > 1) charge(const_cast<Node&>(*leaf));  // 1: the caller's, it dies
    ledger.nodes += entry.nodes;
    ledger.bytes += entry.bytes;
    ledger.replaced += entry.replaced;
    ledger.steps += entry.replaced > 0 ? 1 : 0;
    warning = told_of(ledger, entry);
    keep_budget(ledger, released);
  }
  if (!warning.empty()) warn("history.kept", warning);
}

/// Call with the common mutex; what dies is handed over.
void KeptHistory::keep_budget(Ledger& ledger, std::vector<Ref<Node>>& released) {
  while (common().readers == 0 && ledger.over(common().budget)) {
    const Evaluation& oldest = ledger.evaluations.front();
    for (Node* node : oldest.values) {
      if (!node) continue;
      node->evaluation_.store(nullptr, std::memory_order_relaxed);
      const Ref<Node> value = ref_if_alive(node);
      if (!value) continue;
      for (auto& input : value->give_up()) released.push_back(std::move(input));
      released.push_back(value);
    }
    ledger.erase(oldest);
  }
}

/// The number that hangs on one of an earlier evaluation, as a running sum does; else the newest value.
std::string KeptHistory::line_of(const Evaluation& entry) {
  const Node* found = nullptr;
  bool sums_up = false;
  for (const Node* node : entry.values) {
    if (!node) continue;
    const bool hangs = numel(node->shape()) == 1 && std::ranges::any_of(node->inputs(), [&](const Ref<Node>& input) {
                         const Evaluation* const other = input->evaluation_.load(std::memory_order_relaxed);
                         return other && other != &entry && numel(input->shape()) == 1;
                       });
    if (found && (sums_up && !hangs)) continue;
    if (!found || (hangs && !sums_up) || node->sequence() > found->sequence()) found = node;
    sums_up |= hangs;
  }
  return found ? to_string(found->origin().where) : "";
}

/// A warning, given once, if a thread's evaluations keep the old weights of many steps; "" otherwise.
std::string KeptHistory::told_of(Ledger& ledger, const Evaluation& entry) {
  constexpr std::size_t kManySteps = 64, kSeveral = 8;
  const std::size_t many = ledger.over(common().budget) ? kSeveral : kManySteps;
  if (entry.replaced == 0 || ledger.steps < many || std::exchange(ledger.told, true)) return "";
  return "the value computed at " + line_of(entry) + " keeps what it was computed from: so far " + std::to_string(ledger.steps) +
         " steps, with " + bytes_text(ledger.replaced) +
         " of weights that were replaced since. To add up numbers write total += loss.item(), to keep tensors eval(total) and then "
         "stop_gradient(total); beyond set_history_budget the oldest steps cannot be differentiated any more";
}

void KeptHistory::replaced(Node& old) {
  std::string warning;
  {
    std::vector<Ref<Node>> released;
    std::scoped_lock lock(common().mutex);
    old.is_replaced_ = true;
    if (old.charged_to_ == 0) return;
    const auto entry = std::ranges::find(ledger.evaluations.rbegin(), ledger.evaluations.rend(), old.charged_to_, &Evaluation::number);
    if (entry == ledger.evaluations.rend()) return;  // another thread's, or over
    ledger.steps += entry->replaced == 0 ? 1 : 0;
    entry->replaced += old.buffer()->bytes();
    ledger.replaced += old.buffer()->bytes();
    warning = told_of(ledger, *entry);
    keep_budget(ledger, released);
  }
  if (!warning.empty()) warn("history.kept", warning);
}

void KeptHistory::leave(Node& node) {
  std::scoped_lock lock(common().mutex);
  Evaluation* entry = node.evaluation_.load(std::memory_order_relaxed);
  if (!entry) return;
  entry->values[node.evaluation_index_] = nullptr;
  if (--entry->alive == 0) entry->ledger->erase(*entry);
}

void Node::leave_history() { KeptHistory::leave(*this); }

void KeptHistory::abandon(Ledger& ledger) {
  std::scoped_lock lock(common().mutex);
  for (const Evaluation& entry : ledger.evaluations) {
    for (Node* node : entry.values) {
      if (node) node->evaluation_.store(nullptr, std::memory_order_relaxed);
    }
  }
}
}  // namespace tegula
