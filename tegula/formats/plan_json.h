#pragma once
// A plan as a device runs it, as JSON: the steps, the places of its values, and the values kept between runs. For plan_file.cpp.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tegula/compile/run/executable.h"
#include "tegula/core/error.h"
#include "tegula/core/host_array.h"
#include "tegula/formats/json_reader.h"
#include "tegula/graph/op_table.h"

namespace tegula::formats {

/// A plan of a file: its JSON, the values computed once and kept, and the texts of the plans that compute those again, which are read when they are needed;
/// each in the order of its numbers.
struct StoredPlan {
  nlohmann::json json;
  std::vector<HostArray> kept, later;
};

/// A plan whose calls the device's library makes otherwise than when it was saved: it is planned anew.
class OtherCalls : public Error {
 public:
  using Error::Error;
};

/// The table that has the op: known_ops(), or that of the compiler's own. Null where none has it.
const OpTable* table_with(std::string_view op);

/// Kept values must have been computed (Executable::keep). Throws Error in the name of save_plan for plans that no file holds: with exchanges, calls that an op prepares itself, user
/// kernels that check.
StoredPlan plan_json(const compile::Executable& executable);

/// The executable that `plan` describes, its kernels compiled and its calls made but for those that compute kept values; `versions` of its leaves are those for which kept values hold. Calls `complain`
/// for an invalid plan: numbers and sizes are checked, the work of programs and calls is not. Throws OtherCalls.
std::unique_ptr<compile::Executable> executable_from_json(StoredPlan plan, const std::vector<std::uint64_t>& versions,
                                                          runtime::Device& device, const Complain& complain);

}  // namespace tegula::formats
