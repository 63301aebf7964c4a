#pragma once
// Kept values: they depend on unchanged Variables only (cut_steady) and are computed once for all plans of a function, since a weight in
// another dtype or layout is the same for every batch size.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "tegula/compile/graph.h"
#include "tegula/core/buffer.h"

namespace tegula::runtime {
class Device;
}

namespace tegula::compile {

class Executable;

/// Identifies the leaves and scalars of a graph across the plans of a function.
struct Identities {
  std::vector<std::uint64_t> leaves;  // per leaf: the number of its Variable or tensor (identity_of); 0: used by this plan alone
  std::span<const std::uint64_t> constants;  // the same in every run
};

/// Values that one plan computes together.
class KeptBatch {
 public:
  /// `plan` computes the outputs of its graph; its leaves are `sources`, as Identities tells them.
  KeptBatch(std::unique_ptr<Executable> plan, std::vector<std::uint64_t> sources, std::vector<std::uint64_t> constants,
            runtime::Device& device);
  /// A batch of values that are already computed, from leaves with these versions; `make` makes the plan when it is needed.
  KeptBatch(std::function<std::unique_ptr<Executable>()> make, std::vector<std::uint64_t> constants, std::vector<Ref<Buffer>> values,
            std::vector<std::uint64_t> versions);
  ~KeptBatch();

  /// Computes the values unless all their sources are unchanged; `leaves`, `versions` and `arena` are as in Executable::Bindings, of the
  /// sources. Throws Error when memory runs out:
  /// then the next call computes them.
  void refresh(std::span<void* const> leaves, std::span<const std::uint64_t> versions, std::byte* arena);

  const Executable& plan() const { return made(); }
  const std::vector<std::uint64_t>& sources() const { return sources_; }
  const std::vector<std::uint64_t>& constants() const { return constants_; }
  const Ref<Buffer>& value(std::size_t output) const { return values_[output]; }
  /// How many values there are.
  std::size_t size() const { return values_.size(); }
  /// True if the values are computed.
  bool fresh() const { return fresh_; }
  std::size_t bytes() const;
  /// How often they were computed.
  int refreshes() const { return refreshes_; }

 private:
  Executable& made() const;

  std::function<std::unique_ptr<Executable>()> make_;  // of a plan that is not there
  mutable std::unique_ptr<Executable> plan_;
  std::vector<std::uint64_t> sources_, constants_, versions_;
  std::vector<Ref<Buffer>> values_;
  std::vector<void*> addresses_;
  bool fresh_ = false;
  int refreshes_ = 0;
};

/// The kept values of one plan.
struct Kept {
  struct Use {
    std::shared_ptr<KeptBatch> batch;
    std::vector<std::size_t> leaves;  // the plan's, for each source of the batch
  };
  std::vector<Use> batches;
  std::vector<Ref<Buffer>> values;  // in the order of the leaves that cut_steady adds

  std::size_t bytes() const;
};

/// The kept values of one function. Not thread-safe: a function makes and runs its plans one at a time.
class KeptValues {
 public:
  /// The outputs of `once` as kept values: found among known ones, or computed by a plan from `compile`. Without identities nothing is shared.
  Kept keep(const Graph& once, const Identities& identities, runtime::Device& device,
            const std::function<std::unique_ptr<Executable>(Graph)>& compile);

 private:
  struct KeptOutput {
    std::weak_ptr<KeptBatch> batch;
    std::size_t output;
  };
  std::map<Words, KeptOutput> known_;
};

}  // namespace tegula::compile
