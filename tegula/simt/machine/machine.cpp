#include "tegula/simt/machine/machine.h"

#include <algorithm>

#include "tegula/simt/machine/cluster.h"

namespace tegula::simt {

Machine::Machine(Kernel kernel) : kernel_(std::move(kernel)), code_(std::make_unique<const Code>(translated(kernel_))) {
  kernel_.entry = {}, kernel_.begin = {}, kernel_.body = {}, kernel_.end = {};
}
Machine::~Machine() = default;

Observed Machine::run(const MachineLaunch& launch, const MachineOptions& options) const {
  Observed observed;
  std::int64_t instances = 0;
  for (const runtime::ArgumentSet& set : launch.sets) instances += set.grid[0] * set.grid[1] * set.grid[2];
  const std::int64_t blocks = (kernel_.stays ? std::min<std::int64_t>(instances, options.blocks) : instances) * kernel_.cluster;
  if (blocks == 0) return observed;
  Cluster cluster(kernel_, *code_, launch, options, blocks, observed);
  for (std::int64_t block = 0; block < blocks && !observed.stuck; block += kernel_.cluster)
    observed.stuck = !cluster.run(static_cast<std::uint32_t>(block));
  show_printed(kernel_.prints, observed.printed);
  return observed;
}

std::string to_string(const Observed& observed) {
  std::string lines;
  for (const Finding& finding : observed.findings) lines += finding.sentence + "\n";
  if (observed.stuck) lines += "threads wait for each other for ever\n";
  return lines + "shared memory: " + std::to_string(observed.banks.accesses) + " accesses, " + std::to_string(observed.banks.conflicts) +
         " conflicts of banks\n";
}

}  // namespace tegula::simt
