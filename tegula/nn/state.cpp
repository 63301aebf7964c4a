#include "tegula/nn/state.h"

#include <algorithm>
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

std::map<std::string, const NamedTensor*> by_name(const StateDict& state, const Line& where) {
  std::map<std::string, const NamedTensor*> map;
  for (const NamedTensor& entry : state) {
    if (!map.emplace(entry.name, &entry).second) {
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

namespace {

struct Matched {
  LoadReport report;
  std::vector<std::pair<const Parameter*, const Tensor*>> assignments;
};

Matched match(const Parameters& cells, const StateDict& state, const Line& where) {
  auto given = by_name(state, where);
  Matched out;
  LoadReport& report = out.report;
  for (const Parameter& cell : cells) {
    auto found = given.find(cell.name);
    if (found == given.end()) {
      report.missing.push_back(cell.name);
      continue;
    }
    const NamedTensor& entry = *found->second;
    const Shape& expected = cell.whole_shape();
    if (entry.value.shape() != expected)
      report.mismatched.push_back(cell.name + " " + to_string(entry.value.shape()) + " for " + to_string(expected));
    if (!entry.from.empty() && entry.from != entry.name) report.renamed.push_back(entry.name + " from " + entry.from);
    if (!entry.change.empty()) report.transposed.push_back(entry.name + " " + entry.change);
    out.assignments.emplace_back(&cell, &entry.value);
    given.erase(found);
  }
  for (const NamedTensor& entry : state)
    if (given.contains(entry.name)) report.unexpected.push_back(entry.name);
  return out;
}

}  // namespace

LoadReport load_report(const Parameters& cells, const StateDict& state, Line where) { return match(cells, state, where).report; }

LoadReport load(const Parameters& cells, const StateDict& state, Strict strict, Line where) {
  refuse_in_trace("load", where);
  const auto [report, assignments] = match(cells, state, where);
  std::vector<std::string> wrong;
  if (strict == Strict::Yes && !report.missing.empty()) wrong.push_back("nothing for " + list_of(report.missing));
  if (strict == Strict::Yes && !report.unexpected.empty()) wrong.push_back("unknown names " + list_of(report.unexpected));
  if (!report.mismatched.empty()) wrong.push_back("other shapes: " + list_of(report.mismatched));
  if (!wrong.empty()) {
    std::string got;
    for (const std::string& line : wrong) got += (got.empty() ? "" : "; ") + line;
    throw Error(
        {.op = "load",
         .got = got,
         .expected = "the names and shapes of the module",
         .advice = report.mismatched.empty()
                       ? "Strict::No loads what is there; renamed(state, {{\"module.*\", \"*\"}}) gives other names"
                       : "is this the state of another network? For a new head: load(net, without(state, {\"head.*\"}), Strict::No)",
         .where = origin_at(where).where});
  }
  for (auto [cell, value] : assignments) cell->assign_whole(*value, where);
  return report;
}

std::string LoadReport::text() const {
  std::string out;
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {{"missing", &missing},
                                                                           {"unexpected", &unexpected},
                                                                           {"other shapes", &mismatched},
                                                                           {"renamed", &renamed},
                                                                           {"transposed", &transposed}};
  for (const auto& [what, names] : lists)
    if (!names->empty()) out += (out.empty() ? "" : "; ") + std::string(what) + ": " + list_of(*names);
  return missing.empty() && unexpected.empty() && mismatched.empty() ? "all names were found" + (out.empty() ? "" : "; " + out) : out;
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

StateDict renamed(const StateDict& state, const std::vector<std::pair<std::string, std::string>>& rules, Line where) {
  const auto refuse = [&](const std::string& got, std::string expected) {
    throw Error({.op = "renamed", .got = got, .expected = std::move(expected), .where = origin_at(where).where});
  };
  for (const auto& [from, to] : rules) {
    const auto stars = [](const std::string& text) { return std::ranges::count(text, '*'); };
    if (stars(from) > 1 || stars(to) != stars(from))
      refuse("\"" + from + "\" -> \"" + to + "\"", "at most one * in each, which stands for the same text");
  }
  std::vector<bool> used(rules.size());
  StateDict out = state;
  std::map<std::string, std::string> origins;
  for (NamedTensor& entry : out) {
    const std::string before = entry.name;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const auto& [from, to] = rules[i];
      const std::size_t star = from.find('*');
      if (star == std::string::npos) {
        if (entry.name != from) continue;
        entry.name = to;
      } else {
        const std::string_view head = std::string_view(from).substr(0, star), tail = std::string_view(from).substr(star + 1);
        if (entry.name.size() < head.size() + tail.size() || !entry.name.starts_with(head) || !entry.name.ends_with(tail)) continue;
        const std::string rest = entry.name.substr(head.size(), entry.name.size() - head.size() - tail.size());
        entry.name = std::string(to).replace(to.find('*'), 1, rest);
      }
      used[i] = true;
    }
    if (entry.name != before && entry.from.empty()) entry.from = before;
    const auto [at, is_new] = origins.emplace(entry.name, before);
    if (!is_new)
      refuse("\"" + at->second + "\" and \"" + before + "\", which both become \"" + entry.name + "\"", "a name for each tensor");
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!used[i])
      refuse("\"" + rules[i].first + "\", which no name in the state fits",
             state.empty() ? "names of the state, which is empty" : "names such as \"" + state[0].name + "\"");
  }
  return out;
}

io::NamedArrays to_arrays(const StateDict& state) {
  std::vector<Ref<Node>> nodes;
  for (const NamedTensor& entry : state) nodes.push_back(entry.value.node());
  evaluate(nodes, Line::current());  // together
  io::NamedArrays arrays;
  for (const NamedTensor& entry : state) arrays.emplace_back(entry.name, entry.value.to_array());
  return arrays;
}

void save_safetensors(const StateDict& state, const std::string& path, const io::Metadata& metadata) {
  io::write_safetensors(path, to_arrays(state), metadata);
}

io::Metadata load_metadata(const std::string& path) { return io::read_safetensors_header(path).metadata; }

}  // namespace tegula
