#pragma once
// Lines of numbers brought side by side, so that vectors run across them, and put back. The attribute stands here: on a definition alone GCC drops it.

#include <cstdint>

#include "tegula/cpu/wide.h"

namespace tegula::host {

/// The beginnings of lines, in numbers (or pairs of them).
using Begins = const std::int64_t*;

/// to[j * count + l] = x[begins[l] + j], and back.
template <class T>
TEGULA_WIDE void take_lines(const T* x, Begins begins, std::int64_t count, std::int64_t length, T* to);
template <class T>
TEGULA_WIDE void put_lines(T* x, Begins begins, std::int64_t count, std::int64_t length, const T* from);

/// The same of lines that follow each other: to[j * to_row + l] = x[l * row + j].
template <class T>
TEGULA_WIDE void turn_matrix(const T* x, std::int64_t row, std::int64_t count, std::int64_t length, T* to, std::int64_t to_row);

/// The same for pairs: re[j * count + l] and im[j * count + l] are pair begins[l] + j * apart of x, and back.
template <class T>
TEGULA_WIDE void take_pairs(const T* x, Begins begins, std::int64_t count, std::int64_t length, std::int64_t apart, T* re, T* im);
template <class T>
TEGULA_WIDE void put_pairs(T* x, Begins begins, std::int64_t count, std::int64_t length, std::int64_t apart, const T* re, const T* im);

/// Spectra of two real lines, a and b, from that of a + i b, and back. The spectra (length / 2 + 1 pairs) begin at these pairs of x; -1
/// for the last b says that there is none.
template <class T>
TEGULA_WIDE void put_halves(T* x, Begins a, Begins b, std::int64_t count, std::int64_t length, const T* re, const T* im);
template <class T>
TEGULA_WIDE void take_halves(const T* x, Begins a, Begins b, std::int64_t count, std::int64_t length, T* re, T* im);

}  // namespace tegula::host
