// Products of operands that were rounded to E4M3, where the device multiplies their codes.

#include "tegula/compile/passes/dtypes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tegula/compile/passes/rewriter.h"
#include "tegula/graph/e4m3.h"
#include "tegula/graph/structural.h"

namespace tegula::compile {
namespace {

constexpr std::int64_t kMultiple = 16;  // of sizes that lie innermost: what the tensor cores' 8-bit products ask

/// (a codes (M, K), b codes (N, K), factor of a (), factor of b ()) -> (M, N).
class CodesProduct final : public LibraryOp {
 public:
  std::string_view name() const override { return "matmul_e4m3"; }
  runtime::CallDescription describe(const Setting& setting) const override {
    const Layout &a = setting.inputs[0], &b = setting.inputs[1], &c = setting.results[0];
    return product(rows(a), rows(b), {setting.dtype, rows(c)});
  }
  /// The matmul of codes (M, K) and (N, K) into c.
  static runtime::Matmul product(const Layout& a, const Layout& b, const runtime::Operand& c) {
    const Layout turned{{b.shape[1], b.shape[0]}, {b.strides[1], b.strides[0]}};
    return {.a = {u8, a, runtime::Scale::Factor}, .b = {u8, turned, runtime::Scale::Factor}, .c = c};
  }
  bool accepts(const runtime::Device&, int index, const Layout& layout) const override {
    return index >= 2 || (layout.strides[1] == 1 && row_stride(layout) % kMultiple == 0 && row_stride(layout) >= layout.shape[1]);
  }
  DType input_dtype(int index, DType) const override { return index < 2 ? u8 : f32; }
  double operations(std::span<const Shape> inputs, const Shape& output) const override {
    return 2.0 * static_cast<double>(numel(output)) * static_cast<double>(inputs[0][1]);
  }
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {
    throw Error({.op = "matmul_e4m3", .got = "a graph with codes", .expected = "the graph before this pass"});
  }

 private:
  static std::int64_t row_stride(const Layout& layout) { return layout.shape[0] == 1 ? layout.shape[1] : layout.strides[0]; }
  static Layout rows(const Layout& layout) { return {layout.shape, {row_stride(layout), 1}}; }
};

class Encoder {
 public:
  Encoder(const Graph& from, const runtime::Device& device, Rewriter& rewriter) : from_(from), rewriter_(rewriter), device_(device) {}

  /// Makes item i a product of codes, if it can be one.
  void encode(int i, Item& item) {
    if (!item.multiplies() || item.shape.rank() != 2 || item.precision != Precision::fp8 || item.dtype == f64) return;
    if (!item.epilogue->is_empty()) return;
    const std::vector<int>& inputs = from_[i].inputs;
    const std::int64_t k = from_[inputs[0]].shape[1];
    if (item.shape[0] == 0 || item.shape[1] == 0 || k == 0 || k % kMultiple != 0 || item.shape[1] % kMultiple != 0) return;
    const auto a = operand(inputs[0]), b = operand(inputs[1]);
    if (!a || !b) return;
    const std::int64_t m = item.shape[0], n = item.shape[1];
    if (!device_.takes(CodesProduct::product(Layout::dense({m, k}), Layout::dense({n, k}), {item.dtype, Layout::dense({m, n})}))) return;
    const auto [a_codes, a_factor] = codes(*a);
    const auto [b_codes, b_factor] = codes(*b);
    const int turned = rewriter_.insert(permute_op({1, 0}), {b_codes}, item, {.shape = Shape{n, k}, .dtype = u8});
    item.op = Ref<const Op>(new CodesProduct);
    item.inputs = {a_codes, turned, a_factor, b_factor};
  }

 private:
  struct Operand {
    int rounded;             // the item that rounds
    std::vector<int> views;  // over it, the innermost last
  };
  std::optional<Operand> operand(int i) const {
    Operand found{};
    while (from_[i].op != e4m3_round_op()) {
      const Item& item = from_[i];
      if (item.role() == Role::View) found.views.push_back(i);
      else if (item.op != cast_op()) return std::nullopt;
      i = item.inputs[0];
    }
    found.rounded = i;
    return found;
  }

  /// The codes of the operand under its views, and the factor. Codes are made once for all their readers.
  std::pair<int, int> codes(const Operand& operand) {
    const Item& rounded = from_[operand.rounded];
    auto [known, fresh] = codes_.try_emplace(operand.rounded, 0);
    if (fresh) {
      Item item = rounded;
      item.op = e4m3_encode_op();
      item.dtype = u8;
      for (int& input : item.inputs) input = rewriter_.now(input);
      known->second = rewriter_.add(std::move(item));
    }
    return {rewriter_.insert(from_, operand.views, known->second), rewriter_.now(rounded.inputs[1])};
  }

  const Graph& from_;
  Rewriter& rewriter_;
  const runtime::Device& device_;
  std::map<int, int> codes_;
};

}  // namespace

void multiply_codes(Graph& graph, const runtime::Device& device) {
  if (std::ranges::none_of(graph.items, [](const Item& item) { return item.op == e4m3_round_op(); })) return;
  Rewriter rewriter(graph);
  Encoder encoder(graph, device, rewriter);
  rewriter.each([&](int i, Item& item) { encoder.encode(i, item); });
  graph = rewriter.finish();
  remove_dead(graph);
}

}  // namespace tegula::compile
