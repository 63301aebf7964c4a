#include "tegula/nn/state.h"

#include <map>

#include "tegula/core/error.h"
#include "tegula/graph/evaluate.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/trace.h"
#include "tegula/nn/freeze.h"

namespace tegula {
namespace {

// "a, b, c and 9 more"
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::map<std::string, const Tensor*> by_name(const StateDict& state, const Line& where) {
  std::map<std::string, const Tensor*> map;
  for (const NamedTensor& entry : state) {
    if (!map.emplace(entry.name, &entry.value).second) {
      throw Error({.op = "load", .got = "two tensors named " + entry.name, .expected = "each name once", .where = origin_at(where).where});
    }
  }
  return map;
}

}  // namespace

StateDict state_dict(const Parameters& cells) {
  StateDict state;
  state.reserve(cells.size());
  for (const Parameter& cell : cells) state.push_back({cell.name, cell.read_whole()});
  return state;
}

LoadReport load(const Parameters& cells, const StateDict& state, Strict strict, Line where) {
  refuse_in_trace("load", where);
  auto given = by_name(state, where);
  LoadReport report;
  std::vector<std::string> misfits;
  std::vector<std::pair<const Parameter*, const Tensor*>> assignments;
  for (const Parameter& cell : cells) {
    auto found = given.find(cell.name);
    if (found == given.end()) {
      report.missing.push_back(cell.name);
      continue;
    }
    const Shape& expected = cell.whole_shape();
    if (found->second->shape() != expected) {
      misfits.push_back(cell.name + " " + to_string(found->second->shape()) + " for " + to_string(expected));
    }
    assignments.emplace_back(&cell, found->second);
    given.erase(found);
  }
  for (const NamedTensor& entry : state)
    if (given.contains(entry.name)) report.unexpected.push_back(entry.name);

  std::vector<std::string> wrong;
  if (strict == Strict::Yes && !report.missing.empty()) wrong.push_back("nothing for " + list_of(report.missing));
  if (strict == Strict::Yes && !report.unexpected.empty()) wrong.push_back("unknown names " + list_of(report.unexpected));
  if (!misfits.empty()) wrong.push_back("other shapes: " + list_of(misfits));
  if (!wrong.empty()) {
    std::string got;
    for (const std::string& line : wrong) got += (got.empty() ? "" : "; ") + line;
    throw Error({.op = "load",
                 .got = got,
                 .expected = "the names and shapes of the module",
                 .advice = misfits.empty() ? "Strict::No loads what is there"
                                           : "is this the state of another network? For a new head: load(net, without(state, {\"head.*\"}), Strict::No)",
                 .where = origin_at(where).where});
  }
  for (auto [cell, value] : assignments) cell->assign_whole(*value, where);
  return report;
}

std::string LoadReport::text() const {
  std::string out;
  if (!missing.empty()) out = "missing: " + list_of(missing);
  if (!unexpected.empty()) out += (out.empty() ? "unexpected: " : "; unexpected: ") + list_of(unexpected);
  return out.empty() ? "all names were found" : out;
}

StateDict without(const StateDict& state, const std::vector<std::string>& patterns, Line where) {
  std::vector<bool> used(patterns.size());
  StateDict rest;
  for (const NamedTensor& entry : state) {
    bool stays = true;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (patterns[i].empty() || !nn::detail::fits_within(entry.name, patterns[i])) continue;
      stays = false, used[i] = true;
    }
    if (stays) rest.push_back(entry);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    throw Error({.op = "without",
                 .got = "\"" + patterns[i] + "\", which no name in the state fits",
                 .expected = state.empty() ? "names of the state, which is empty"
                                           : "names such as \"" + state[0].name + "\", parts of them with * for the rest",
                 .where = origin_at(where).where});
  }
  return rest;
}

StateDict load_state(const std::string& path) {
  StateDict state;
  for (auto& [name, array] : io::read_safetensors(path).tensors) state.push_back({name, from_array(array)});
  return state;
}

void save_state(const StateDict& state, const std::string& path, const io::Metadata& metadata) {
  std::vector<Ref<Node>> nodes;
  for (const NamedTensor& entry : state) nodes.push_back(entry.value.node());
  evaluate(nodes, Line::current());  // together
  io::NamedArrays arrays;
  for (const NamedTensor& entry : state) arrays.emplace_back(entry.name, entry.value.to_array());
  io::write_safetensors(path, arrays, metadata);
}

io::Metadata load_metadata(const std::string& path) { return io::read_safetensors_header(path).metadata; }

}  // namespace tegula
