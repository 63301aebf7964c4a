#include "tegula/graph/history.h"

#include <list>
#include <mutex>
#include <vector>

namespace tegula {

struct Ledger;

/// The values of one evaluation, null once they died, and what they are charged.
struct Evaluation {
  Ledger* ledger;
  std::list<Evaluation>::iterator self;
  std::vector<Node*> values;
  std::size_t alive, nodes, bytes;
};

namespace {

// One mutex for all threads, since values die on any of them. Never freed: nodes may outlive everything else.
struct Common {
  std::mutex mutex;
  HistoryBudget budget;
  int readers = 0;
};
Common& common() {
  static auto* instance = new Common;
  return *instance;
}

}  // namespace

/// What one thread evaluated, oldest first. All under the common mutex.
struct Ledger {
  std::list<Evaluation> evaluations;
  std::size_t nodes = 0, bytes = 0;

  void erase(const Evaluation& evaluation) {
    nodes -= evaluation.nodes;
    bytes -= evaluation.bytes;
    evaluations.erase(evaluation.self);
  }
  bool over(const HistoryBudget& budget) const { return evaluations.size() > 1 && (nodes > budget.nodes || bytes > budget.bytes); }
};

/// A thread that ends leaves its values their history; nobody counts it any more.
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
  std::vector<Ref<Node>> released;  // freed behind the lock: what dies takes it
  std::scoped_lock lock(common().mutex);
  Evaluation& entry = ledger.evaluations.emplace_back();
  entry = {.ledger = &ledger, .self = std::prev(ledger.evaluations.end()), .values = {}, .alive = 0, .nodes = nodes, .bytes = 0};
  const auto charge = [&](Node& node) {
    if (!node.charged_) entry.bytes += node.buffer()->bytes();
    node.charged_ = true;
  };
  for (const auto& value : values) {
    // Nothing to keep, or nobody who keeps it (but the caller).
    if (value->inputs().empty() || value->use_count() == 1 || value->evaluation_.load(std::memory_order_relaxed)) continue;
    value->evaluation_.store(&entry, std::memory_order_relaxed);
    value->evaluation_index_ = static_cast<std::uint32_t>(entry.values.size());
    entry.values.push_back(value.get());
    if (value->op().role() != Role::View) charge(*value);  // a view keeps no memory of its own
  }
  if (entry.values.empty()) return ledger.evaluations.pop_back();
  entry.alive = entry.values.size();
  for (const Node* leaf : leaves) charge(const_cast<Node&>(*leaf));
  ledger.nodes += entry.nodes;
  ledger.bytes += entry.bytes;

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
