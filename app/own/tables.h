#pragma once
// Models of tables at the command line, behind `tegula predict` and `tegula eval`.

#include <string>
#include <vector>

namespace tegula::app {

/// What stands for no value in tables of unknown origin, beside empty cells.
inline const std::vector<std::string> kNoValue{"NA", "N/A", "nan", "NaN", "null", "NULL", "?"};

/// The rows of each table with what the model says, as CSV.
void predict_tables(const std::string& model, const std::vector<std::string>& tables);
/// How good the model is on a table that has the target.
void evaluate_table(const std::string& model, const std::string& table);

}  // namespace tegula::app
