#pragma once
// Checks on the arguments of layers' constructors.

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "tegula/core/line.h"
#include "tegula/nn/module.h"

namespace tegula::nn {

/// Throws Error in the name of the layer when one of the named sizes is not positive.
void require_positive(std::string_view layer, std::initializer_list<std::pair<std::string_view, std::int64_t>> sizes, const Line& where);

/// Throws Error when the features x brings along `axis` are not those the layer was made for.
void require_features(std::string_view layer, const Tensor& x, int axis, std::int64_t expected, std::string_view meaning,
                      const Line& where);

/// Throws Error for an input that is no float, or an f64 one for a layer of another dtype: it would compute in f64 without a word.
void require_dtype(std::string_view layer, const Tensor& x, DType weight, const Line& where);

/// The fields of a layer, in order.
inline void visit_fields(Visitor& visitor, const Path& path, std::initializer_list<std::pair<std::string_view, Variable*>> fields) {
  for (auto [name, field] : fields)
    if (field->defined()) visitor.parameter(Path{&path, name}, *field);
}

}  // namespace tegula::nn
