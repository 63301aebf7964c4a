#pragma once
// Nets over tables: numbers, dates and texts in, a number or a class out, in files with all that is done to the cells.
//
//   const io::Table table = io::read_csv("houses.csv", {.missing = {"NA"}});
//   models::TableModel model(models::TableLayout::of(table, "price"), {});
//   model.fit_preprocessing(table);          // means, deviations: of the rows to train on
//   … train model.net() on model.inputs(table) and model.targets(table) …
//   models::save_table_model("houses.safetensors", model);

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tegula/io/csv.h"
#include "tegula/nn/dropout.h"
#include "tegula/nn/linear.h"
#include "tegula/nn/preprocessing.h"

namespace tegula::models {

/// A column that the net looks at.
struct TableColumn {
  std::string name;
  io::ColumnKind kind = io::ColumnKind::Numbers;
  std::vector<std::string> categories = {};  // for Texts: those with an input of their own
};

enum class TableTask : std::uint8_t { Regression, Classification };

struct TableLayoutOptions {
  std::vector<std::string> ignore = {};  // columns that the net must not see
  std::optional<TableTask> task = {};    // not given: as the target's cells say
  std::int64_t most_categories = 50;     // of a column; rarer texts count as unknown
};

/// The meaning of a table's columns. Numbers and dates (days) are one input each, texts one for each category; a column without values, and one of texts that
/// rarely repeat (names, notes), are left out.
struct TableLayout {
  std::vector<TableColumn> columns;
  std::vector<std::string> left_out;  // names, with the reason behind them: "notes (200 different texts)"
  std::string target;
  TableTask task = TableTask::Regression;
  std::vector<std::string> classes;  // for a classification

  /// Texts are classes, and so are whole numbers of which there are at most ten different ones; other numbers are to be regressed. Throws Error when there is no column
  /// `target`, no other column is of use, a class is alone, nearly every row of the target has a text of its own, or it holds no numbers where a regression was asked for.
  static TableLayout of(const io::Table& table, const std::string& target, const TableLayoutOptions& options = {});

  std::int64_t numbers() const;  // columns of numbers and dates
  std::int64_t categorical() const;  // columns of texts
  std::int64_t outputs() const { return task == TableTask::Regression ? 1 : static_cast<std::int64_t>(classes.size()); }
  /// (N, numbers() + categorical()) f32: numbers and days, NaN where there is none; then the numbers of categories, -1 for unknown ones. Throws Error when the table
  /// lacks one of the columns, or a cell holds no number.
  HostArray inputs(const io::Table& table) const;
  /// (N, 1) f32, or (N) i64 classes. Throws Error for a cell without a value, and for a class that the layout does not know.
  HostArray targets(const io::Table& table) const;
  /// The rows whose target holds a value.
  std::vector<std::int64_t> labelled(const io::Table& table) const;

  /// The layout as a text for a file's metadata, JSON.
  std::string text() const;
  /// Throws Error for anything else.
  static TableLayout parse(const std::string& text, const std::string& name);
};

struct TableNetOptions {
  std::int64_t hidden = 64, layers = 2;
  double dropout = 0.1;
};

/// inputs of a layout (N, F) -> (N, outputs): numbers are filled, scaled and put beside one-hot categories, then go through linear layers with ReLU. Scores of classes; or the
/// target, scaled to mean 0 and deviation 1.
class TableNet {
 public:
  TableNet(std::int64_t numbers, std::vector<std::int64_t> categories, std::int64_t outputs, const TableNetOptions& options = {});
  Tensor operator()(Tensor x);
  const TableNetOptions& options() const { return options_; }

  std::optional<nn::Imputer> fill;  // of the numbers, as is the next
  std::optional<nn::StandardScaler> scale;
  std::optional<nn::OneHot> encode;
  std::vector<nn::Linear> layers;
  nn::Dropout dropout;
  nn::Linear output;
  nn::StandardScaler target{1};  // for a regression
  static constexpr auto fields =
      nn::fields<&TableNet::fill, &TableNet::scale, &TableNet::layers, &TableNet::dropout, &TableNet::output, &TableNet::target>;

 private:
  std::int64_t numbers_;
  TableNetOptions options_;
};

/// A net with the layout of its table.
class TableModel {
 public:
  TableModel(TableLayout layout, const TableNetOptions& options);

  const TableLayout& layout() const { return layout_; }
  TableNet& net() const { return *net_; }
  /// Means, medians and deviations of these rows: those to train on.
  void fit_preprocessing(const io::Table& table);
  HostArray inputs(const io::Table& table) const { return layout_.inputs(table); }
  /// The targets for the net: for a regression scaled, as the net's output is.
  HostArray targets(const io::Table& table) const;
  /// The prediction for each row: for a regression (N, 1) in the target's unit, otherwise the probabilities of the classes (N, C).
  Tensor predict(const io::Table& table) const;

 private:
  TableLayout layout_;
  std::unique_ptr<TableNet> net_;
};

inline constexpr const char* kTableKind = "table";

/// Weights, preprocessing and layout in one file; `csv`: how the table was written, for the tables to come.
void save_table_model(const std::string& path, const TableModel& model, const io::CsvOptions& csv = {});
struct LoadedTableModel {
  TableModel model;
  io::CsvOptions csv;
};
/// Throws Error when the file holds something else.
LoadedTableModel load_table_model(const std::string& path);

}  // namespace tegula::models
