#pragma once
// Numbers of the threads of a warp side by side, and functions over them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tegula/core/dtype.h"
#include "tegula/simt/kernel/expression.h"
#include "tegula/tile/atomic.h"

namespace tegula::simt {

constexpr int kLanes = 32;

/// The kind of number that a lane holds. A Boolean is an int, 0 or 1.
enum class Number : std::uint8_t { Boolean, I32, U32, I64, U64, F32, F64, Address };

/// Bytes of 32 lanes of 4 bytes: what registers are counted in.
constexpr std::size_t kGranule = 4 * kLanes;
constexpr std::uint32_t granules(Number number) { return number <= Number::U32 || number == Number::F32 ? 1 : 2; }

/// The number that threads compute with for a dtype.
Number number_of(DType computed);
/// The number of a type that is a number or a pointer.
Number number_of(const Type& type);
/// Bytes between neighbours in memory, of what the type is.
std::size_t bytes_of(const Type& type);

/// Computes 32 lanes of `out` from 32 lanes of each operand; all of them, whoever is active.
using LaneFunction = void (*)(std::byte* out, const std::byte* const* operands);

/// One overload of a function, with the types of its result and operands.
struct Function {
  std::string_view name;
  Number result{};
  int count = 0;
  Number operands[3] = {};
  LaneFunction run = nullptr;
};
/// Operators of C++ by their sign; unary minus is "0-".
std::span<const Function> operators();
/// Functions of CUDA and of the prelude, by name.
std::span<const Function> words();

/// A number as another type, as static_cast does; nullptr where the two lie alike.
LaneFunction conversion(Number from, Number to);
/// The function that stores a computed number as the dtype and reads it again.
LaneFunction rounding(DType stored);
/// The function that brings two numbers together; of placed ones see `best`.
LaneFunction folding(const Operation& operation);
/// The new number of an atomic word from the old one and the value; nullptr: the value itself.
LaneFunction changing(tile::AtomicKind kind, DType computed);
/// The number that changes nothing under the operation, as bits.
std::uint64_t neutral(const Operation& operation);
/// The function that tells for each lane whether the first of two numbers with places stays: operands value, place, value, place.
LaneFunction best(const Operation& operation);

/// The elements at these addresses, widened, for the lanes of the mask; and the way back.
using LoadFunction = void (*)(std::byte* out, const std::uint64_t* addresses, std::uint32_t mask, std::size_t offset);
using StoreFunction = void (*)(const std::byte* from, const std::uint64_t* addresses, std::uint32_t mask, std::size_t offset);
LoadFunction loading(const Type& memory);
StoreFunction storing(const Type& memory);

}  // namespace tegula::simt
