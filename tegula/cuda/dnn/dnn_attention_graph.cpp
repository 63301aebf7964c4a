#include "tegula/cuda/dnn/dnn_attention_graph.h"

#include <utility>

namespace tegula::gpu {
namespace {

using runtime::Attention;

constexpr std::int64_t kWidest = 256;

/// A tensor between two operations, with its layout.
struct Value {
  const DnnDescriptor* tensor = nullptr;
  Layout layout;
};

Layout swapped(Layout x) {
  std::swap(x.shape[2], x.shape[3]);
  std::swap(x.strides[2], x.strides[3]);
  return x;
}

/// (B, M, H, E) in memory as (B, H, M, E).
Layout by_head(Layout x) {
  std::swap(x.shape[1], x.shape[2]);
  std::swap(x.strides[1], x.strides[2]);
  return x;
}

/// cuDNN recognises its attention by pattern, so the operations are those of its own front end, in the same order.
class Builder {
 public:
  Builder(const Dnn& dnn, const Attention& d)
      : d_(d),
        io_(dnn_type(d.dtype())),
        graph_(dnn, [](const DnnDescriptor&) { return true; }),
        rows_{d.q.layout.shape[0], d.q.layout.shape[1], d.q.layout.shape[2], 1},
        scores_{d.q.layout.shape[0], d.q.layout.shape[1], d.q.layout.shape[2], d.k.layout.shape[2]} {
    q_ = memory(AttentionTensor::Q, d.q.layout);
    k_ = memory(AttentionTensor::K, swapped(d.k.layout));
    v_ = memory(AttentionTensor::V, d.backward ? swapped(d.v.layout) : d.v.layout);
    if (!d.lengths) return;
    const Layout of_samples = Layout::dense({rows_[0], 1, 1, 1});
    queries_ = memory(AttentionTensor::Queries, of_samples, CUDNN_DATA_INT32);
    keys_ = memory(AttentionTensor::Keys, of_samples, CUDNN_DATA_INT32);
  }

  DnnGraph build() {
    d_.backward ? add_backward() : add_forward();
    graph_.finish();
    return std::move(graph_);
  }

 private:
  static std::int64_t id(AttentionTensor tensor) { return static_cast<std::int64_t>(tensor); }
  Value memory(AttentionTensor tensor, const Layout& layout, cudnnDataType_t type) {
    return {&graph_.add_tensor(id(tensor), layout, type), layout};
  }
  Value memory(AttentionTensor tensor, const Layout& layout) { return memory(tensor, layout, io_); }
  Value number(AttentionTensor tensor, cudnnDataType_t type = CUDNN_DATA_FLOAT) { return {&graph_.add_number(id(tensor), 4, type), {}}; }
  Value between(const Layout& layout, cudnnDataType_t type = CUDNN_DATA_FLOAT) { return {&graph_.add_virtual(layout, type), layout}; }
  Value between(const Shape& shape, cudnnDataType_t type = CUDNN_DATA_FLOAT) { return between(Layout::dense(shape), type); }

  /// y = a b; the sizes of each sample, where it has its own.
  void add_product(const Value& a, const Value& b, const Value& y, const Value& m, const Value& n, const Value& k) {
    DnnDescriptor options = graph_.descriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    options.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    DnnDescriptor operation = graph_.descriptor(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.tensor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.tensor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *y.tensor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, graph_.keep(std::move(options)));
    if (m.tensor) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, *m.tensor);
    if (n.tensor) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *n.tensor);
    if (k.tensor) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *k.tensor);
    graph_.add_operation(std::move(operation));
  }

  struct Pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    std::int64_t axis = -1;
  };
  void add_pointwise(const Pointwise& p, const Value& x, const Value& b, const Value& t, const Value& y) {
    DnnDescriptor options = graph_.descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    options.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &p.mode);
    options.set(CUDNN_ATTR_POINTWISE_MATH_PREC, p.compute);
    if (p.mode == CUDNN_POINTWISE_GEN_INDEX) options.set(CUDNN_ATTR_POINTWISE_AXIS, p.axis);
    DnnDescriptor operation = graph_.descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph_.keep(std::move(options)));
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.tensor);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.tensor);
    if (b.tensor) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b.tensor);
    if (t.tensor) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t.tensor);
    graph_.add_operation(std::move(operation));
  }
  /// A new value of x's shape.
  Value pointwise(const Pointwise& p, const Value& x, const Value& b = {}, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const Value y = between(x.layout, type);
    add_pointwise(p, x, b, {}, y);
    return y;
  }

  void add_reduction(cudnnReduceTensorOp_t op, const Value& x, const Value& y) {
    DnnDescriptor options = graph_.descriptor(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    options.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    options.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
    DnnDescriptor operation = graph_.descriptor(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, graph_.keep(std::move(options)));
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.tensor);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y.tensor);
    graph_.add_operation(std::move(operation));
  }
  Value of_rows(cudnnReduceTensorOp_t op, const Value& x) {
    const Value y = between(rows_);
    add_reduction(op, x, y);
    return y;
  }

  /// The same elements, another order.
  Value reshaped(const Value& x, const Layout& layout) {
    const Value y = between(layout, io_);
    DnnDescriptor operation = graph_.descriptor(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.tensor);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y.tensor);
    graph_.add_operation(std::move(operation));
    return y;
  }

  Value select(const Value& x, const Value& condition) {
    const Value y = between(x.layout);
    add_pointwise({CUDNN_POINTWISE_BINARY_SELECT}, x, nothing(), condition, y);
    return y;
  }
  Value nothing() {
    if (!nothing_.tensor) nothing_ = number(AttentionTensor::Nothing);
    return nothing_;
  }
  Value scale() {
    if (!scale_.tensor) scale_ = number(AttentionTensor::Scale);
    return scale_;
  }
  Value place(const Value& x, std::int64_t axis, cudnnDataType_t compute) {
    return pointwise({CUDNN_POINTWISE_GEN_INDEX, compute, axis}, x, {}, CUDNN_DATA_INT32);
  }

  Value scaled_scores() {
    const Value s = between(scores_);
    add_product(q_, k_, s, queries_, keys_, {});
    return pointwise({CUDNN_POINTWISE_MUL}, s, scale());
  }

  /// -inf for keys behind a sample's length.
  Value padded(const Value& s) {
    if (!d_.lengths) return s;
    const Pointwise less{CUDNN_POINTWISE_CMP_LT, CUDNN_DATA_BOOLEAN};
    const Value row = place(s, 2, CUDNN_DATA_INT32), column = place(s, 3, CUDNN_DATA_INT32);
    const Value in_rows = pointwise(less, row, queries_, CUDNN_DATA_BOOLEAN),
                in_columns = pointwise(less, column, keys_, CUDNN_DATA_BOOLEAN);
    return select(s, pointwise({CUDNN_POINTWISE_LOGICAL_AND, CUDNN_DATA_BOOLEAN}, in_rows, in_columns, CUDNN_DATA_BOOLEAN));
  }

  /// -inf for keys after a query's place and for those further away than the window.
  Value banded(const Value& whole) {
    Value s = whole;
    if (d_.causal || d_.window > 0) {
      Value row = place(s, 2, CUDNN_DATA_FLOAT);
      const Value column = place(s, 3, CUDNN_DATA_FLOAT);
      if (!d_.causal)
        row = pointwise({CUDNN_POINTWISE_ADD, CUDNN_DATA_INT32}, row, number(AttentionTensor::Right, CUDNN_DATA_INT32), CUDNN_DATA_INT32);
      s = select(s, pointwise({CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN}, row, column, CUDNN_DATA_BOOLEAN));
    }
    if (d_.window > 0) {
      const Value row = place(s, 2, CUDNN_DATA_FLOAT);
      const Value column = pointwise({CUDNN_POINTWISE_ADD}, place(s, 3, CUDNN_DATA_FLOAT), number(AttentionTensor::Left));
      s = select(s, pointwise({CUDNN_POINTWISE_CMP_GT, CUDNN_DATA_BOOLEAN}, column, row, CUDNN_DATA_BOOLEAN));
    }
    return s;
  }

  void add_forward() {
    const Shape &q = d_.q.layout.shape, &v = d_.v.layout.shape;
    const Value s = banded(padded(scaled_scores()));
    const Value greatest = of_rows(CUDNN_REDUCE_TENSOR_MAX, s);
    const Value e = pointwise({CUDNN_POINTWISE_EXP}, pointwise({CUDNN_POINTWISE_SUB}, s, greatest));
    const Value sum = of_rows(CUDNN_REDUCE_TENSOR_ADD, e);
    const Value log = pointwise({CUDNN_POINTWISE_LOG}, sum);
    add_pointwise({CUDNN_POINTWISE_ADD}, greatest, log, {}, memory(AttentionTensor::Sums, Layout::dense(rows_), CUDNN_DATA_FLOAT));
    const Value p = pointwise({CUDNN_POINTWISE_DIV}, e, sum, io_);
    add_product(p, v_, memory(AttentionTensor::O, by_head(Layout::dense({q[0], q[2], q[1], v[3]}))), queries_, {}, keys_);
  }

  /// A product of all query heads, summed over those that share a key.
  void add_key_gradient(const Value& weights, const Value& x, AttentionTensor tensor) {
    const Shape& k = d_.k.layout.shape;
    const std::int64_t width = x.layout.shape[3];
    const Value y = memory(tensor, by_head(d_.gradient(tensor == AttentionTensor::KGradient ? 1 : 2)));
    if (k[1] == rows_[1]) return add_product(weights, x, y, keys_, {}, queries_);
    const Value of_heads = between({k[0], rows_[1], k[2], width}, io_);
    add_product(weights, x, of_heads, keys_, {}, queries_);
    add_reduction(CUDNN_REDUCE_TENSOR_ADD, of_heads, y);
  }

  /// "FlashAttention", appendix B.2.
  void add_backward() {
    const Shape &q = d_.q.layout.shape, &v = d_.v.layout.shape;
    const Shape places{q[0], q[1], q[2], v[3]};
    const Value o = memory(AttentionTensor::O, by_head(d_.o.layout)),
                dy = memory(AttentionTensor::OGradient, by_head(d_.o_gradient.layout));
    const Value sums = memory(AttentionTensor::Sums, Layout::dense(rows_), CUDNN_DATA_FLOAT);
    const Value product = between({places, {q[1] * q[2] * v[3], q[2] * v[3], q[1] * v[3], 1}});
    add_pointwise({CUDNN_POINTWISE_MUL}, dy, o, {}, product);
    const Value means = memory(AttentionTensor::Means, Layout::dense(rows_), CUDNN_DATA_FLOAT);
    add_pointwise({CUDNN_POINTWISE_MUL}, of_rows(CUDNN_REDUCE_TENSOR_ADD, product), number(AttentionTensor::One), {}, means);

    const Value logs = banded(pointwise({CUDNN_POINTWISE_SUB}, padded(scaled_scores()), sums));
    const Value p = pointwise({CUDNN_POINTWISE_EXP}, logs);
    const Layout transposed = swapped(Layout::dense(scores_));
    add_key_gradient(reshaped(p, transposed), dy, AttentionTensor::VGradient);

    const Value dp = between(scores_);
    add_product(dy, v_, dp, queries_, keys_, {});
    const Value centred = pointwise({CUDNN_POINTWISE_MUL}, pointwise({CUDNN_POINTWISE_SUB}, dp, means), p);
    const Value ds = pointwise({CUDNN_POINTWISE_MUL}, centred, scale());
    add_key_gradient(reshaped(ds, transposed), q_, AttentionTensor::KGradient);

    const Value keys = reshaped(k_, d_.k.layout);
    const Value dq = memory(AttentionTensor::QGradientSum, Layout::dense(q), CUDNN_DATA_FLOAT);
    add_product(ds, keys, dq, queries_, {}, keys_);
    add_pointwise({CUDNN_POINTWISE_IDENTITY}, dq, {}, {}, memory(AttentionTensor::QGradient, by_head(d_.gradient(0))));
  }

  const Attention& d_;
  cudnnDataType_t io_;
  DnnGraph graph_;
  Shape rows_, scores_;
  Value q_, k_, v_, queries_, keys_, scale_, nothing_;
};

}  // namespace

bool describes_flash_attention(const Attention& d) {
  const Shape &q = d.q.layout.shape, &k = d.k.layout.shape, &v = d.v.layout.shape;
  const auto fits = [](std::int64_t width) { return width > 0 && width <= kWidest && width % 8 == 0; };
  if (!is_half(d.dtype()) || !fits(q[3]) || !fits(v[3]) || numel(q) == 0 || numel(k) == 0) return false;
  if (d.mask || d.bias || d.start || d.dropout > 0 || d.sum_gradient) return false;
  if (d.window > 0 && q[2] > k[2]) return false;
  return !d.backward || q[2] > 1 || k[2] > 1;
}

DnnGraph attention_graph(const Dnn& dnn, const Attention& description) { return Builder(dnn, description).build(); }

}  // namespace tegula::gpu
