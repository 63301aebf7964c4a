#include "tegula/graph/names.h"

#include <mutex>
#include <unordered_map>

namespace tegula {
namespace {

struct Names {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, std::string> of;  // numbers of cells
};
Names& names() {
  static auto* all = new Names;  // cells die after static objects
  return *all;
}

}  // namespace

void remember_names(const Parameters& parameters) {
  Names& all = names();
  const std::scoped_lock lock(all.mutex);
  for (const Parameter& parameter : parameters) {
    std::string& name = all.of[parameter.cell->number()];
    if (name != parameter.name) name = parameter.name;
  }
}

std::string variable_name(const Node& node) {
  if (!node.cell_number()) return "";
  Names& all = names();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.of.find(node.cell_number());
  return found == all.of.end() ? "" : found->second;
}

void forget_name(std::uint32_t cell_number) {
  Names& all = names();
  const std::scoped_lock lock(all.mutex);
  all.of.erase(cell_number);
}

}  // namespace tegula
