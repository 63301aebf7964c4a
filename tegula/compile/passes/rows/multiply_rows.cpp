#include "tegula/compile/passes/products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tegula/compile/passes/parts/parts.h"
#include "tegula/compile/passes/rewriter.h"
#include "tegula/core/setting.h"

namespace tegula::compile {
namespace {

using Kind = Expression::Word::Kind;

constexpr std::int64_t kSmallestWeight = 1 << 14;  // elements: below it is a launch like any other
constexpr std::size_t kMostWords = 24;             // before or behind: more is a kernel's work
constexpr std::int64_t kMostRepeats = 1024;        // instances that each compute the rows

/// A product, and what becomes of it.
struct Chosen {
  RowProduct program;
  std::vector<int> inputs;  // old items
  std::map<std::pair<int, bool>, int> known;  // (item, before the product) -> the input
  int end = -1;  // the item whose value the program gives
};

class Finder {
 public:
  Finder(const Graph& from, const runtime::Device& device) : from_(from), device_(device), users_(from) {}

  std::map<int, Chosen> run() {
    for (int i = 0; i < from_.size(); ++i) {
      if (is_row_product(from_[i])) products_.insert(i);
    }
    std::vector<std::pair<int, Chosen>> all;
    for (const int i : products_) {
      Chosen one = begun(i);
      work_behind(one, i);
      ends_.insert(one.end);
      all.emplace_back(i, std::move(one));
    }
    std::map<int, Chosen> out;
    for (auto& [i, one] : all) {
      rows_before(one, i);
      const int end = one.end;
      out.emplace(end, std::move(one));
    }
    return out;
  }

 private:
  bool is_row_product(const Item& item) const {
    if (!item.multiplies() || item.shape.rank() != 2) return false;
    if (item.precision == Precision::fp8 || !item.order.empty() || item.inputs.size() != 2) return false;
    const std::int64_t m = item.shape[0], n = item.shape[1], k = from_[item.inputs[0]].shape.back();
    const bool plain = item.epilogue->is_empty();
    return plain && is_float(item.dtype) && from_[item.inputs[0]].dtype == item.dtype && from_[item.inputs[1]].dtype == item.dtype &&
           m > 0 && m <= kFewRows && n * k >= kSmallestWeight && is_memory(item.inputs[0]) && is_memory(item.inputs[1]);
  }
  bool is_memory(int i) const { return from_[access_of(from_, i).base].in_memory(); }

  Chosen begun(int i) const {
    const Item& item = from_[i];
    Chosen out;
    out.program.rows = item.shape[0], out.program.columns = item.shape[1], out.program.terms = from_[item.inputs[0]].shape.back();
    out.program.dtype = item.dtype, out.program.asynchronous = device_.traits().numbers_in_memory;
    out.inputs = {item.inputs[1]};
    out.end = i;
    return out;
  }

  /// The word for what the program reads; nothing where it lies so that a copy would be needed.
  std::optional<Expression::Word> read(Chosen& one, int i, bool before) const {
    const Access access = access_of(from_, i);
    const Role role = from_[access.base].role();
    if (role == Role::Index) return std::nullopt;
    Expression::Word word{.kind = role == Role::Scalar ? Kind::Number : Kind::Memory, .dtype = from_[i].dtype};
    if (role == Role::Scalar) {
      i = access.base;
    } else {
      const std::int64_t all = numel(from_[i].shape), columns = before ? one.program.terms : one.program.columns, rows = one.program.rows;
      const bool of_rows = from_[i].shape.rank() > 0 && from_[i].shape.back() == columns && all == rows * columns;
      if (!of_rows && all != rows && from_[i].shape.rank() > 0) return std::nullopt;
      if (!row_layout(access.layout.shape, access.layout.strides, of_rows ? columns : 1)) return std::nullopt;
    }
    const auto [known, fresh] = one.known.try_emplace({i, before}, static_cast<int>(one.inputs.size()));
    if (fresh) one.inputs.push_back(i);
    word.input = known->second;
    return word;
  }

  // ---- What is before it.
  /// A value of the rows that the program could compute, seen directly or repeated along the rows.
  std::optional<int> computed_below(const Chosen& one, int i) const {
    const Access access = access_of(from_, i);
    const Item& base = from_[access.base];
    for (int at = i; at != access.base; at = from_[at].inputs[0]) {
      if (from_[at].role() != Role::View) return std::nullopt;
    }
    const bool elementwise = base.role() == Role::Elementwise && !base.as<ElementwiseOp>().has_check();
    if (ends_.contains(access.base) || (!elementwise && base.role() != Role::Reduce) || !base.order.empty() || access.layout.offset != 0)
      return std::nullopt;
    const std::int64_t terms = one.program.terms, rows = one.program.rows, all = numel(base.shape), seen = numel(from_[i].shape);
    const bool whole = base.shape.rank() > 0 && base.shape.back() == terms && all == rows * terms, single = all == rows && terms != 1;
    if (base.role() == Role::Reduce) {
      const Shape& of = from_[base.inputs[0]].shape;
      const Dims& axes = base.as<ReduceOp>().axes();
      if (!single || axes.rank() != 1 || axes[0] != of.rank() - 1 || of.back() != terms || numel(of) != rows * terms) return std::nullopt;
    } else if (!whole && !single) {
      return std::nullopt;
    }
    const bool over_rows = from_[i].shape.rank() > 0 && from_[i].shape.back() == terms && seen == rows * terms;
    if (!over_rows && !(single && seen == rows)) return std::nullopt;
    const auto lies = row_layout(access.layout.shape, access.layout.strides, over_rows ? terms : 1);
    if (!lies || lies->column != (whole ? 1 : 0)) return std::nullopt;
    if (rows > 1 && lies->row != (whole ? terms : 1)) return std::nullopt;
    return access.base;
  }

  /// True if only these matmuls (as rows) and members of `inside` read it.
  bool is_only_for(int i, const std::set<int>& inside, const std::set<int>& products) const {
    if (users_.leaves(i)) return false;
    for (const auto& [user, input] : users_.of(i)) {
      if (inside.contains(user)) continue;
      if (products.contains(user)) {
        if (from_[user].inputs[1] == i) return false;
      } else if (!from_[user].shows_input() || !is_only_for(user, inside, products)) {
        return false;
      }
    }
    return true;
  }

  void rows_before(Chosen& one, int product) const {
    const int a = from_[product].inputs[0];
    const bool may_compute =
        instances_of(one.program) <= kMostRepeats && holds_all_terms(one.program.terms, one.program.dtype, device_.tiles().elements);
    if (!may_compute || !compute_rows(one, a)) one.program.before.words = {*read(one, a, true)};  // (M, K) always lies in rows
  }

  bool compute_rows(Chosen& one, int a) const {
    const auto root = computed_below(one, a);
    if (!root || !is_only_for(*root, {}, products_)) return false;
    // From the last one up: by then all that read an item are known.
    std::set<int> inside, waiting{*root};
    while (!waiting.empty()) {
      const int i = *waiting.rbegin();
      waiting.erase(i);
      if (i != *root && !is_only_for(i, inside, {})) continue;
      inside.insert(i);
      if (inside.size() > kMostWords) return false;
      for (const int input : from_[i].inputs) {
        if (const auto below = computed_below(one, input)) waiting.insert(*below);
      }
    }
    Chosen tried = one;
    std::map<int, int> word_of;
    for (const int i : inside) {
      const Item& item = from_[i];
      Expression::Word word{.kind = item.role() == Role::Reduce ? Kind::Reduce : Kind::Op, .op = item.op, .dtype = item.dtype};
      for (const int input : item.inputs) {
        const auto below = computed_below(one, input);
        if (below && inside.contains(*below)) {
          word.operands.push_back(word_of.at(*below));
          continue;
        }
        const auto from = read(tried, input, true);
        if (!from) return false;
        word.operands.push_back(tried.program.before.add(*from));
      }
      word_of[i] = tried.program.before.add(std::move(word));
    }
    one = std::move(tried);
    return true;
  }

  // ---- What is behind it.
  void work_behind(Chosen& one, int product) {
    std::vector<Expression::Word>& words = one.program.after.words;
    words = {{.kind = Kind::Result, .dtype = one.program.dtype}};
    const std::int64_t columns = one.program.columns, all = one.program.rows * columns;
    std::set<int> same{product};  // items that are the value so far
    int at = product, value = 0;
    while (words.size() < kMostWords) {
      const int user = users_.only_reader(at);
      if (user < 0 || ends_.contains(user)) return;
      const Item& item = from_[user];
      if (item.role() == Role::Barrier) return;
      if (item.role() == Role::View) {
        const auto seen = item.as<ViewOp>().apply(Layout::dense(from_[at].shape));
        if (!seen || !seen->is_dense() || seen->offset != 0 || numel(item.shape) != all) return;
      } else {
        const bool fits = item.role() == Role::Elementwise && !item.as<ElementwiseOp>().has_check() && item.order.empty() &&
                          numel(item.shape) == all && item.shape.rank() > 0 && item.shape.back() == columns;
        if (!fits || !append(one, user, same, value)) return;
        one.end = user;
        value = static_cast<int>(words.size()) - 1;
        same.clear();
      }
      same.insert(user);
      at = user;
    }
  }
  /// One more op behind the product.
  bool append(Chosen& one, int i, const std::set<int>& same, int value) const {
    Chosen tried = one;
    Expression::Word word{.kind = Kind::Op, .op = from_[i].op, .dtype = from_[i].dtype};
    for (const int input : from_[i].inputs) {
      if (same.contains(input)) {
        word.operands.push_back(value);
        continue;
      }
      const auto from = read(tried, input, false);
      if (!from) return false;
      word.operands.push_back(tried.program.after.add(*from));
    }
    tried.program.after.add(std::move(word));
    one = std::move(tried);
    return true;
  }

  const Graph& from_;
  const runtime::Device& device_;
  Users users_;
  std::set<int> products_;
  std::set<int> ends_;  // items whose values the programs give
};

/// Lets a matmul's program store the slices of its result that are inserted into other tensors.
void store_slices(Chosen& one, SliceInserters& inserters, std::map<int, std::pair<int, int>>& results) {
  std::map<int, int> places;
  const auto input = [&](int item) {
    one.inputs.push_back(item);
    return static_cast<int>(one.inputs.size()) - 1;
  };
  for (InsertedSlice& inserted : inserters.of(one.end, one.program.rows, one.program.columns)) {
    inserted.slice.whole = input(inserted.slice.whole);  // once for each that writes over it
    int& at = inserted.slice.at.input;
    const auto [known, fresh] = places.try_emplace(at);
    if (fresh) known->second = input(at);
    at = known->second;
    one.program.slices.push_back(std::move(inserted.slice));
    results[inserted.item] = {one.end, static_cast<int>(one.program.slices.size())};
  }
}

}  // namespace

void multiply_rows(Graph& graph, const runtime::Device& device) {
  static const auto forced = word_set("TEGULA_ROW_PRODUCTS", {"calls", "tiles"}, "jit");
  if (forced ? *forced == 0 : !device.traits().many_instances) return;
  auto chosen = Finder(graph, device).run();
  if (chosen.empty()) return;
  std::map<int, std::pair<int, int>> results;  // old items that insert a slice -> the one whose product does, and which result of it
  SliceInserters inserters(graph);
  for (auto& [end, one] : chosen) store_slices(one, inserters, results);
  std::map<int, int> producers;  // old items whose products have several results -> new ones
  Rewriter rewriter(graph);
  const auto become_part = [&](Item& item, int end, int result) {
    item.op = Ref<const Op>(new PartOp(result));
    item.inputs = {producers.at(end)};
    item.epilogue = {}, item.arithmetic = runtime::Arithmetic::Full;
  };
  rewriter.each(inserters.order(), [&](int i, Item& item) {
    if (const auto result = results.find(i); result != results.end()) become_part(item, result->second.first, result->second.second);
    const auto found = chosen.find(i);
    if (found == chosen.end()) return;
    item.inputs.clear();
    for (const int input : found->second.inputs) item.inputs.push_back(rewriter.now(input));
    for (const RowSlice& slice : found->second.program.slices) {
      const Item& whole = rewriter.out()[item.inputs[index(slice.whole)]];
      if (item.results.empty()) item.results = {{item.shape, item.dtype}};
      item.results.push_back({whole.shape, whole.dtype});
    }
    item.op = row_product_op(std::move(found->second.program));
    if (item.results.empty()) return;
    Item part = item;
    part.results.clear();
    item.node = -1, item.rounds = false;
    producers[i] = rewriter.add(std::move(item));
    item = std::move(part);
    become_part(item, i, 0);
  });
  graph = rewriter.finish();
  remove_dead(graph);
}

}  // namespace tegula::compile
