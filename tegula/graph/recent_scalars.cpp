#include "tegula/graph/recent_scalars.h"

#include <algorithm>
#include <mutex>

namespace tegula {
namespace {

constexpr std::size_t kMost = 32;  // a step of a plain loop makes a few

struct List {
  std::vector<const Node*> nodes;
};

// The lists of all threads: nodes die on any of them. Never freed: nodes may outlive everything else.
struct Common {
  std::mutex mutex;
  std::vector<List*> lists;
};
Common& common() {
  static auto* instance = new Common;
  return *instance;
}

/// A thread that ends takes its list out.
struct OfThread : List {
  OfThread() {
    const std::scoped_lock lock(common().mutex);
    common().lists.push_back(this);
  }
  ~OfThread() {
    const std::scoped_lock lock(common().mutex);
    std::erase(common().lists, this);
    gone = true;
  }
  static thread_local constinit bool gone;
};
thread_local constinit bool OfThread::gone = false;

thread_local constinit int unnoted = 0;

List& own() {
  thread_local OfThread list;
  return list;
}

}  // namespace

RecentScalars::Unnoted::Unnoted() { ++unnoted; }
RecentScalars::Unnoted::~Unnoted() { --unnoted; }

void RecentScalars::note(const Ref<Node>& node) {
  if (OfThread::gone || unnoted > 0) return;
  List& list = own();
  const std::scoped_lock lock(common().mutex);
  if (list.nodes.size() >= kMost) std::erase_if(list.nodes, [](const Node* known) { return known->has_value(); });
  if (list.nodes.size() >= kMost) list.nodes.erase(list.nodes.begin());  // its flag stays: forget() finds nothing
  list.nodes.push_back(node.get());
  node->is_recent_ = true;
}

bool RecentScalars::any_before(std::uint64_t sequence) {
  if (OfThread::gone) return false;
  const List& list = own();
  const std::scoped_lock lock(common().mutex);
  return std::ranges::any_of(list.nodes, [&](const Node* node) { return node->sequence() < sequence && !node->has_value(); });
}

std::vector<Ref<Node>> RecentScalars::take() {
  std::vector<Ref<Node>> alive;
  if (OfThread::gone) return alive;
  List& list = own();
  const std::scoped_lock lock(common().mutex);
  for (const Node* node : list.nodes)
    if (Ref<Node> held = ref_if_alive(const_cast<Node*>(node))) alive.push_back(std::move(held));
  list.nodes.clear();
  return alive;
}

void RecentScalars::forget(const Node& node) {
  const std::scoped_lock lock(common().mutex);
  for (List* list : common().lists) std::erase(list->nodes, &node);
}

}  // namespace tegula
