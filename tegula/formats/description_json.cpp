#include "tegula/formats/description_json.h"

#include <limits>
#include <stdexcept>
#include <type_traits>

#include "tegula/core/error.h"
#include "tegula/runtime/call_fields.h"
#include "tegula/tile/ir.h"

namespace tegula::formats {
namespace {

using nlohmann::json;

/// Has fields of its own (call_fields.h).
struct Nobody {
  template <class T>
  void operator()(const char*, T&) {}
};
template <class T>
constexpr bool kHasFields = requires(Nobody nobody, T& value) { fields(nobody, value); };

/// A list of what has fields.
template <class T>
constexpr bool kIsList =
    std::is_same_v<T, std::vector<runtime::Expression::Value>> || std::is_same_v<T, std::vector<runtime::GroupedSum::Lines>>;

std::vector<std::int64_t> numbers(const Dims& dims) { return {dims.begin(), dims.end()}; }

/// Writes each field under its name.
struct Writer {
  json out = json::object();
  template <class T>
  void operator()(const char* name, T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
      out[name] = value;
    } else if constexpr (std::is_same_v<T, DType>) {
      out[name] = std::string(tegula::name(value));
    } else if constexpr (std::is_same_v<T, Layout>) {
      out[name] = layout_json(value);
    } else if constexpr (std::is_same_v<T, std::optional<runtime::Operand>>) {
      if (value) (*this)(name, *value);
    } else if constexpr (std::is_same_v<T, tile::Word>) {
      out[name] = std::string(tile::name(value));
    } else if constexpr (std::is_enum_v<T>) {
      out[name] = static_cast<int>(value);
    } else if constexpr (std::is_same_v<T, std::array<std::int32_t, 3>>) {
      out[name] = value;
    } else if constexpr (kIsList<T>) {
      out[name] = json::array();
      for (auto& one : value) {
        Writer inner;
        fields(inner, one);
        out[name].push_back(std::move(inner.out));
      }
    } else if constexpr (kHasFields<T>) {
      Writer inner;
      fields(inner, value);
      out[name] = std::move(inner.out);
    } else {
      out[name] = numbers(value);
    }
  }
};

/// Assigns each field the value under its name. The maker of the call checks sizes and values.
struct Reader {
  const json& given;
  const JsonReader& reader;
  std::int64_t earlier = 0;  // of a value of an expression: how many stand before it, which may be its operands
  template <class T>
  void operator()(const char* name, T& value) {
    if constexpr (std::is_same_v<T, std::optional<runtime::Operand>>) {
      if (given.is_object() && given.contains(name)) (*this)(name, value.emplace());
      return;
    }
    const json& one = reader.at(given, name);
    if constexpr (std::is_same_v<T, bool>) value = reader.flag(one);
    else if constexpr (std::is_same_v<T, std::int64_t>) value = reader.whole(one);
    else if constexpr (std::is_same_v<T, double>) value = reader.real(one);
    else if constexpr (std::is_same_v<T, DType>) value = reader.dtype(one);
    else if constexpr (std::is_same_v<T, Layout>) value = layout_from_json(one, reader);
    else if constexpr (std::is_same_v<T, tile::Word>) value = word_of(one);
    else if constexpr (std::is_enum_v<T>) value = static_cast<T>(reader.whole(one, 0, last_of(value)));
    else if constexpr (std::is_same_v<T, Dims>) value = reader.dims(one);
    else if constexpr (std::is_same_v<T, std::array<std::int32_t, 3>>) {
      const json& list = reader.list(one, value.size());
      for (std::size_t k = 0; k < value.size(); ++k) value[k] = static_cast<std::int32_t>(reader.whole(list[k], -1, earlier - 1));
    } else if constexpr (kIsList<T>) {
      for (const json& written : reader.list(one)) {
        Reader inner{written, reader, static_cast<std::int64_t>(value.size())};
        fields(inner, value.emplace_back());
      }
    } else if constexpr (kHasFields<T>) {
      Reader inner{one, reader};
      fields(inner, value);
    }
  }
  tile::Word word_of(const json& said) const {
    const std::string text = reader.text(said);
    for (int i = 0; i <= static_cast<int>(tile::Word::RegionParameter); ++i)
      if (tile::name(static_cast<tile::Word>(i)) == text) return static_cast<tile::Word>(i);
    reader.refuse("the word " + text, "one of the tile language");
  }
  static std::int64_t last_of(runtime::Arithmetic) { return static_cast<std::int64_t>(runtime::Arithmetic::TF32); }
  static std::int64_t last_of(runtime::Expression::Source) { return static_cast<std::int64_t>(runtime::Expression::Source::Number); }
  static std::int64_t last_of(runtime::Scale) { return static_cast<std::int64_t>(runtime::Scale::Factor); }
  static std::int64_t last_of(runtime::ConvolutionPass) { return static_cast<std::int64_t>(runtime::ConvolutionPass::BackwardWeight); }
  static std::int64_t last_of(runtime::Routine) { return static_cast<std::int64_t>(runtime::Routine::SVD); }
  static std::int64_t last_of(runtime::Spectrum) { return static_cast<std::int64_t>(runtime::Spectrum::ToReal); }
  static std::int64_t last_of(runtime::PoolingKind) { return static_cast<std::int64_t>(runtime::PoolingKind::AverageWithoutPadding); }
};

template <class D>
constexpr const char* kKind = kHasFields<D> ? "packing" : nullptr;  // a weight put into blocks
template <>
constexpr const char* kKind<runtime::Matmul> = "matmul";
template <>
constexpr const char* kKind<runtime::Convolution> = "convolution";
template <>
constexpr const char* kKind<runtime::Pooling> = "pooling";
template <>
constexpr const char* kKind<runtime::Attention> = "attention";
template <>
constexpr const char* kKind<runtime::ScatterSum> = "scatter";
template <>
constexpr const char* kKind<runtime::MatrixRoutine> = "matrix_routine";
template <>
constexpr const char* kKind<runtime::Fourier> = "fourier";
template <>
constexpr const char* kKind<runtime::GroupedSum> = "grouped_sum";

template <class D>
bool read(const json& given, const std::string& kind, const JsonReader& reader, runtime::CallDescription& out) {
  if constexpr (kKind<D> != nullptr) {
    if (kind != kKind<D>) return false;
    D description;
    Reader from{given, reader};
    fields(from, description);
    out = std::move(description);
    return true;
  } else {
    return false;
  }
}

template <class... D>
runtime::CallDescription read_any(const std::variant<D...>*, const json& given, const JsonReader& reader) {
  const std::string kind = reader.text(reader.at(given, "call"));
  runtime::CallDescription out;
  if (!(read<D>(given, kind, reader, out) || ...)) reader.refuse("the call \"" + kind + "\"", "one of the library's");
  return out;
}

}  // namespace

json layout_json(const Layout& layout) {
  json out{{"shape", numbers(layout.shape)}};
  if (layout.strides != dense_strides(layout.shape)) out["strides"] = numbers(layout.strides);
  return out;
}

Layout layout_from_json(const json& given, const JsonReader& reader) {
  Layout out = Layout::dense(reader.shape(reader.at(given, "shape")));
  if (given.contains("strides")) {
    out.strides = reader.dims(given["strides"]);
    if (out.strides.rank() != out.shape.rank()) reader.refuse("strides of another rank than the shape", "one for each axis");
  }
  return out;
}

json description_json(const runtime::CallDescription& description) {
  json out = std::visit(
      [](const auto& d) -> json {
        using D = std::decay_t<decltype(d)>;
        if constexpr (kKind<D> == nullptr) return nullptr;
        else {
          Writer writer;
          fields(writer, const_cast<D&>(d));  // which is read
          writer.out["call"] = kKind<D>;
          return std::move(writer.out);
        }
      },
      static_cast<const runtime::CallDescription::variant&>(description));
  // A field that call_fields.h does not list would be lost without a word.
  const JsonReader reader([](const std::string&, const std::string&) { throw std::runtime_error("what was written cannot be read"); });
  if (!out.is_null() && description_from_json(out, reader) != description)
    throw Error({.op = "save_plan",
                 .got = "a " + out["call"].get<std::string>() + " with a field that files do not have",
                 .expected = "those of tegula/runtime/call_fields.h",
                 .advice = "this is a bug in Tegula"});
  return out;
}

runtime::CallDescription description_from_json(const json& given, const JsonReader& reader) {
  return read_any(static_cast<const runtime::CallDescription::variant*>(nullptr), given, reader);
}

}  // namespace tegula::formats
