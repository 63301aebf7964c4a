#include "tegula/ops/products/attention_op.h"

#include <algorithm>

#include "tegula/graph/autodiff/vjp_parts.h"
#include "tegula/graph/op_table.h"
#include "tegula/graph/regions/composed.h"
#include "tegula/graph/slices.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/op_families.h"
#include "tegula/ops/products/attention_decode.h"
#include "tegula/ops/products/attention_tiles.h"
#include "tegula/ops/shape/shape.h"
#include "tegula/runtime/device.h"

namespace tegula::ops {
namespace {

DType sum_dtype(DType dtype) { return dtype == f64 ? f64 : f32; }

/// Shared by both passes. An op computes from its inputs alone: the backward pass takes the forward's results as it takes q.
class AnyAttention : public LibraryOp, public Composed, public InTiles {
 public:
  AnyAttention(const AttentionForm& form, bool backward) : form_(form), backward_(backward) {}

  void attributes(Attributes& a) override {
    a("causal", form_.causal);
    a("window", form_.window);
    a("scale", form_.scale);
    a("dropout", form_.dropout);
    a("mask", form_.mask);
    a("bias", form_.bias);
    a("lengths", form_.lengths);
    a("start", form_.start);
    a("sum_gradient", form_.sum_gradient);
    if (const Signature* node = a.made_for()) a.require(fits(*node), "shape");
  }
  /// True if operands and results are as attention_nodes makes them.
  bool fits(const Signature& node) const {
    const auto& x = node.inputs;
    const std::size_t extras = static_cast<std::size_t>(form_.extras());
    const std::size_t count = 3 + extras + (backward_ ? 3 + (form_.sum_gradient ? 1 : 0) : 0);
    if (x.size() != count || form_.window < 0 || !(form_.dropout >= 0 && form_.dropout < 1)) return false;
    const Shape &q = x[0].shape, &k = x[1].shape, &v = x[2].shape;
    const DType dtype = x[0].dtype;
    if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4 || !is_float(dtype) || x[1].dtype != dtype || x[2].dtype != dtype) return false;
    Shape values = k;
    values[3] = v[3];
    if (k[0] != q[0] || k[3] != q[3] || v != values || k[1] < 1 || q[1] % k[1] != 0) return false;
    const Shape scores{q[0], q[1], q[2], k[2]};
    std::size_t next = 3;
    const auto is_over_scores = [&](const Result& one, DType kind) { return one.dtype == kind && broadcast(one.shape, scores) == scores; };
    if (form_.mask && !is_over_scores(x[next++], boolean)) return false;
    if (form_.bias && !is_over_scores(x[next++], dtype)) return false;
    for (int i = form_.lengths + form_.start; i > 0; --i)
      if (x[next++] != Result{{q[0]}, i64}) return false;
    for (int i = form_.dropout > 0 ? 2 : 0; i > 0; --i)
      if (x[next++] != Result{{}, i64}) return false;
    const Result o{{q[0], q[2], q[1], v[3]}, dtype}, sum{{q[0], q[1], q[2]}, sum_dtype(dtype)};
    if (!backward_) return node.results == std::vector{o, sum};
    if (x[next] != o || x[next + 1] != sum || x[next + 2] != o || (form_.sum_gradient && x[next + 3] != sum)) return false;
    const auto turned = [&](const Shape& heads) { return Result{{heads[0], heads[2], heads[1], heads[3]}, dtype}; };
    const Result parts[] = {turned(q), turned(k), turned(v), {scores, dtype}};
    return std::ranges::equal(node.results, parts);
  }

  const Composed* composed() const override { return this; }
  std::vector<Tensor> composition(std::span<const Tensor> inputs) const override {
    return backward_ ? plain_attention_gradients(form_, inputs) : plain_attention(form_, inputs);
  }
  bool is_call_of(const runtime::Device& device, std::span<const Tensor> inputs) const override {
    std::vector<Layout> layouts;
    for (const Tensor& x : inputs) layouts.push_back(Layout::dense(x.shape()));
    return !device.candidates(description(layouts, inputs[0].dtype())).empty();
  }
  const InTiles* in_tiles() const override { return this; }
  std::vector<TileWay> ways_in_tiles(const runtime::CallDescription&, const Operands& operands,
                                     const tile::TilePreference& tiles) const override {
    return attention_ways(form_, backward_, operands, tiles);
  }

  std::vector<Tensor> in_halves(DType half, const runtime::Device& device, std::span<const Tensor> inputs) const override {
    std::vector<Tensor> narrow;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_float_input = is_float(inputs[i].dtype());
      narrow.push_back(is_float_input ? graph::cast(inputs[i], input_dtype(static_cast<int>(i), half)) : inputs[i]);
    }
    std::vector<Tensor> results;
    if (is_call_of(device, narrow)) results = nodes(narrow, Line::current());
    else if (keeps_scores_in_tiles(device, narrow)) results = tiles(narrow, device);
    for (Tensor& result : results) result = graph::cast(result, f32);
    return results;
  }
  /// Nodes of this op over other inputs.
  virtual std::vector<Tensor> nodes(std::span<const Tensor> inputs, const Line& where) const = 0;
  /// The same as tile programs.
  virtual std::vector<Tensor> tiles(std::span<const Tensor> inputs, const runtime::Device& device) const = 0;

  bool accepts(const runtime::Device&, int index, const Layout& layout) const override {
    const Role role = role_of(index);
    if (role == Role::Scores) return true;
    return role == Role::Rows ? layout.shape.back() <= 1 || layout.strides[layout.shape.rank() - 1] == 1 : layout.is_dense();
  }
  /// Rows of heads: q, k, v, o and its gradient, and the gradients of the first three.
  bool takes_slice(const runtime::Device& device, int which, const SlicePlace& slice) const override {
    const Layout& layout = slice.layout;
    const bool rows = which <= kResult ? backward_ && static_cast<std::size_t>(kResult - which) < kGradients : role_of(which) == Role::Rows;
    return rows && layout.strides.back() == 1 && runs_are_aligned(slice, device.traits().layouts.alignment);
  }
  runtime::CallDescription describe(const Setting& setting) const override {
    runtime::Attention d = description(setting.inputs, setting.dtype);
    for (std::size_t k = 0; backward_ && k < kGradients; ++k) {
      if (!setting.results[k].is_dense()) d.gradients[k] = {setting.dtype, setting.results[k]};
    }
    return d;
  }
  DType input_dtype(int index, DType result) const override {
    if (role_of(index) == Role::Sums) return sum_dtype(result);
    return form_.mask && index == 3 ? boolean : result;
  }
  double operations(std::span<const Shape> inputs, const Shape&) const override {
    const double products = backward_ ? 5 : 2, scores = static_cast<double>(numel(inputs[0])) * static_cast<double>(inputs[1][2]);
    return 2 * products * scores * (form_.causal && inputs[0][2] > 1 ? 0.5 : 1);
  }
  /// For ops with one result only; attention's reference is its composition.
  void reference(std::span<const std::span<const double>>, std::span<const Shape>, std::span<double>, const Shape&) const override {}

 protected:
  /// True if tile programs are to compute it on a device without a call for it: the plain ops would hold all scores.
  bool keeps_scores_in_tiles(const runtime::Device& device, std::span<const Tensor> inputs) const {
    constexpr std::int64_t kLeast =
        64 * 64;  // fewer scores of a head are plain ops; the programs have blocks of so many, which are tiles of the device or too large
    if (!device.traits().many_instances || device.tiles().elements < kLeast) return false;
    if (inputs[0].shape()[2] * inputs[1].shape()[2] < kLeast || is_call_of(device, inputs)) return false;
    const Shape shapes[] = {inputs[0].shape(), inputs[1].shape(), inputs[2].shape()};
    const DType dtype = inputs[0].dtype();
    return backward_ ? describes_attention_tiles_backward(form_, shapes, dtype) : describes_attention_tiles(form_, shapes, dtype);
  }

  static constexpr std::size_t kGradients = 3;  // gradients of q, k and v
  enum class Role : std::uint8_t { Rows, Scores, Sums, Other };
  Role role_of(int index) const {
    if (index < 3) return Role::Rows;
    index -= 3;
    if (index < form_.mask + form_.bias) return Role::Scores;
    index -= form_.extras();
    if (index < 0) return Role::Other;
    return index % 2 == 0 ? Role::Rows : Role::Sums;  // o, sum, gradient of o, of sum
  }

  runtime::Attention description(std::span<const Layout> inputs, DType dtype) const {
    runtime::Attention d{.backward = backward_,
                         .q = {dtype, inputs[0]},
                         .k = {dtype, inputs[1]},
                         .v = {dtype, inputs[2]},
                         .scale = form_.scale,
                         .causal = form_.causal,
                         .window = form_.window,
                         .lengths = form_.lengths,
                         .start = form_.start,
                         .dropout = form_.dropout,
                         .sum_gradient = form_.sum_gradient};
    std::size_t next = 3;
    if (form_.mask) d.mask = runtime::Operand{boolean, inputs[next++]};
    if (form_.bias) d.bias = runtime::Operand{dtype, inputs[next++]};
    if (backward_) {
      const auto rest = static_cast<std::size_t>(3 + form_.extras());
      d.o = {dtype, inputs[rest]}, d.o_gradient = {dtype, inputs[rest + 2]};
    }
    return d;
  }

  AttentionForm form_;
  bool backward_;
};

class AttentionGradientOp final : public AnyAttention {
 public:
  explicit AttentionGradientOp(const AttentionForm& form) : AnyAttention(form, true) {}
  std::string_view name() const override { return "attention_backward"; }
  std::vector<Tensor> tiles(std::span<const Tensor> inputs, const runtime::Device&) const override {
    return attention_tiles_gradients(form_, inputs);
  }
  std::vector<Tensor> spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape&) const override {
    return keeps_scores_in_tiles(device, inputs) ? tiles(inputs, device) : std::vector<Tensor>();
  }
  std::vector<Tensor> nodes(std::span<const Tensor> inputs, const Line& where) const override {
    const Shape &q = inputs[0].shape(), &k = inputs[1].shape(), &v = inputs[2].shape();
    const DType dtype = inputs[0].dtype();
    const Result results[] = {{{q[0], q[2], q[1], q[3]}, dtype},
                              {{k[0], k[2], k[1], k[3]}, dtype},
                              {{v[0], v[2], v[1], v[3]}, dtype},
                              {{q[0], q[1], q[2], k[2]}, dtype}};
    return make_nodes(Ref<const Op>(new AttentionGradientOp(form_)), inputs, results, where);
  }
  /// Through the composition, which holds all scores.
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const override {
    std::vector<Tensor> inputs, results;
    // Tensors of their own: o and its sum depend on q, k and v, but this is the op's own function of each.
    for (const auto& input : y.inputs()) inputs.push_back(graph::identity(Tensor(input), y.origin().where));
    const std::vector<Tensor> plain = composition(inputs);
    std::vector<Tensor> given;
    std::vector<Wrt> xs;
    for (std::size_t k = 0; k < plain.size(); ++k) {
      if (dys[k].defined()) results.push_back(plain[k]), given.push_back(dys[k]);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i]) xs.emplace_back(inputs[i]);
    }
    const std::vector<Tensor> found = vjp_parts(results, given, xs, y.origin().where);
    std::vector<Tensor> out(inputs.size());
    for (std::size_t i = 0, next = 0; i < inputs.size(); ++i) {
      if (wanted[i]) out[i] = found[next++];
    }
    return out;
  }
};

class AttentionOp final : public AnyAttention {
 public:
  explicit AttentionOp(const AttentionForm& form) : AnyAttention(form, false) {}
  std::string_view name() const override { return "attention"; }
  std::vector<Tensor> tiles(std::span<const Tensor> inputs, const runtime::Device& device) const override {
    return attention_tiles_nodes(form_, inputs, device.tiles());
  }
  std::vector<Tensor> spelled_out(const runtime::Device& device, std::span<const Tensor> inputs, const Shape&) const override {
    if (auto few = attention_decode(form_, inputs, device)) return *few;
    return keeps_scores_in_tiles(device, inputs) ? tiles(inputs, device) : std::vector<Tensor>();
  }
  std::vector<Tensor> nodes(std::span<const Tensor> inputs, const Line& where) const override {
    const Shape &q = inputs[0].shape(), &v = inputs[2].shape();
    const DType dtype = inputs[0].dtype();
    const Result results[] = {{{q[0], q[2], q[1], v[3]}, dtype}, {{q[0], q[1], q[2]}, sum_dtype(dtype)}};
    return make_nodes(Ref<const Op>(new AttentionOp(form_)), inputs, results, where);
  }
  std::vector<Tensor> gradients(const Node& y, std::span<const Tensor> dys, const std::vector<bool>& wanted) const override {
    const auto& where = y.origin().where;
    const Tensor o = graph::part(y, 0), sums = graph::part(y, 1);
    AttentionForm form = form_;
    form.sum_gradient = dys[1].defined();
    std::vector<Tensor> inputs;
    for (const auto& input : y.inputs()) inputs.emplace_back(input);
    inputs.insert(inputs.end(), {o, sums, dys[0].defined() ? dys[0] : graph::full(o.shape(), 0, o.dtype(), where)});
    if (dys[1].defined()) inputs.push_back(dys[1]);
    const std::vector<Tensor> parts = AttentionGradientOp(form).nodes(inputs, where);
    std::vector<Tensor> out(wanted.size());
    for (std::size_t i = 0; i < 3; ++i) {
      if (wanted[i]) out[i] = graph::permute(parts[i], {0, 2, 1, 3}, where);
    }
    const std::size_t bias = form_.mask ? 4 : 3;
    if (form_.bias && wanted[bias]) out[bias] = parts[3];
    return out;
  }
};

}  // namespace

std::vector<Tensor> attention_nodes(const AttentionForm& form, std::span<const Tensor> inputs, const Line& where) {
  return AttentionOp(form).nodes(inputs, where);
}

}  // namespace tegula::ops

namespace tegula {

void add_attention_ops(OpTable& table) {
  table.add_several<ops::AttentionOp>("attention", OpTable::kAnyInputs, ops::AttentionForm());
  table.add_several<ops::AttentionGradientOp>("attention_backward", OpTable::kAnyInputs, ops::AttentionForm());
}

}  // namespace tegula
