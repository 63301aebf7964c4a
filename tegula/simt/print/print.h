#pragma once
// Kernels as CUDA C++. Decides nothing: what is written follows from the kernel alone.
//
// The arguments of a kernel are described in codegen.h. The text stands behind prelude(), which has the functions that it calls.

#include <string>

#include "tegula/simt/kernel/kernel.h"

namespace tegula::simt {

/// The kernel's text, with `name` for the function.
std::string print(const Kernel& kernel, const std::string& name);
/// Statements with `depth` levels of indentation.
std::string print(const Block& block, int depth);

/// Appends statements, with `depth` levels of indentation.
void put(std::string& out, const Block& block, int depth);
/// Appends an expression, a type, an operation, a name, a number, a text.
void put(std::string& out, const Expression& expression);
void put(std::string& out, const Type& type);
void put(std::string& out, const Operation& operation);
void put(std::string& out, std::int64_t number);
inline void put(std::string& out, Name name) { name.append_to(out); }
inline void put(std::string& out, const char* text) { out += text; }
inline void put(std::string& out, const std::string& text) { out += text; }
/// Numbers as C++ literals of the type.
std::string literal(double value, DType dtype);
std::string literal(std::int64_t value, DType dtype);

/// Returns the text as a literal of C++.
std::string quoted(const std::string& text);

/// The function that a product of four warps is, and its text.
std::string group_product_name(const MultiplyTile& product);
std::string group_product(const MultiplyTile& product);

}  // namespace tegula::simt
