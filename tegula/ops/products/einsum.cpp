#include "tegula/ops/products/einsum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/ops/case.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/wide.h"
#include "tegula/ops/products/matmul.h"
#include "tegula/ops/promote.h"
#include "tegula/ops/shape/shape.h"

namespace tegula {
namespace {

/// The name of an axis: a letter, or below 0 an axis of the ellipsis, counted from its end.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kDots = 0;  // "..." in an equation, before it is known how many axes it stands for

bool contains(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
std::int64_t count_of(const Labels& labels, Label label) { return std::count(labels.begin(), labels.end(), label); }

std::string word(Label label) {
  return label < 0 ? "axis " + std::to_string(label) + " of the \"...\"" : "letter '" + std::string(1, static_cast<char>(label)) + "'";
}

/// A tensor and the labels of its axes, no label twice.
struct Term {
  Tensor x;
  Labels labels;
  int axis(Label label) const { return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin()); }
};

class Summation {
 public:
  Summation(std::string_view equation, const std::vector<Tensor>& operands, const Line& where) : equation_(equation), where_(where) {
    parse();
    if (inputs_.size() != operands.size()) {
      refuse(std::to_string(operands.size()) + " operands", std::to_string(inputs_.size()) + ", one for each group of letters");
    }
    for (std::size_t i = 0; i < operands.size(); ++i) name_axes(i, operands[i].shape());
    name_result();
    for (std::size_t i = 0; i < operands.size(); ++i) terms_.push_back(term(i, operands[i]));
  }

  Tensor compute() {
    while (terms_.size() > 1) {
      std::size_t first = 0, second = 1;
      double least = cost(0, 1);
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        for (std::size_t j = i + 1; j < terms_.size(); ++j) {
          if (const double c = cost(i, j); c < least) least = c, first = i, second = j;
        }
      }
      const Term a = terms_[first], b = terms_[second];
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(first));
      terms_.push_back(product(a, b));
    }
    const Term last = terms_[0];
    terms_.clear();
    return arranged(summed(last, {}), result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const {
    ops::refuse("einsum", got + " for \"" + std::string(equation_) + "\"", expected, where_);
  }

  // --- The equation ---

  void parse() {
    std::string text;
    for (const char c : equation_) {
      if (c != ' ') text += c;
    }
    const std::size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    for (std::size_t begin = 0; begin <= left.size();) {
      const std::size_t end = std::min(left.find(',', begin), left.size());
      inputs_.push_back(group(std::string_view(left).substr(begin, end - begin)));
      begin = end + 1;
    }
    if (arrow != std::string::npos) {
      result_ = group(std::string_view(text).substr(arrow + 2));
      has_result_ = true;
    }
  }

  Labels group(std::string_view text) const {
    Labels labels;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        labels.push_back(c);
      } else if (text.substr(i, 3) == "..." && !contains(labels, kDots)) {
        labels.push_back(kDots);
        i += 2;
      } else {
        refuse("'" + std::string(1, c) + "'",
               "letters, and at most one \"...\" in each group; a comma between operands, one \"->\" before the result");
      }
    }
    return labels;
  }

  /// "..." of operand i as many labels, and the sizes of all.
  void name_axes(std::size_t i, const Shape& shape) {
    Labels& labels = inputs_[i];
    const auto letters = static_cast<int>(labels.size()) - (contains(labels, kDots) ? 1 : 0), dots = shape.rank() - letters;
    if (dots < 0 || (dots > 0 && !contains(labels, kDots))) {
      refuse("operand " + std::to_string(i) + " of shape " + to_string(shape), std::to_string(letters) +
                                                                                   (contains(labels, kDots) ? " axes or more"
                                                                                    : letters == 1          ? " axis"
                                                                                                            : " axes") +
                                                                                   ", one for each letter");
    }
    if (const auto at = std::find(labels.begin(), labels.end(), kDots); at != labels.end()) {
      Labels axes;
      for (int k = dots; k >= 1; --k) axes.push_back(-k);
      labels.insert(labels.erase(at), axes.begin(), axes.end());
    }
    dots_ = std::max(dots_, dots);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Label label = labels[static_cast<std::size_t>(axis)];
      Size& known = sizes_.try_emplace(label, Size{shape[axis], i}).first->second;
      if (known.size != shape[axis] && known.size != 1 && shape[axis] != 1) {
        refuse(word(label) + " of size " + std::to_string(known.size) + " in operand " + std::to_string(known.operand) + " and " +
                   std::to_string(shape[axis]) + " in operand " + std::to_string(i),
               "one size for each letter");
      }
      if (known.size == 1) known = {shape[axis], i};
    }
  }

  void name_result() {
    Labels dots;
    for (int k = dots_; k >= 1; --k) dots.push_back(-k);
    if (!has_result_) {
      std::map<Label, std::int64_t> occurrences;
      for (const Labels& labels : inputs_) {
        for (const Label label : labels) ++occurrences[label];
      }
      result_ = dots;
      for (const auto& [label, times] : occurrences) {
        if (label > 0 && times == 1) result_.push_back(label);
      }
    } else if (const auto at = std::find(result_.begin(), result_.end(), kDots); at != result_.end()) {
      result_.insert(result_.erase(at), dots.begin(), dots.end());
    }
    for (const Label label : result_) {
      if (!sizes_.contains(label)) refuse(word(label) + " in the result", "letters that an operand has");
      if (count_of(result_, label) > 1) refuse(word(label) + " twice in the result", "each letter once");
    }
    if (static_cast<int>(result_.size()) > kMaxRank) refuse("a result of " + std::to_string(result_.size()) + " axes", "at most 8");
  }

  /// Operand i with its diagonals taken and without axes of size 1 that broadcast.
  Term term(std::size_t i, const Tensor& x) const {
    Term out{x, inputs_[i]};
    for (std::size_t k = 0; k < out.labels.size();) {
      const Label label = out.labels[k];
      const auto again = std::find(out.labels.begin() + static_cast<std::ptrdiff_t>(k) + 1, out.labels.end(), label);
      if (again == out.labels.end()) {
        ++k;
        continue;
      }
      const auto row = static_cast<int>(k), column = static_cast<int>(again - out.labels.begin());
      if (out.x.shape()[row] != out.x.shape()[column]) {
        refuse(word(label) + " of sizes " + std::to_string(out.x.shape()[row]) + " and " + std::to_string(out.x.shape()[column]) +
                   " in operand " + std::to_string(i),
               "one size for each letter");
      }
      out.x = diagonal(out.x, 0, row, column);
      out.labels.erase(again);
      out.labels.erase(out.labels.begin() + static_cast<std::ptrdiff_t>(k));
      out.labels.push_back(label);
    }
    Shape kept;
    Labels labels;
    for (std::size_t k = 0; k < out.labels.size(); ++k) {
      const std::int64_t size = out.x.shape()[static_cast<int>(k)];
      if (size != size_of(out.labels[k])) continue;
      kept.push_back(size);
      labels.push_back(out.labels[k]);
    }
    return {graph::reshape(out.x, kept, where_), labels};
  }

  // --- The products ---

  std::int64_t size_of(Label label) const { return sizes_.at(label).size; }
  std::int64_t size_of(const Labels& labels) const {
    std::int64_t size = 1;
    for (const Label label : labels) size *= size_of(label);
    return size;
  }
  double cost(std::size_t i, std::size_t j) const {
    double product = 1;
    for (const Label label : terms_[i].labels) product *= static_cast<double>(size_of(label));
    for (const Label label : terms_[j].labels) {
      if (!contains(terms_[i].labels, label)) product *= static_cast<double>(size_of(label));
    }
    return product;
  }
  /// True if the result or a later term names it.
  bool is_needed(Label label) const {
    return contains(result_, label) ||
           std::any_of(terms_.begin(), terms_.end(), [&](const Term& other) { return contains(other.labels, label); });
  }

  /// The term summed over the axes that `beside` lacks and that are not needed later.
  Term summed(const Term& t, const Labels& beside) const {
    Dims axes;
    Labels kept;
    for (std::size_t k = 0; k < t.labels.size(); ++k) {
      const Label label = t.labels[k];
      if (contains(beside, label) || is_needed(label)) kept.push_back(label);
      else axes.push_back(static_cast<int>(k));
    }
    if (axes.empty()) return t;
    return {graph::sum(t.x, axes, where_), kept};
  }

  /// The axes of t in this order; those it lacks have size 1.
  Tensor arranged(const Term& t, const Labels& labels) const {
    Dims order;
    Shape shape;
    for (const Label label : labels) {
      const bool has = contains(t.labels, label);
      if (has) order.push_back(t.axis(label));
      shape.push_back(has ? size_of(label) : 1);
    }
    return graph::reshape(graph::permute(t.x, order, where_), shape, where_);
  }

  static Labels joined(std::initializer_list<Labels> parts) {
    Labels out;
    for (const Labels& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  }

  Term product(const Term& left, const Term& right) const {
    const Term a = summed(left, right.labels), b = summed(right, left.labels);
    Labels batch, contracted, rows, columns;
    for (const Label label : a.labels) {
      if (!contains(b.labels, label)) rows.push_back(label);
      else (is_needed(label) ? batch : contracted).push_back(label);
    }
    for (const Label label : b.labels) {
      if (!contains(a.labels, label)) columns.push_back(label);
    }
    const Labels labels = joined({batch, rows, columns});
    if (static_cast<int>(labels.size() + contracted.size()) > kMaxRank) {
      refuse(std::to_string(labels.size() + contracted.size()) + " axes in a product of two operands", "at most 8");
    }
    if (contracted.empty()) return {arranged(a, labels) * arranged(b, labels), labels};
    if (rows.empty() && columns.empty()) {
      const Labels all = joined({batch, contracted});
      Dims axes;
      for (std::size_t k = batch.size(); k < all.size(); ++k) axes.push_back(static_cast<int>(k));
      const Tensor sums = graph::sum(ops::widen(arranged(a, all)) * ops::widen(arranged(b, all)), axes, where_);
      return {ops::narrow(sums, a.x.dtype()), batch};
    }
    Shape left_shape, right_shape, shape;
    if (!batch.empty()) left_shape = right_shape = {size_of(batch)};
    const std::int64_t inner = size_of(contracted);
    left_shape.push_back(size_of(rows)), left_shape.push_back(inner);
    right_shape.push_back(inner), right_shape.push_back(size_of(columns));
    for (const Label label : labels) shape.push_back(size_of(label));
    const Tensor y = matmul(graph::reshape(arranged(a, joined({batch, rows, contracted})), left_shape, where_),
                            graph::reshape(arranged(b, joined({batch, contracted, columns})), right_shape, where_));
    return {graph::reshape(y, shape, where_), labels};
  }

  struct Size {
    std::int64_t size;
    std::size_t operand;
  };
  std::string_view equation_;
  const Line& where_;
  std::vector<Labels> inputs_;
  Labels result_;
  bool has_result_ = false;
  int dots_ = 0;
  std::map<Label, Size> sizes_;
  std::vector<Term> terms_;
};

Tensor einsum_of(std::string_view equation, std::span<const Arg> operands, const Line& where) {
  const In frame("einsum", where);
  const DType dtype = operands.empty() ? f32 : result_type("einsum", operands);
  if (dtype == boolean) ops::refuse("einsum", "booleans", "numbers", where, "cast them to f32 or i64");
  std::vector<Tensor> xs;
  for (const Arg& x : operands) xs.push_back(graph::cast(x.tensor("einsum"), dtype, where));
  const Tensor y = Summation(equation, xs, where).compute();
  return operands.size() == 1 ? graph::distinct(y, operands[0].tensor("einsum"), where) : y;
}

}  // namespace

Tensor einsum(std::string_view equation, std::initializer_list<Arg> operands) {
  return einsum_of(equation, std::span(operands.begin(), operands.size()), operands.size() > 0 ? operands.begin()->loc : Line{});
}

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands, Line where) {
  std::vector<Arg> args;
  for (const Tensor& x : operands) args.emplace_back(x, where);
  return einsum_of(equation, args, where);
}

std::vector<OpCase> einsum_cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string equation, std::vector<Shape> shapes, std::vector<std::vector<Shape>> more = {}) {
    std::vector<CaseInput> inputs;
    for (const Shape& shape : shapes) inputs.push_back({shape});
    cases.push_back({.op = "einsum",
                     .function = [=](const auto& x) { return einsum(equation, x); },
                     .inputs = std::move(inputs),
                     .dtypes = kNumbers,
                     .more_shapes = std::move(more),
                     .tolerance = 256});
  };
  add("ij,jk->ik", {{5, 7}, {7, 3}}, {{{1, 1}, {1, 1}}, {{0, 7}, {7, 3}}, {{5, 0}, {0, 3}}, {{33, 65}, {65, 17}}, {{5, 1}, {7, 3}}});
  add("bhid,bhjd->bhij", {{2, 3, 5, 4}, {2, 3, 7, 4}}, {{{2, 1, 5, 4}, {2, 3, 7, 4}}});
  add("bij,jk", {{3, 5, 4}, {4, 2}});
  add("i,i", {{33}, {33}}, {{{0}, {0}}});
  add("...i,...i->...", {{2, 5, 7}, {5, 7}}, {{{7}, {3, 7}}});
  add("i,j->ij", {{5}, {7}});
  add("ij->j", {{5, 7}}, {{{0, 7}}});
  add("ii->i", {{5, 5}});
  add("ij->ji", {{5, 7}});
  add("...ij,...jk", {{3, 1, 4, 2}, {5, 2, 3}});
  add("ab,bcd,de->ace", {{3, 4}, {4, 2, 5}, {5, 3}});
  add("bi,oij,bj->bo", {{3, 4}, {2, 4, 5}, {3, 5}});
  return cases;
}

}  // namespace tegula
