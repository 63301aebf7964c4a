#pragma once
// What is known about the values of a tile program before it is written as code.
//
// Indices, addresses and masks are not computed element by element: an i64 or pointer tile that is affine in its coordinates is kept as
// base and strides, a mask that compares such a tile is kept as bounds of a coordinate. Powers of two that divide indices and addresses
// are tracked as well (the same facts as in Triton's axis analysis: contiguity, divisibility, constancy).

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tegula/simt/codegen.h"
#include "tegula/tile/ir.h"

namespace tegula::gpu {

constexpr int kAnyBits = 64;   // "may be negative, or as large as i64 goes"
constexpr int kManyTwos = 30;  // "divisible by any power of two that matters"

/// A scalar expression in C++, or a number.
struct Term {
  bool known = true;
  std::int64_t value = 0;
  std::string text;     // when not known
  int twos = kManyTwos; // 2^twos divides it
  int bits = kAnyBits;  // when not known: its magnitude is below 2^bits

  static Term number(std::int64_t value);
  bool is(std::int64_t number) const { return known && value == number; }
  int magnitude_bits() const;
  std::string code() const;
};
Term add(const Term& a, const Term& b);
Term multiply(const Term& a, const Term& b);
/// a - b, but never beyond ±2^62: what a coordinate is compared with must not come round at the ends of i64.
Term subtract_for_limit(const Term& a, const Term& b);

/// One condition of a mask; all of a mask's conditions must hold.
struct Condition {
  enum class Kind : std::uint8_t {
    Below,    // coordinate < limit
    AtLeast,  // coordinate >= limit
    Uniform,  // an expression without coordinates: limit.text
    Tile,     // elements of a boolean tile
  };
  Kind kind = Kind::Uniform;
  int axis = 0;
  Term limit;
  tile::Id tile = -1;
};

struct Form {
  enum class Kind : std::uint8_t { None /* is computed */, Affine, Box };
  Kind kind = Kind::None;
  // Affine: root + base + Σ stride[axis] * coordinate + elements of `rest`.
  tile::Id root = -1;  // a scalar pointer
  Term base;
  std::vector<Term> stride;
  tile::Id rest = -1;  // a tile of i64, or of pointers; of the form's rank, size-1 axes broadcast
  // Box:
  std::vector<Condition> conditions;
};

class Analysis {
 public:
  Analysis(const tile::Program& program, const Specialisation& specialisation);

  const tile::Program& program() const { return program_; }
  bool guarded() const { return specialisation_.guarded; }
  /// The two-dimensional tile that the program is about: its largest one, or the largest line.
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  /// Neither that tile nor a slice of it.
  bool is_flat(const Shape& shape) const;
  const tile::Instruction& operator[](tile::Id id) const { return program_[id]; }
  const tile::Type& type(tile::Id id) const { return program_[id].type; }
  const Form& form(tile::Id id) const { return forms_[index(id)]; }
  /// As an affine form: a computed tile is its own `rest`.
  Form affine(tile::Id id) const;
  /// As a mask; tiles that are computed are conditions of their own.
  Form box(tile::Id id) const;
  /// 2^twos divides every element (pointers: counted in elements).
  int twos(tile::Id id) const { return twos_[index(id)]; }
  /// At least 0 and below 2^bits, every element; kAnyBits when not known.
  int bits(tile::Id id) const { return bits_[index(id)]; }
  /// Result words stand for variables of their loop or branch.
  tile::Id resolve(tile::Id id) const;
  /// The parameter that a pointer comes from, or -1.
  tile::Id root_of(tile::Id pointer) const;
  /// Instructions that take the value; -1 where a region yields it.
  const std::vector<tile::Id>& users(tile::Id id) const { return users_[index(resolve(id))]; }
  /// The C++ name of a value: of a parameter, a number, or v12.
  std::string name(tile::Id id) const;
  const std::vector<std::string>& parameter_names() const { return parameter_names_; }
  /// Neighbours along the last axis that one access can move, in elements (a power of two, at most 16 bytes); 0 where neighbours do
  /// not lie side by side.
  int contiguous(tile::Id pointer) const;
  /// The same for indices: 2^n such that the neighbours from a multiple of it on count up from a multiple of it. `base_counts`: whether
  /// the part without coordinates is looked at.
  int counts_up(tile::Id index, bool base_counts = true) const;
  bool varies_along_last_axis(tile::Id tile) const;

 private:
  static std::size_t index(tile::Id id) { return static_cast<std::size_t>(id); }
  void visit(const tile::Region& region);
  void examine(tile::Id id);
  Form derive(const tile::Instruction& self) const;
  Form derive_shape(const tile::Instruction& self) const;
  Form derive_sum(const tile::Instruction& self) const;
  Form derive_product(const tile::Instruction& self) const;
  Form derive_comparison(const tile::Instruction& self) const;
  int derive_twos(const tile::Instruction& self) const;
  int fact_of(const tile::Instruction& parameter) const;
  int derive_bits(const tile::Instruction& self) const;
  void name_parameters();
  void choose_tile();

  const tile::Program& program_;
  const Specialisation& specialisation_;
  std::int64_t rows_ = 1, columns_ = 1;
  std::vector<Form> forms_;
  std::vector<int> twos_, bits_;
  std::vector<std::vector<tile::Id>> users_;
  std::map<std::pair<tile::Id, std::int64_t>, tile::Id> branch_result_;
  std::vector<std::string> parameter_names_;
};

/// Numbers as C++ literals of the type.
std::string literal(double value, DType dtype);
std::string literal(std::int64_t value, DType dtype);
inline std::string zero_of(DType dtype) { return is_float(dtype) ? literal(0.0, dtype) : literal(std::int64_t{0}, dtype); }

}  // namespace tegula::gpu
