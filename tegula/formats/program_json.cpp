#include "tegula/formats/program_json.h"

#include <algorithm>
#include <stdexcept>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/formats/attribute_json.h"

namespace tegula::formats {
namespace {

using nlohmann::json;
using tile::Id;
using tile::Instruction;
using tile::Word;

constexpr int kWords = static_cast<int>(Word::RegionParameter) + 1, kReductions = static_cast<int>(tile::Reduction::All) + 1;

json region_json(const tile::Region& region) {
  return {{"parameters", region.parameters}, {"body", region.body}, {"results", region.results}};
}

void put_line(json& out, const Line& where) {
  if (where.line() == 0) return;
  out["file"] = where.file_name();
  out["line"] = where.line();
}

json instruction_json(const Instruction& one) {
  json out{{"word", std::string(name(one.word))}};
  if (!one.operands.empty()) out["operands"] = one.operands;
  if (has_result(one.word)) {
    out["dtype"] = std::string(name(one.type.dtype));
    if (one.type.pointer) out["pointer"] = true;
    if (one.type.shape.rank() > 0) out["shape"] = std::vector<std::int64_t>(one.type.shape.begin(), one.type.shape.end());
  }
  if (one.attribute != 0) out["attribute"] = one.attribute;
  if (one.attribute2 != 0) out["attribute2"] = one.attribute2;
  if (one.kind != tile::Reduction::Sum) out["reduction"] = std::string(name(one.kind));
  if (one.word == Word::Constant) out["value"] = is_float(one.type.dtype) ? number_json(Number(one.real)) : number_json(Number(one.integer));
  for (const tile::Region& region : one.regions) out["regions"].push_back(region_json(region));
  put_line(out, one.where);
  return out;
}

class Reader {
 public:
  explicit Reader(const Complain& complain) : complain_(complain) {}

  TileProgram read(const json& given) const {
    TileProgram out;
    out.program.name = text(at(given, "name"));
    for (const json& one : list(at(given, "parameters"))) {
      tile::Parameter parameter{.name = text(at(one, "name")), .dtype = dtype(at(one, "dtype"))};
      parameter.pointer = flag(one, "pointer");
      parameter.writable = flag(one, "writable");
      out.program.parameters.push_back(parameter);
    }
    for (const json& one : list(at(given, "instructions"))) out.program.instructions.push_back(instruction(one));
    out.program.body = region(at(given, "body"));
    for (const json& one : list(at(given, "sentences"))) out.sentences.push_back({text(at(one, "text")), line(one)});
    std::size_t listed = 0;
    count(out.program.body, listed);
    for (const Instruction& one : out.program.instructions)
      for (const tile::Region& region : one.regions) count(region, listed);
    if (listed != out.program.instructions.size()) refuse("instructions in no region, or in several", "each in one");
    try {
      verify(out.program);
    } catch (const Error& error) { refuse(error.report().got, error.report().expected); }
    out.structure = structure(out.program);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& got, const std::string& expected) const {
    complain_("a kernel with " + got, expected);
    throw std::logic_error("a complaint returned");
  }
  static void count(const tile::Region& region, std::size_t& listed) { listed += region.parameters.size() + region.body.size(); }

  const json& at(const json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse("no \"" + std::string(key) + "\"", "an object that has it");
    return object[key];
  }
  const json& list(const json& given) const {
    if (!given.is_array()) refuse(shown(given), "a list");
    return given;
  }
  std::string text(const json& given) const {
    if (!given.is_string()) refuse(shown(given), "a text");
    return given.get<std::string>();
  }
  bool flag(const json& object, const char* key) const {
    if (!object.contains(key)) return false;
    if (!object[key].is_boolean()) refuse(shown(object[key]), "true or false");
    return object[key].get<bool>();
  }
  Number number(const json& given) const {
    const auto found = number_from_json(given);
    if (!found) refuse(shown(given), "a number");
    return *found;
  }
  std::int64_t whole(const json& given) const {
    const Number value = number(given);
    if (!value.whole()) refuse(shown(given), "a whole number");
    return value.integer();
  }
  std::int64_t whole_or_zero(const json& object, const char* key) const { return object.contains(key) ? whole(object[key]) : 0; }
  DType dtype(const json& given) const {
    const std::string said = text(given);
    const auto found = std::ranges::find_if(kAllDTypes, [&](DType one) { return name(one) == said; });
    if (found == std::end(kAllDTypes)) refuse("the dtype " + shown(given), "one of Tegula's");
    return *found;
  }
  /// The value from 0 on whose name it is.
  template <class T>
  T named(const json& given, int count) const {
    const std::string said = text(given);
    for (int i = 0; i < count; ++i)
      if (name(static_cast<T>(i)) == said) return static_cast<T>(i);
    refuse("the word " + shown(given), "one of the tile language");
  }
  std::vector<Id> ids(const json& given) const {
    std::vector<Id> out;
    for (const json& one : list(given)) {
      const std::int64_t id = whole(one);
      if (!std::in_range<Id>(id)) refuse("the number " + std::to_string(id), "that of an instruction");
      out.push_back(static_cast<Id>(id));
    }
    return out;
  }
  tile::Region region(const json& given) const {
    return {ids(at(given, "parameters")), ids(at(given, "body")), ids(at(given, "results"))};
  }
  Line line(const json& given) const {
    if (!given.contains("file")) return {};
    const std::int64_t number = whole(at(given, "line"));
    if (!std::in_range<std::uint32_t>(number)) refuse("line " + std::to_string(number), "the number of a line");
    return Line(text(given["file"]), static_cast<std::uint32_t>(number));
  }
  Instruction instruction(const json& given) const {
    Instruction out{.word = named<Word>(at(given, "word"), kWords), .type = {}, .operands = {}};
    if (given.contains("operands")) out.operands = ids(given["operands"]);
    if (has_result(out.word)) {
      out.type.dtype = dtype(at(given, "dtype"));
      out.type.pointer = flag(given, "pointer");
      if (given.contains("shape")) {
        if (list(given["shape"]).size() > static_cast<std::size_t>(kMaxRank)) refuse(shown(given["shape"]), "at most eight sizes");
        for (const json& size : given["shape"]) out.type.shape.push_back(whole(size));
      }
    }
    out.attribute = whole_or_zero(given, "attribute");
    out.attribute2 = whole_or_zero(given, "attribute2");
    if (given.contains("reduction")) out.kind = named<tile::Reduction>(given["reduction"], kReductions);
    if (out.word == Word::Constant) {
      const Number value = number(at(given, "value"));
      out.real = is_float(out.type.dtype) ? value.real() : 0;
      out.integer = is_float(out.type.dtype) ? 0 : value.integer();
    }
    if (given.contains("regions"))
      for (const json& one : list(given["regions"])) out.regions.push_back(region(one));
    out.where = line(given);
    return out;
  }

  const Complain& complain_;
};

}  // namespace

json program_json(const TileProgram& given) {
  json out{{"name", given.program.name}, {"parameters", json::array()}, {"instructions", json::array()}, {"sentences", json::array()}};
  for (const tile::Parameter& one : given.program.parameters) {
    json parameter{{"name", one.name}, {"dtype", std::string(name(one.dtype))}, {"pointer", one.pointer}};
    if (one.writable) parameter["writable"] = true;
    out["parameters"].push_back(std::move(parameter));
  }
  for (const Instruction& one : given.program.instructions) out["instructions"].push_back(instruction_json(one));
  for (const auto& [text, where] : given.sentences) {
    json sentence{{"text", text}};
    put_line(sentence, where);
    out["sentences"].push_back(std::move(sentence));
  }
  out["body"] = region_json(given.program.body);
  return out;
}

std::shared_ptr<const TileProgram> program_from_json(const json& given, const Complain& complain) {
  return std::make_shared<const TileProgram>(Reader(complain).read(given));
}

}  // namespace tegula::formats
