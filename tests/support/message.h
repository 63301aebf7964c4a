#pragma once
// The message of an Error.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tegula/core/error.h"

namespace tegula {

/// The Error that f throws, as text; "" when it throws none.
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tegula

#define EXPECT_HAS_MESSAGE(call, part)                                                              \
  do {                                                                                              \
    const std::string said = ::tegula::message_of([&] { static_cast<void>(call); });                \
    EXPECT_NE(said.find(part), std::string::npos) << "said: " << (said.empty() ? "nothing" : said); \
  } while (false)
