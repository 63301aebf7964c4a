#include "tegula/core/error.h"

#include <string_view>

#include "tegula/core/text.h"

namespace tegula {
namespace {

std::string format(const Report& report) {
  std::string text = report.op;
  if (!report.got.empty()) text += (text.empty() ? "got " : ": got ") + report.got;
  if (!report.expected.empty()) text += ", expected " + report.expected;
  if (std::string place = to_string(report.where); !place.empty()) text += "\n  at " + place;
  if (!report.advice.empty()) text += "\n  hint: " + report.advice;
  return text;
}

}  // namespace

// Names from files may hold escape sequences, which must not reach a terminal.
Error::Error(Report report) : std::runtime_error(printable(format(report))), report_(std::move(report)) {}

}  // namespace tegula
