#include <bit>

#include "tegula/tile/ir.h"

namespace tegula::tile {
namespace {

/// Writes all that has meaning, with ids numbered in order of execution. Every variable part is preceded by its length, so that two
/// sequences are equal only for equal programs.
class Structure {
 public:
  explicit Structure(const Program& program) : program_(program), numbers_(program.instructions.size(), 0) {}

  std::vector<std::uint64_t> run() {
    put(program_.parameters.size() << 2 | (program_.early ? 2u : 0u) | (program_.many_sizes ? 1u : 0u));
    for (const Parameter& parameter : program_.parameters) {
      put(static_cast<std::uint64_t>(parameter.dtype) << 3 | (parameter.unwritten ? 4u : 0u) | (parameter.pointer ? 2u : 0u) |
          (parameter.writable ? 1u : 0u));
    }
    region(program_.body);
    return std::move(words_);
  }

 private:
  void put(std::uint64_t word) { words_.push_back(word); }
  void put(const std::vector<Id>& ids) {
    put(ids.size());
    for (const Id id : ids) put(numbers_[static_cast<std::size_t>(id)]);
  }
  void define(Id id) { numbers_[static_cast<std::size_t>(id)] = ++last_; }

  void type(const Type& type) {
    put(static_cast<std::uint64_t>(type.dtype) << 8 | (type.pointer ? 128u : 0u) | static_cast<unsigned>(type.shape.rank()));
    for (const std::int64_t size : type.shape) put(static_cast<std::uint64_t>(size));
  }

  void region(const Region& region) {
    put(region.parameters.size());
    for (const Id id : region.parameters) {
      define(id);
      type(program_[id].type);
    }
    put(region.body.size());
    for (const Id id : region.body) instruction(id);
    put(region.results);
  }

  void instruction(Id id) {
    const Instruction& self = program_[id];
    define(id);
    put(static_cast<std::uint64_t>(self.word) << 16 | static_cast<std::uint64_t>(self.kind) << 8 | self.regions.size());
    if (has_result(self.word)) type(self.type);
    put(self.operands);
    if (self.word == Word::Constant) {
      put(is_float(self.type.dtype) ? std::bit_cast<std::uint64_t>(self.real) : static_cast<std::uint64_t>(self.integer));
    } else {
      put(static_cast<std::uint64_t>(self.attribute));
      put(static_cast<std::uint64_t>(self.attribute2));
    }
    if (self.word == Word::InlineAsm || self.word == Word::Print) {
      const Text& text = program_.texts[static_cast<std::size_t>(self.attribute)];
      for (const std::string& one : {text.text, text.constraints}) {
        put(one.size());
        for (const char letter : one) put(static_cast<std::uint64_t>(letter));
      }
    }
    for (const Region& inner : self.regions) region(inner);
  }

  const Program& program_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> words_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::vector<std::uint64_t> structure(const Program& program) { return Structure(program).run(); }

}  // namespace tegula::tile
