#pragma once
// The specification of the tile words, executable: program instances run one after another, every value is a plain vector.
// Slow on purpose; the executors are tested against it, and kernels are debugged in it.

#include <array>
#include <cstdint>
#include <vector>

#include "tegula/runtime/device.h"
#include "tegula/tile/ir.h"
#include "tegula/tile/scalar_words.h"

namespace tegula::tile {

/// Runs a verified program over set.grid, instance (x, y, z) with x fastest. Sums go in order of the elements, f32 arithmetic is done in
/// f64 and rounded after each word. A failed Assert goes to `failure`, the first one stays; execution goes on.
void interpret(const Program& program, const runtime::ArgumentSet& set, runtime::Failure* failure = nullptr);

/// Sees each element of memory that an instance touches, before it does.
class MemoryWatch {
 public:
  virtual ~MemoryWatch() = default;
  /// `element`: of the tile.
  virtual void touch(const Instruction& self, DType stored, std::int64_t address, std::int64_t element) = 0;
};

/// One program instance. The program may grow while it runs.
class Interpreter {
 public:
  using Elements = std::vector<Scalar>;  // row-major; addresses of pointers in `integer`
  Interpreter(const Program& program, const runtime::ArgumentSet& set, std::array<std::int64_t, 3> id, runtime::Failure* failure,
              MemoryWatch* watch = nullptr)
      : program_(program),
        set_(set),
        id_(id),
        failure_(failure),
        watch_(watch) {}

  /// Executes the instructions that the program's body has gained since the last time; returns their ids.
  std::vector<Id> catch_up();
  /// The elements of a value, which are computed where they were forgotten.
  const Elements& look(Id id);
  /// Not of an atomic word, which may not be executed again.
  void forget(Id id) {
    if (program_[id].word != Word::Atomic) values_[static_cast<std::size_t>(id)] = {};
  }

 private:
  Elements& value(Id id) { return values_[static_cast<std::size_t>(id)]; }
  const Elements& operand(const Instruction& self, std::size_t i) { return look(self.operands[i]); }
  const Type& operand_type(const Instruction& self, std::size_t i) const { return program_[self.operands[i]].type; }
  std::vector<Elements> run(const Region& region);
  void execute(Id id);
  void run_for(Id id);
  void run_while(Id id);
  Elements source(const Instruction& self) const;
  Elements shape_word(const Instruction& self);
  Elements elementwise(const Instruction& self);
  Elements memory(const Instruction& self);
  Scalar changed(const Instruction& self, Scalar old, Scalar given, std::size_t element);
  Elements across(const Instruction& self);
  Elements dot(const Instruction& self);
  Elements rest(const Instruction& self);
  Elements picked(const Instruction& self);
  Elements assembly(const Instruction& self);

  const Program& program_;
  const runtime::ArgumentSet& set_;
  std::array<std::int64_t, 3> id_;
  runtime::Failure* failure_;
  MemoryWatch* watch_;
  std::size_t done_ = 0;
  std::vector<Elements> values_;
  std::vector<std::vector<Elements>> results_;  // results of loops and branches
};

}  // namespace tegula::tile
