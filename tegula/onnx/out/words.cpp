#include "tegula/onnx/out/words.h"

#include <unordered_map>

#include "tegula/graph/autodiff/custom_op.h"

namespace tegula::onnx {

/// Notes what an op says of itself.
struct Described::Each final : Attributes {
  explicit Each(Described& to) : described(to) { described.integers_.emplace_back(); }

  void put(std::string_view name, std::vector<std::int64_t> values) { described.integers_.back()[std::string(name)] = std::move(values); }
  void region(std::string_view, Ref<const Region>&) override {}
  void options(std::string_view, NamedOptions& values) override {
    for (auto& [key, value] : values) {
      if (auto* const list = std::get_if<std::vector<std::int64_t>>(&value)) put(key, *list);
      else if (auto* const whole = std::get_if<std::int64_t>(&value)) put(key, {*whole});
      else if (auto* const yes = std::get_if<bool>(&value)) put(key, {*yes});
      else if (auto* const number = std::get_if<double>(&value)) described.reals_[key] = *number;
      else described.texts_[key] = std::get<std::string>(value);
    }
  }
  void variant(std::uint64_t) override {}
  void flag(std::string_view name, bool& value) override { put(name, {value}); }
  void integer(std::string_view name, std::int64_t& value) override { put(name, {value}); }
  void number(std::string_view name, Number& value) override { described.reals_[std::string(name)] = value.real(); }
  void dims(std::string_view name, Dims& value) override { put(name, {value.begin(), value.end()}); }
  void list(std::string_view name, std::vector<std::int64_t>& value) override { put(name, value); }
  void text(std::string_view name, std::string& value) override { described.texts_[std::string(name)] = value; }
  void one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) override {
    described.texts_[std::string(name)] = names[index];
  }
  bool presence(std::string_view, bool present) override { return present; }

  Described& described;
};

Described::Described(const GraphWriter& graph, int node) : graph_(graph), node_(node) {
  for (std::size_t trace = 0; trace < graph.traces().size(); ++trace) {
    Each each(*this);
    graph.node(node, trace).op->visit(each);
  }
}

bool Described::has(std::string_view name) const { return integers_[0].contains(name) || reals_.contains(name) || texts_.contains(name); }

std::vector<std::int64_t> Described::integers(std::string_view name) const {
  const auto& first = integers_[0].find(name)->second;
  for (const auto& trace : integers_)
    if (trace.find(name)->second != first) graph_.refuse(node_, "whose " + std::string(name) + " depends on the size of an open axis");
  return first;
}

Sizes Described::sizes(std::string_view name) const {
  Sizes out;
  std::vector<std::int64_t> values(integers_.size());
  for (std::size_t k = 0; k < integers_[0].find(name)->second.size(); ++k) {
    for (std::size_t t = 0; t < integers_.size(); ++t) values[t] = integers_[t].find(name)->second.at(k);
    const auto size = graph_.traces().size() == 1 ? std::optional<Size>(values[0]) : graph_.open_sizes().common(values);
    if (!size) graph_.refuse(node_, "whose " + std::string(name) + " depends on the size of an open axis");
    out.push_back(*size);
  }
  return out;
}

double Described::real(std::string_view name) const { return reals_.find(name)->second; }
std::string Described::text(std::string_view name) const { return texts_.find(name)->second; }

bool Site::numbers_fit() const {
  for (std::size_t i = 0; i < size(); ++i) {
    const auto given = number(i);
    const DType dtype = input(i).dtype;
    if (!given || is_float(dtype) || dtype == boolean) continue;
    const bool fits = visit(dtype, [&](auto zero) { return as_double(given->as<decltype(zero)>()) == given->real(); });
    if (!fits) return false;
  }
  return true;
}

void Site::give_elementwise(std::string value, std::uint64_t reads) {
  Sizes sizes;  // what the loose inputs broadcast to
  for (std::size_t i = 0; i < size(); ++i) {
    if (i < 64 && !(reads >> i & 1)) continue;
    const Sizes& one = graph_.loose_sizes(in_node(i));
    if (one.size() > sizes.size()) sizes.insert(sizes.begin(), one.size() - sizes.size(), Size(1));
    for (std::size_t axis = 0; axis < one.size(); ++axis) {
      Size& to = sizes[sizes.size() - one.size() + axis];
      if (to == Size(1)) to = one[axis];
    }
  }
  graph_.give_loose(node_, std::move(value), std::move(sizes));
}

bool fits_attribute(DType dtype, double number) { return dtype != f64 || static_cast<double>(static_cast<float>(number)) == number; }

const Word* find_word(const Op& op) {
  static const auto* const all = [] {
    auto* const out = new std::unordered_map<std::string_view, const Word*>;
    for (const WordList some : {elementwise_words(), shape_words(), index_words(), row_words(), product_words(), normalization_words(),
                                attention_words(), loop_words()})
      for (const Word& one : some) out->emplace(one.op, &one);
    return out;
  }();
  const bool is_custom = CustomOp::of(op) != nullptr;
  const auto found = all->find(is_custom ? op.name() : op.class_name());
  return found != all->end() && found->second->is_composite == is_custom ? found->second : nullptr;
}

}  // namespace tegula::onnx
