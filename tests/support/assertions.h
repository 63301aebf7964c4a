#pragma once
// What GoogleTest's assertions say of the types that tests compare most, compiled once (assertions.cpp) and not in every source: 2 MB of the tests' objects.
// It stands in the tests' precompiled headers; a source without it compiles its own.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/core/dtype.h"
#include "tegula/core/shape.h"

#ifndef TEGULA_ASSERTIONS
#define TEGULA_ASSERTIONS extern template
#endif

namespace testing {

TEGULA_ASSERTIONS std::string PrintToString<bool>(const bool&);
TEGULA_ASSERTIONS std::string PrintToString<int>(const int&);
TEGULA_ASSERTIONS std::string PrintToString<unsigned>(const unsigned&);
TEGULA_ASSERTIONS std::string PrintToString<std::int64_t>(const std::int64_t&);
TEGULA_ASSERTIONS std::string PrintToString<std::size_t>(const std::size_t&);
TEGULA_ASSERTIONS std::string PrintToString<float>(const float&);
TEGULA_ASSERTIONS std::string PrintToString<double>(const double&);
TEGULA_ASSERTIONS std::string PrintToString<const char*>(const char* const&);
TEGULA_ASSERTIONS std::string PrintToString<std::string>(const std::string&);
TEGULA_ASSERTIONS std::string PrintToString<tegula::DType>(const tegula::DType&);
TEGULA_ASSERTIONS std::string PrintToString<tegula::Shape>(const tegula::Shape&);
TEGULA_ASSERTIONS std::string PrintToString<std::vector<int>>(const std::vector<int>&);
TEGULA_ASSERTIONS std::string PrintToString<std::vector<std::int64_t>>(const std::vector<std::int64_t>&);
TEGULA_ASSERTIONS std::string PrintToString<std::vector<float>>(const std::vector<float>&);
TEGULA_ASSERTIONS std::string PrintToString<std::vector<double>>(const std::vector<double>&);
TEGULA_ASSERTIONS std::string PrintToString<std::vector<std::string>>(const std::vector<std::string>&);

namespace internal {

TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<int, int>(const char*, const char*, const int&, const int&, const char*);
TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<std::int64_t, int>(const char*, const char*, const std::int64_t&, const int&,
                                                                        const char*);
TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<std::size_t, unsigned>(const char*, const char*, const std::size_t&, const unsigned&,
                                                                            const char*);
TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<std::size_t, std::size_t>(const char*, const char*, const std::size_t&,
                                                                               const std::size_t&, const char*);
TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<float, float>(const char*, const char*, const float&, const float&, const char*);
TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<double, int>(const char*, const char*, const double&, const int&, const char*);
TEGULA_ASSERTIONS AssertionResult CmpHelperOpFailure<double, double>(const char*, const char*, const double&, const double&, const char*);

}  // namespace internal
}  // namespace testing
