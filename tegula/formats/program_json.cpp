#include "tegula/formats/program_json.h"

#include <algorithm>
#include <limits>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/formats/attribute_json.h"
#include "tegula/formats/json_reader.h"

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
  if (one.word == Word::Constant)
    out["value"] = is_float(one.type.dtype) ? number_json(Number(one.real))
                   : one.type.dtype == u64  ? number_json(Number(static_cast<std::uint64_t>(one.integer)))
                                            : number_json(Number(one.integer));
  for (const tile::Region& region : one.regions) out["regions"].push_back(region_json(region));
  put_line(out, one.where);
  return out;
}

class Reader : private JsonReader {
 public:
  explicit Reader(const Complain& complain)
      : JsonReader([complain](const std::string& got, const std::string& expected) { complain("a kernel with " + got, expected); }) {}

  TileProgram kernel(const json& given) {
    TileProgram out;
    out.program = program(given);
    for (const json& one : list_at(given, "sentences")) out.sentences.push_back({text(at(one, "text")), line(one)});
    out.structure = structure(out.program);
    return out;
  }

  tile::Program program(const json& given) {
    tile::Program out;
    out.name = text(at(given, "name"));
    out.many_sizes = flag_at(given, "many_sizes"), out.early = flag_at(given, "early");
    if (given.contains("files"))
      for (const json& file : list(given["files"])) files_.push_back(text(file));
    for (const json& one : list_at(given, "parameters")) {
      tile::Parameter parameter{.name = text(at(one, "name")), .dtype = dtype(at(one, "dtype"))};
      parameter.pointer = flag_at(one, "pointer"), parameter.writable = flag_at(one, "writable"),
      parameter.unwritten = flag_at(one, "unwritten");
      out.parameters.push_back(parameter);
    }
    if (given.contains("texts"))
      for (const json& one : list(given["texts"]))
        out.texts.push_back({.text = text(at(one, "text")), .constraints = text(at(one, "constraints")), .fallback = {}});
    for (const json& one : list_at(given, "instructions")) out.instructions.push_back(instruction(one));
    out.body = region(at(given, "body"));
    std::size_t listed = 0;
    count(out.body, listed);
    for (const Instruction& one : out.instructions)
      for (const tile::Region& region : one.regions) count(region, listed);
    if (listed != out.instructions.size()) refuse("instructions in no region, or in several", "each in one");
    try {
      verify(out);
    } catch (const Error& error) { refuse(error.report().got, error.report().expected); }
    return out;
  }

 private:
  static void count(const tile::Region& region, std::size_t& listed) { listed += region.parameters.size() + region.body.size(); }

  Number number(const json& given) const {
    const auto found = number_from_json(given);
    if (!found) refuse(shown(given), "a number");
    return *found;
  }
  std::int64_t whole_or_zero(const json& object, const char* key) const { return object.contains(key) ? whole(object[key]) : 0; }
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
    for (const json& one : list(given))
      out.push_back(static_cast<Id>(whole(one, std::numeric_limits<Id>::min(), std::numeric_limits<Id>::max())));
    return out;
  }
  tile::Region region(const json& given) const { return {ids(at(given, "parameters")), ids(at(given, "body")), ids(at(given, "results"))}; }
  Line line(const json& given) const {
    if (!given.contains("file")) return {};
    const auto number = static_cast<std::uint32_t>(whole_at(given, "line", 0, std::numeric_limits<std::uint32_t>::max()));
    const json& file = given["file"];
    return Line(file.is_number() ? files_[static_cast<std::size_t>(index(file, files_.size()))] : text(file), number);
  }
  Instruction instruction(const json& given) const {
    Instruction out{.word = named<Word>(at(given, "word"), kWords), .type = {}, .operands = {}};
    if (given.contains("operands")) out.operands = ids(given["operands"]);
    if (has_result(out.word)) {
      out.type.dtype = dtype(at(given, "dtype"));
      out.type.pointer = flag_at(given, "pointer");
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
      out.integer = is_float(out.type.dtype) ? 0 : out.type.dtype == u64 ? static_cast<std::int64_t>(value.bits(u64)) : value.integer();
    }
    if (given.contains("regions"))
      for (const json& one : list(given["regions"])) out.regions.push_back(region(one));
    out.where = line(given);
    return out;
  }

  std::vector<std::string> files_;
};

}  // namespace

json program_json(const tile::Program& given) {
  json out{{"name", given.name}, {"parameters", json::array()}, {"instructions", json::array()}, {"files", json::array()}};
  for (const tile::Parameter& one : given.parameters) {
    json parameter{{"name", one.name}, {"dtype", std::string(name(one.dtype))}, {"pointer", one.pointer}};
    if (one.writable) parameter["writable"] = true;
    if (one.unwritten) parameter["unwritten"] = true;
    out["parameters"].push_back(std::move(parameter));
  }
  std::vector<std::string> files;
  for (const Instruction& one : given.instructions) {
    json instruction = instruction_json(one);
    if (one.where.line() > 0) {
      const auto found = std::ranges::find(files, one.where.file_name());
      instruction["file"] = found - files.begin();
      if (found == files.end()) files.emplace_back(one.where.file_name());
    }
    out["instructions"].push_back(std::move(instruction));
  }
  out["files"] = files;
  out["body"] = region_json(given.body);
  if (given.many_sizes) out["many_sizes"] = true;
  if (given.early) out["early"] = true;
  for (const tile::Text& one : given.texts) {
    if (one.fallback) {
      throw Error({.op = "graph",
                   .got = "inline assembly with a C++ function as its fallback",
                   .expected = "kernels whose program a file can hold",
                   .advice = "launch it outside of what is saved"});
    }
    out["texts"].push_back({{"text", one.text}, {"constraints", one.constraints}});
  }
  return out;
}

json program_json(const TileProgram& given) {
  json out = program_json(given.program);
  out["sentences"] = json::array();
  for (const auto& [text, where] : given.sentences) {
    json sentence{{"text", text}};
    put_line(sentence, where);
    out["sentences"].push_back(std::move(sentence));
  }
  return out;
}

std::shared_ptr<const TileProgram> program_from_json(const json& given, const Complain& complain) {
  return std::make_shared<const TileProgram>(Reader(complain).kernel(given));
}

tile::Program tile_program_from_json(const json& given, const Complain& complain) { return Reader(complain).program(given); }

}  // namespace tegula::formats
