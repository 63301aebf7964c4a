#pragma once
// The known facts about the values of a tile program (tile/facts) with the arguments of a launch, and their form as C++.

#include <string>
#include <vector>

#include "tegula/simt/codegen.h"
#include "tegula/simt/kernel/name.h"
#include "tegula/tile/facts/facts.h"

namespace tegula::gpu {

using tile::Condition;
using tile::Form;
using tile::kAnyBits;
using tile::Term;

/// The two-dimensional tile that a program is about: its largest one, or the largest line.
struct MainTile {
  std::int64_t rows = 1, columns = 1;
  bool of_products = false;  // tensor cores add this tile up
  std::vector<std::int64_t> widths = {};  // then: columns of others that lie alike
  bool merges_axes = false;  // then: tiles of more axes lie as rows and columns (decide/layout.h)
  /// True if the shape is neither that tile nor a slice of it.
  bool is_flat(const Shape& shape) const;
};
/// `architecture`: of what has tensor cores, the sums that these make.
MainTile main_tile(const tile::Program& program, int architecture = 0);

class Analysis : public tile::Facts {
 public:
  Analysis(const tile::Program& program, const Specialisation& specialisation, int architecture = 0);

  bool guarded() const { return guarded_; }
  /// True if the launch makes maps of tensors (TensorMap).
  bool maps() const { return maps_; }
  std::int64_t rows() const { return main_.rows; }
  std::int64_t columns() const { return main_.columns; }
  bool is_flat(const Shape& shape) const { return main_.is_flat(shape); }
  const std::vector<simt::Name>& parameter_names() const { return parameter_names_; }

 private:
  Analysis(const tile::Program& program, const Specialisation& specialisation, const MainTile& main);
  void name_parameters();

  MainTile main_;
  bool guarded_, maps_;
  std::vector<simt::Name> parameter_names_;
};

}  // namespace tegula::gpu
