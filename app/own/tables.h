#pragma once
// Models of tables at the command line, behind `tegula predict` and `tegula eval`.

#include <string>
#include <vector>

namespace tegula::app {

/// Texts that stand for no value in tables of unknown origin, beside empty cells.
inline const std::vector<std::string> kNoValue{"NA", "N/A", "nan", "NaN", "null", "NULL", "?"};

/// Writes the rows of each table with the model's predictions, as CSV.
void predict_tables(const std::string& model, const std::vector<std::string>& tables);
/// Prints the measures of the model on a table that has the target.
void evaluate_table(const std::string& model, const std::string& table);

}  // namespace tegula::app
