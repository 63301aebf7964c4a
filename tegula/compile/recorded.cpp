#include "tegula/compile/recorded.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <typeinfo>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/graph/regions/loop_op.h"

namespace tegula::compile {
namespace {

std::string line_of(const Node& node, const std::string& details) {
  const std::string place = tegula::to_string(node.origin().where);
  return std::string(node.op().name()) + (details.empty() ? "" : " " + details) + (place.empty() ? "" : " at " + place);
}

std::string line_of(const Node& node) { return line_of(node, description(node.op())); }

bool same_node(const Node& a, const Node& b) {
  const Op &first = a.op(), &second = b.op();
  if (typeid(first) != typeid(second) || a.dtype() != b.dtype() || a.precision() != b.precision() || !(a.shape() == b.shape()) ||
      a.inputs().size() != b.inputs().size() || !std::ranges::equal(a.results(), b.results()))
    return false;
  Words x, y;
  append(x, first);
  append(y, second);
  return x == y;
}

/// The first nodes in which the bodies of two loops differ, if there are such.
std::optional<std::pair<const Node*, const Node*>> first_difference(const LoopOp* a, const LoopOp* b) {
  if (!a || !b) return std::nullopt;
  const auto &x = a->body().nodes(), &y = b->body().nodes();
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (!same_node(*x[i], *y[i])) return std::pair<const Node*, const Node*>(x[i].get(), y[i].get());
  return std::nullopt;
}

/// Bytes of a constant in row-major order, on the host.
HostArray elements_of(const Node& node) { return Tensor(Ref<Node>(const_cast<Node*>(&node))).to_array(); }

bool same_bytes(const HostArray& a, const HostArray& b) {
  return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.buffer->data(), b.buffer->data(), a.bytes()) == 0);
}

/// "element 3 was 1.5 and is 2.5", of the first one that differs; "" where they differ in bits alone.
std::string changed_element(const HostArray& was, const HostArray& is) {
  return visit(was.dtype, [&](auto zero) -> std::string {
    const auto x = was.values<decltype(zero)>(), y = is.values<decltype(zero)>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::string before = number_text(static_cast<double>(as_double(x[i]))), now = number_text(static_cast<double>(as_double(y[i])));
      if (before != now) return ": element " + std::to_string(i) + " was " + before + " and is " + now;
    }
    return "";
  });
}

}  // namespace

bool is_steady(const Recorded& r, const Source& source) {
  if (source.kind == Source::Kind::Captured) return true;
  return source.kind == Source::Kind::Cell &&
         std::find(r.updated_cells.begin(), r.updated_cells.end(), source.index) == r.updated_cells.end();
}

std::uint64_t identity_of(const Recorded& r, const Source& source) {
  if (source.kind == Source::Kind::Cell) return reinterpret_cast<std::uint64_t>(r.cells[static_cast<std::size_t>(source.index)].get());
  return source.kind == Source::Kind::Captured ? reinterpret_cast<std::uint64_t>(source.captured.get()) : 0;
}

void require_equal(const Recorded& first, const Recorded& second, const Line& where) {
  const auto differ = [&](const std::string& how) {
    throw Error({.op = "jit",
                 .got = "a function that did not build the same graph twice: " + how,
                 .expected = "the same ops and constants at every call with one signature",
                 .advice = "make what changes an argument, a Variable or a Flag",
                 .where = where});
  };
  const auto become = [&](const std::string& was, const std::string& is) { differ("first " + was + ", then " + is); };
  const auto& a = first.reading;
  const auto& b = second.reading;
  const bool equal = a.order.size() == b.order.size() && a.key == b.key;
  for (std::size_t i = 0; !equal && i < std::min(a.order.size(), b.order.size()); ++i) {
    const Node &was = *a.order[i], &is = *b.order[i];
    if (same_node(was, is)) continue;
    if (const auto within = first_difference(LoopOp::of(was.op()), LoopOp::of(is.op())))
      become("in a loop " + line_of(*within->first), line_of(*within->second));
    const std::string attributes = was.op().name() == is.op().name() ? difference(was.op(), is.op()) : "";
    if (!attributes.empty() && was.shape() == is.shape()) differ(line_of(was, "") + " with " + attributes);
    become("shape " + to_string(was.shape()) + " of " + line_of(was), "shape " + to_string(is.shape()) + " of " + line_of(is));
  }
  if (!equal) { become(std::to_string(a.order.size()) + " nodes", std::to_string(b.order.size()) + " nodes or others connected"); }
  for (std::size_t i = 0; i < a.constants.size(); ++i) {
    if (std::memcmp(&a.constants[i], &b.constants[i], sizeof a.constants[i]) == 0) continue;
    become("the number in " + line_of(*a.constant_nodes[i]), line_of(*b.constant_nodes[i]));
  }
  for (std::size_t i = 0; i < first.sources.size(); ++i) {
    if (first.sources[i] == second.sources[i]) continue;
    if (first.sources[i].kind == Source::Kind::Captured && second.sources[i].kind == Source::Kind::Captured) {
      const HostArray was = elements_of(*a.leaves[i]), is = elements_of(*b.leaves[i]);
      if (same_bytes(was, is)) continue;  // another tensor, the same constant
      if (b.leaves[i]->trace() != 0) {
        throw Error({.op = "jit",
                     .got = "a tensor made inside of the function at " + tegula::to_string(b.leaves[i]->origin().where) +
                            " that holds other data than at the first call" + changed_element(was, is),
                     .expected = "the same data at every call with one signature: they are a constant of the compiled function",
                     .advice = "make the tensor an argument of the function, or a Variable",
                     .where = where});
      }
    }
    become("a captured tensor (" + line_of(*a.leaves[i]) + ")", "another one (" + line_of(*b.leaves[i]) + ")");
  }
  if (first.updated_cells != second.updated_cells || first.cells != second.cells) become("some Variables", "others");
  const bool alike = first.form && second.form ? *first.form == *second.form : first.form == second.form;
  if (!alike) become("lists of some lengths as its result", "of others");
}

}  // namespace tegula::compile
