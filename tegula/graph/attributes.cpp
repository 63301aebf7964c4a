#include "tegula/graph/attributes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <typeinfo>

#include "tegula/graph/op.h"
#include "tegula/graph/regions/region.h"
#include "tegula/graph/structural.h"

namespace tegula {
namespace {

/// Writes the values in the order of their declaration, one word or a count and words; names are left out, for the order identifies them.
class Key final : public Attributes {
 public:
  explicit Key(Words& words) : words_(words) {}

 private:
  void variant(std::uint64_t value) override { words_.push_back(value); }
  void flag(std::string_view, bool& value) override { words_.push_back(value); }
  void integer(std::string_view, std::int64_t& value) override { words_.push_back(static_cast<std::uint64_t>(value)); }
  void number(std::string_view, Number& value) override {  // an integer and the double next to it are two numbers
    words_.push_back(value.bits(DType::f64));
    words_.push_back(value.bits(DType::u64));
  }
  void dims(std::string_view, Dims& value) override { append(words_, value); }
  void list(std::string_view, std::vector<std::int64_t>& value) override {
    words_.push_back(value.size());
    for (const std::int64_t one : value) words_.push_back(static_cast<std::uint64_t>(one));
  }
  void text(std::string_view, std::string& value) override { append_text(value); }
  void append_text(std::string_view value) {
    words_.push_back(value.size());
    for (; !value.empty(); value.remove_prefix(std::min<std::size_t>(8, value.size()))) {
      std::uint64_t word = 0;
      std::memcpy(&word, value.data(), std::min<std::size_t>(8, value.size()));
      words_.push_back(word);
    }
  }
  void one_of(std::string_view, std::size_t& index, std::span<const std::string_view>) override { words_.push_back(index); }
  bool presence(std::string_view, bool present) override {
    words_.push_back(present);
    return present;
  }
  void region(std::string_view, Ref<const Region>& value) override {
    words_.insert(words_.end(), value->key().begin(), value->key().end());
  }
  void options(std::string_view, NamedOptions& values) override {
    words_.push_back(values.size());
    for (auto& [name, value] : values) {
      append_text(name);
      words_.push_back(value.index());
      std::visit(
          [&](auto& held) {
            using T = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::is_same_v<T, std::string>) append_text(held);
            else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) list({}, held);
            else if constexpr (std::is_same_v<T, double>) words_.push_back(std::bit_cast<std::uint64_t>(held));
            else words_.push_back(static_cast<std::uint64_t>(held));
          },
          value);
    }
  }

  Words& words_;
};

std::string text_of(const Number& value) {
  char text[32];
  if (value.real() == std::trunc(value.real()) && std::fabs(value.real()) >= 1e6 && value.fits_i64()) {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value.integer()));
  } else {
    std::snprintf(text, sizeof text, "%g", value.real());
  }
  return text;
}

std::string text_of(std::span<const std::int64_t> values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return "(" + text + (values.size() == 1 ? ",)" : ")");
}

class Texts final : public Attributes {
 public:
  std::vector<Attribute> found;

 private:
  void add(std::string_view name, std::string value) { found.push_back({std::string(name), std::move(value)}); }
  void variant(std::uint64_t) override {}
  void flag(std::string_view name, bool& value) override { add(name, value ? "true" : "false"); }
  void integer(std::string_view name, std::int64_t& value) override { add(name, std::to_string(value)); }
  void number(std::string_view name, Number& value) override { add(name, text_of(value)); }
  void dims(std::string_view name, Dims& value) override { add(name, text_of({value.begin(), static_cast<std::size_t>(value.rank())})); }
  void list(std::string_view name, std::vector<std::int64_t>& value) override { add(name, text_of(value)); }
  void text(std::string_view name, std::string& value) override { add(name, value); }
  void one_of(std::string_view name, std::size_t& index, std::span<const std::string_view> names) override {
    add(name, std::string(names[index]));
  }
  bool presence(std::string_view, bool present) override { return present; }
  void region(std::string_view, Ref<const Region>&) override {}
  void options(std::string_view, NamedOptions& values) override {
    for (auto& [name, value] : values) {
      std::visit(
          [&, &named = name](auto& held) {
            using T = std::remove_cvref_t<decltype(held)>;
            if constexpr (std::is_same_v<T, bool>) flag(named, held);
            else if constexpr (std::is_same_v<T, double>) add(named, text_of(Number(held)));
            else if constexpr (std::is_same_v<T, std::string>) add(named, held);
            else if constexpr (std::is_same_v<T, std::int64_t>) add(named, std::to_string(held));
            else list(named, held);
          },
          value);
    }
  }
};

}  // namespace

void append(Words& key, const Dims& dims) {
  key.push_back(static_cast<std::uint64_t>(dims.rank()));
  for (const std::int64_t d : dims) key.push_back(static_cast<std::uint64_t>(d));
}

void append(Words& key, const Op& op) {
  key.push_back(reinterpret_cast<std::uint64_t>(&typeid(op)));  // names are for people and files: comparing them would cost more
  Key reader(key);
  op.visit(reader);
}

std::vector<Attribute> attributes_of(const Op& op) {
  Texts texts;
  op.visit(texts);
  return std::move(texts.found);
}

std::string description(const Op& op) {
  if (const auto* scalar = dynamic_cast<const ScalarOp*>(&op)) return text_of(scalar->value());
  std::string text;
  for (const Attribute& attribute : attributes_of(op)) text += (text.empty() ? "" : ", ") + attribute.name + "=" + attribute.value;
  return text;
}

std::string difference(const Op& a, const Op& b) {
  const std::vector<Attribute> was = attributes_of(a), is = attributes_of(b);
  std::string text;
  const auto add = [&](const std::string& name, const std::string& first, const std::string& second) {
    text += (text.empty() ? "" : "; ") + name + ": " + first + ", then " + second;
  };
  const auto value_in = [](const std::vector<Attribute>& list, const std::string& name) {
    const auto found = std::ranges::find(list, name, &Attribute::name);
    return found == list.end() ? std::string("none") : found->value;
  };
  for (const Attribute& attribute : was)
    if (const std::string now = value_in(is, attribute.name); now != attribute.value) add(attribute.name, attribute.value, now);
  for (const Attribute& attribute : is)
    if (std::ranges::find(was, attribute.name, &Attribute::name) == was.end()) add(attribute.name, "none", attribute.value);
  return text;
}

}  // namespace tegula
