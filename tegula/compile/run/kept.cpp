#include "tegula/compile/run/kept.h"

#include <algorithm>
#include <unordered_map>

#include "tegula/compile/run/executable.h"
#include "tegula/compile/run/placement.h"

namespace tegula::compile {
namespace {

std::size_t bytes_of(const std::vector<Ref<Buffer>>& values) {
  std::size_t bytes = 0;
  for (const auto& value : values) bytes += value->bytes();
  return bytes;
}

/// The key of an item's value, down to leaves and scalars: equal keys mean equal values. Empty if it depends on a leaf that only its plan knows.
class Meaning {
 public:
  Meaning(const Graph& graph, const Identities& identities) : graph_(graph), identities_(identities) {
    derive_constants(graph, identities.constants, numbers_);
  }

  Words of(int output, const runtime::Device& device) {
    words_ = {static_cast<std::uint64_t>(device.number())};
    number_.clear();
    std::vector<int> order, stack{output};
    while (!stack.empty()) {
      const int i = stack.back();
      stack.pop_back();
      if (!number_.emplace(i, -1).second) continue;
      order.push_back(i);
      stack.insert(stack.end(), graph_[i].inputs.begin(), graph_[i].inputs.end());
    }
    std::sort(order.begin(), order.end());
    int next = 0;
    for (const int i : order) {
      if (!add(i)) return {};
      number_[i] = next++;
    }
    return std::move(words_);
  }

 private:
  bool add(int i) {
    const Item& item = graph_[i];
    append(words_, *item.op);
    append(words_, item.shape);
    append(words_, item.order);
    for (const std::uint64_t word :
         {static_cast<std::uint64_t>(item.dtype), std::uint64_t{item.rounds}, static_cast<std::uint64_t>(item.precision),
          static_cast<std::uint64_t>(item.arithmetic), std::uint64_t{item.keeps_nan}, std::uint64_t{item.epilogue->values.size()}})
      words_.push_back(word);
    for (const runtime::Expression::Value& value : item.epilogue->values) {
      words_.push_back(static_cast<std::uint64_t>(value.source) << 8 | static_cast<std::uint64_t>(value.word));
      for (const std::int32_t operand : value.operands) words_.push_back(static_cast<std::uint64_t>(operand));
      words_.push_back(std::bit_cast<std::uint64_t>(value.constant));
    }
    if (item.role() == Role::Leaf) {
      const std::uint64_t identity = identities_.leaves[index(item.slot)];
      if (identity == 0) return false;
      words_.push_back(identity);
      append(words_, graph_.leaf(item).layout.strides);
    }
    if (item.role() == Role::Scalar) words_.push_back(numbers_[index(item.slot)]);
    words_.push_back(item.inputs.size());
    for (const int input : item.inputs) words_.push_back(static_cast<std::uint64_t>(number_.at(input)));
    return item.prologue->input < 0;
  }

  const Graph& graph_;
  const Identities& identities_;
  std::vector<std::uint64_t> numbers_;
  Words words_;
  std::unordered_map<int, int> number_;
};

/// Leaves numbered by first use; returns which they were.
std::vector<std::size_t> renumber_leaves(Graph& graph) {
  std::vector<std::size_t> was;
  std::vector<Leaf> leaves;
  std::vector<int> now(graph.leaves.size(), -1);
  for (Item& item : graph.items) {
    if (item.role() != Role::Leaf) continue;
    const auto slot = static_cast<std::size_t>(item.slot);
    if (now[slot] < 0) {
      now[slot] = static_cast<int>(was.size());
      was.push_back(slot), leaves.push_back(graph.leaves[slot]);
    }
    item.slot = now[slot];
  }
  graph.leaves = std::move(leaves);
  return was;
}

}  // namespace

KeptBatch::KeptBatch(std::unique_ptr<Executable> plan, std::vector<std::uint64_t> sources, std::vector<std::uint64_t> constants,
                     runtime::Device& device)
    : plan_(std::move(plan)),
      sources_(std::move(sources)),
      constants_(std::move(constants)),
      versions_(sources_.size()) {
  const Plan& of = plan_->plan();
  for (const int output : of.graph.outputs) {
    const PlannedValue& value = of.values[index(output)];
    values_.push_back(allocate(device, value.bytes(), {value.name, value.origin.where}));
    addresses_.push_back(values_.back()->data());
  }
}

KeptBatch::KeptBatch(std::function<std::unique_ptr<Executable>()> make, std::vector<std::uint64_t> constants,
                     std::vector<Ref<Buffer>> values, std::vector<std::uint64_t> versions)
    : make_(std::move(make)),
      sources_(versions.size()),
      constants_(std::move(constants)),
      versions_(std::move(versions)),
      values_(std::move(values)),
      fresh_(true) {
  for (const auto& value : values_) addresses_.push_back(value->data());
}

KeptBatch::~KeptBatch() = default;

Executable& KeptBatch::made() const {
  if (!plan_) plan_ = make_();
  return *plan_;
}

void KeptBatch::refresh(std::span<void* const> leaves, std::span<const std::uint64_t> versions, std::byte* arena) {
  if (fresh_ && std::ranges::equal(versions_, versions)) return;
  fresh_ = false;
  made().run({.leaves = leaves, .constants = constants_, .outputs = addresses_, .updates = {}, .arena = arena});
  versions_.assign(versions.begin(), versions.end());
  fresh_ = true;
  ++refreshes_;
}

std::size_t KeptBatch::bytes() const { return bytes_of(values_); }
std::size_t Kept::bytes() const { return bytes_of(values); }

Kept KeptValues::keep(const Graph& once, const Identities& identities, runtime::Device& device,
                      const std::function<std::unique_ptr<Executable>(Graph)>& compile) {
  std::erase_if(known_, [](const auto& entry) { return entry.second.batch.expired(); });
  std::unordered_map<std::uint64_t, std::size_t> leaf_of;  // by identity
  for (std::size_t i = 0; i < identities.leaves.size(); ++i)
    if (identities.leaves[i] != 0) leaf_of.emplace(identities.leaves[i], i);
  const auto readable = [&](const KeptBatch& batch) {
    return std::ranges::all_of(batch.sources(), [&](std::uint64_t source) { return leaf_of.contains(source); });
  };
  Kept kept;
  kept.values.resize(once.outputs.size());
  Meaning meaning(once, identities);
  Graph rest = once;
  rest.outputs.clear();
  std::vector<std::size_t> missing;
  std::vector<Words> keys;
  for (std::size_t k = 0; k < once.outputs.size(); ++k) {
    Words key = meaning.of(once.outputs[k], device);
    const auto found = key.empty() ? known_.end() : known_.find(key);
    const auto batch = found == known_.end() ? nullptr : found->second.batch.lock();
    if (batch && readable(*batch)) {
      kept.values[k] = batch->value(found->second.output);
      if (std::ranges::find(kept.batches, batch, &Kept::Use::batch) != kept.batches.end()) continue;
      kept.batches.push_back({batch, {}});
      for (const std::uint64_t source : batch->sources()) kept.batches.back().leaves.push_back(leaf_of.at(source));
      continue;
    }
    rest.outputs.push_back(once.outputs[k]);
    missing.push_back(k), keys.push_back(std::move(key));
  }
  if (missing.empty()) return kept;
  remove_dead(rest);
  const std::vector<std::size_t> leaves = renumber_leaves(rest);
  std::vector<std::uint64_t> sources;
  for (const std::size_t leaf : leaves) sources.push_back(identities.leaves[leaf]);
  const auto batch = std::make_shared<KeptBatch>(compile(std::move(rest)), std::move(sources),
                                                 std::vector(identities.constants.begin(), identities.constants.end()), device);
  kept.batches.push_back({batch, leaves});
  for (std::size_t o = 0; o < missing.size(); ++o) {
    kept.values[missing[o]] = batch->value(o);
    if (!keys[o].empty()) known_[std::move(keys[o])] = {batch, o};
  }
  return kept;
}

}  // namespace tegula::compile
