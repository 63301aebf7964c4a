#include "tegula/graph/names.h"

#include <mutex>
#include <unordered_map>

namespace tegula {
namespace {

struct Names {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, std::string> of;  // places of cells
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
    std::string& name = all.of[parameter.cell->place()];
    if (name != parameter.name) name = parameter.name;
  }
}

std::string variable_name(const Node& node) {
  if (!node.place()) return "";
  Names& all = names();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.of.find(node.place());
  return found == all.of.end() ? "" : found->second;
}

void forget_name(std::uint32_t place) {
  Names& all = names();
  const std::scoped_lock lock(all.mutex);
  all.of.erase(place);
}

}  // namespace tegula
