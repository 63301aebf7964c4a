#include "tegula/ops/rows/label.h"

#include "tegula/graph/op_table.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/op_families.h"
#include "tegula/tile/builder.h"

namespace tegula::ops {
namespace {

constexpr std::int64_t kPyTorchIgnores = -100;  // without being asked

/// (value, labels, anchor) -> value. The anchor is a value of the loss's own group, so that the check of a gradient runs there too and
/// costs no pass of its own.
class CheckLabelsOp final : public ElementwiseOp {
 public:
  CheckLabelsOp(std::string op, const Classes& classes) : op_(std::move(op)), classes_(classes) {}
  std::string_view name() const override { return "check_labels"; }
  std::string_view check_name() const override { return op_; }
  bool has_check() const override { return true; }
  void attributes(Attributes& a) override {
    a("of", op_);
    a("classes", classes_.count);
    a("ignored", classes_.ignored);
  }
  tile::Value emit(tile::Builder& builder, std::span<const tile::Value> x, DType) const override {
    tile::Value fine = x[1] >= 0 && x[1] < static_cast<double>(classes_.count);
    if (classes_.ignored) fine = fine || x[1] == builder.constant(*classes_.ignored, DType::i64);
    builder.check(fine, x[1], 0);
    return x[0];
  }
  double reference(std::span<const double> x) const override { return x[0]; }
  std::string check_message(std::int64_t, std::int64_t label) const override {
    std::string text = "label " + std::to_string(label) + ", expected one in [0, " + std::to_string(classes_.count) + ")";
    if (classes_.ignored) text += " or ignore_index " + std::to_string(*classes_.ignored);
    else if (label == kPyTorchIgnores) text += "; to leave such samples out, set .ignore_index = " + std::to_string(label);
    return text;
  }
  std::vector<Tensor> gradient(const Node& y, const Tensor& dy, const std::vector<bool>&) const override {
    return {make_node(Ref<const Op>(new CheckLabelsOp(op_, classes_)), {dy, Tensor(y.inputs()[1]), Tensor(y.inputs()[0])}, dy.shape(),
                      dy.dtype(), y.origin().where),
            Tensor(), Tensor()};
  }

 private:
  std::string op_;
  Classes classes_;
};

class CheckRangeOp final : public ElementwiseOp {
 public:
  CheckRangeOp(std::string_view op, std::int64_t least, std::int64_t most, std::string_view complaint, std::string_view advice)
      : op_(op),
        complaint_(complaint),
        advice_(advice),
        least_(least),
        most_(most) {}
  std::string_view name() const override { return "range"; }
  std::string_view check_name() const override { return op_; }
  bool has_check() const override { return true; }
  void attributes(Attributes& a) override {
    a("of", op_);
    a("least", least_);
    a("most", most_);
    a("complaint", complaint_);
    a("advice", advice_);
  }
  tile::Value emit(tile::Builder& builder, std::span<const tile::Value> x, DType) const override {
    builder.check(x[0] >= builder.constant(least_, i64) && x[0] <= builder.constant(most_, i64), x[0], 0);
    return x[0];
  }
  double reference(std::span<const double> x) const override { return x[0]; }
  std::string check_message(std::int64_t, std::int64_t value) const override {
    std::string text = complaint_;
    if (const std::size_t at = text.find("%d"); at != std::string::npos) text.replace(at, 2, std::to_string(value));
    return text;
  }
  std::string check_advice() const override { return advice_.empty() ? ElementwiseOp::check_advice() : advice_; }

 private:
  std::string op_, complaint_, advice_;
  std::int64_t least_, most_;
};

}  // namespace

Tensor check_range(std::string_view op, const Tensor& values, std::int64_t least, std::int64_t most, std::string_view complaint,
                   const Line& where, std::string_view advice) {
  return make_node(Ref<const Op>(new CheckRangeOp(op, least, most, complaint, advice)), {graph::cast(values, i64, where)}, values.shape(),
                   i64, where);
}

Tensor check_lengths(std::string_view op, const Tensor& lengths, std::int64_t most, std::string_view things, const Line& where) {
  return check_range(op, lengths, 0, most, "a length of %d, expected 0 to the " + std::to_string(most) + " " + std::string(things), where);
}

Tensor check_labels(std::string_view op, const Tensor& x, const Tensor& labels, const Classes& classes, const Line& where) {
  return make_node(Ref<const Op>(new CheckLabelsOp(std::string(op), classes)), {x, labels, x}, x.shape(), x.dtype(), where);
}

Tensor one_hot_mask(const Tensor& labels, const Shape& shape, const Line& where) {
  Layout along_classes{shape, Dims::filled(shape.rank(), 0), 0};
  along_classes.strides[1] = 1;
  Shape kept = labels.shape();
  kept.insert(1, 1);
  return graph::reshape(labels, kept, where) == graph::index(along_classes, where);
}

}  // namespace tegula::ops

namespace tegula {

void add_label_ops(OpTable& table) {
  table.add_class<ops::CheckLabelsOp>("check_labels", 3, std::string(), ops::Classes());
  table.add_class<ops::CheckRangeOp>("range", 1, "", 0, 0, "", "");
}

}  // namespace tegula
