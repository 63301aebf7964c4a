#pragma once
// What is known about the values of a program before it is written as code.
//
// Indices, addresses and masks need not be computed element by element: an i64 or pointer tile that is affine in its coordinates is kept as
// base and strides, a mask that compares such a tile is kept as bounds of a coordinate. Powers of two that divide indices and addresses
// are tracked as well (the same facts as in Triton's axis analysis: contiguity, divisibility, constancy).

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tegula/tile/facts/term.h"

namespace tegula::tile {

/// One condition of a mask; all of a mask's conditions must hold.
struct Condition {
  enum class Kind : std::uint8_t {
    Below,  // coordinate < limit
    AtLeast,  // coordinate >= limit
    Uniform,  // a boolean scalar: value
    Tile,  // elements of a boolean tile: value
  };
  Kind kind = Kind::Uniform;
  int axis = 0;  // of the coordinate; -1: the coordinate 0
  Term limit;
  Id value = -1;
};

struct Form {
  enum class Kind : std::uint8_t { None /* is computed */, Affine, Box };
  Kind kind = Kind::None;
  // Affine: root + base + Σ stride[axis] * coordinate + elements of `rest`.
  Id root = -1;  // a scalar pointer
  Term base;
  std::vector<Term> stride;
  Id rest = -1;  // a tile of i64, or of pointers; of the form's rank, size-1 axes broadcast
  // Box:
  std::vector<Condition> conditions;
};

/// Of an argument. Pointers: 2^twos divides the address, in bytes; integers: the value.
struct ArgumentFact {
  int twos = 0;
  bool is_short = false;  // an integer from 0 to 2^31 - 1
};

class Facts {
 public:
  /// `apart`: tiles of these shapes lie otherwise than the rest, so that coordinates of one are not those of the other. `program` stays as it is.
  /// `divides_counters`: what divides the begin and the step of a loop is taken to divide its counter.
  Facts(const Program& program, std::vector<ArgumentFact> arguments, std::function<bool(const Shape&)> apart = {},
        bool divides_counters = false);

  const Program& program() const { return program_; }
  const Instruction& operator[](Id id) const { return program_[id]; }
  const Type& type(Id id) const { return program_[id].type; }
  const Form& form(Id id) const { return forms_[index(id)]; }
  /// As an affine form: a computed tile is its own `rest`.
  Form affine(Id id) const;
  /// As a mask; tiles that are computed are conditions of their own.
  Form box(Id id) const;
  /// 2^twos divides every element (pointers: counted in elements).
  int twos(Id id) const { return twos_[index(id)]; }
  /// At least 0 and below 2^bits, every element; kAnyBits when not known.
  int bits(Id id) const { return bits_[index(id)]; }
  /// Result words stand for variables of their loop or branch.
  Id resolve(Id id) const;
  /// The parameter that a pointer comes from, or -1.
  Id root_of(Id pointer) const;
  /// Instructions that take the value; -1 where a region yields it.
  const std::vector<Id>& users(Id id) const { return users_[index(resolve(id))]; }
  /// Neighbours along the last axis that one access can move, in elements (a power of two, at most 16 bytes); 0 where neighbours do
  /// not lie side by side.
  int contiguous(Id pointer) const;
  /// The same for indices: 2^n such that the neighbours from a multiple of it on count up from a multiple of it. `base_counts`: whether
  /// the part without coordinates is looked at.
  int counts_up(Id index, bool base_counts = true) const;
  bool varies_along_last_axis(Id tile) const;
  /// Whether what is known of neighbours was said of computed elements (HintKind::Contiguous), and not derived.
  bool counts_by_hint(Id index) const;

 private:
  static std::size_t index(Id id) { return static_cast<std::size_t>(id); }
  bool apart(const Shape& shape) const { return apart_ && apart_(shape); }
  void visit(const Region& region);
  void examine(Id id);
  void assume(Id condition);
  void derive_runs(Id id);
  ArgumentFact fact_of(const Instruction& parameter) const;
  int derive_twos(const Instruction& self) const;
  int derive_bits(const Instruction& self) const;
  // forms.cpp
  Form derive(const Instruction& self) const;
  Form derive_shape(const Instruction& self) const;
  Form derive_sum(const Instruction& self) const;
  Form derive_hint(const Instruction& self) const;
  Form derive_product(const Instruction& self) const;
  Form derive_comparison(const Instruction& self) const;

  const Program& program_;
  std::vector<ArgumentFact> arguments_;
  std::function<bool(const Shape&)> apart_;
  bool divides_counters_;
  std::vector<Form> forms_;
  std::vector<int> twos_, bits_;
  // Of tiles of computed elements, as hints say: so many along the last axis count up, from a multiple of 2^starts_ on.
  std::vector<std::int64_t> runs_;
  std::vector<int> starts_;
  // Of values that the program assumes something of, from its beginning on.
  std::map<Id, int> assumed_twos_, assumed_bits_;
  std::vector<std::vector<Id>> users_;
  std::map<std::pair<Id, std::int64_t>, Id> branch_result_;
};

}  // namespace tegula::tile
