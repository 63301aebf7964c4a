#include "tegula/models/table.h"

#include <algorithm>
#include <cmath>

#include "tegula/compile/jit.h"
#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/text.h"
#include "tegula/models/description.h"
#include "tegula/models/model_file.h"
#include "tegula/nn/state.h"
#include "tegula/ops/elementwise/activation.h"
#include "tegula/ops/rows/softmax.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::models {
namespace {

using io::ColumnKind;
using nlohmann::json;

[[noreturn]] void refuse(std::string got, std::string expected, std::string advice = "") {
  throw Error({.op = "table", .got = printable(got), .expected = std::move(expected), .advice = std::move(advice)});
}

/// The texts of a column by how often they come, the most frequent first.
std::vector<std::pair<std::string, std::int64_t>> counted_texts(const io::Table& table, const std::string& column) {
  const io::Classes classes = table.classes(column, {}, io::Unknown::MinusOne);
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const std::string& name : classes.names) counts.emplace_back(name, 0);
  for (const std::int64_t label : classes.labels.values<std::int64_t>()) {
    if (label >= 0) ++counts[static_cast<std::size_t>(label)].second;
  }
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return counts;
}

/// Names and notes: most texts come once.
bool is_free_text(std::size_t different, const io::Table& table) {
  return different > 20 && 2 * different > static_cast<std::size_t>(table.rows());
}

/// Why a column is of no use, or "".
std::string reason_against(const io::Table& table, TableColumn& column, const TableLayoutOptions& options) {
  if (column.kind == ColumnKind::None) return "no values";
  if (column.kind != ColumnKind::Texts) return "";
  const auto counts = counted_texts(table, column.name);
  for (const auto& [text, count] : counts) {
    if (count > 1 && static_cast<std::int64_t>(column.categories.size()) < options.most_categories) column.categories.push_back(text);
  }
  // Free texts only tell the net apart rows that it has seen.
  if (is_free_text(counts.size(), table) || column.categories.empty()) return std::to_string(counts.size()) + " different texts";
  std::sort(column.categories.begin(), column.categories.end());
  return "";
}

/// True if the numbers of a target are a few integers: names of classes.
bool are_classes(const io::Table& table, const std::string& target) {
  constexpr std::size_t kMost = 10;
  std::vector<double> different;
  const HostArray values = table.numbers({target}, NAN, f64);
  for (const double value : values.values<double>()) {
    if (std::isnan(value)) continue;
    if (value != std::floor(value)) return false;
    if (std::find(different.begin(), different.end(), value) == different.end()) different.push_back(value);
    if (different.size() > kMost) return false;
  }
  return true;
}

/// True if all texts are digits with signs before and between them: numbers in another country's notation.
bool look_like_numbers(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [](const std::string& text) {
    const std::size_t begin = text.find_first_not_of("+- ");
    return begin != std::string::npos && text.find_first_not_of("0123456789., '", begin) == std::string::npos &&
           text.find_first_of("0123456789") != std::string::npos;
  });
}

/// Numbers of a column, `missing` where it has none. Throws Error for infinity, of which no net makes anything.
HostArray numbers_of(const io::Table& table, const std::string& column, std::optional<double> missing) {
  HostArray values = table.numbers({column}, missing);
  const auto all = values.values<float>();
  const auto found = std::find_if(all.begin(), all.end(), [](float value) { return std::isinf(value); });
  if (found != all.end())
    refuse("an infinite number in column " + column + ", row " + std::to_string(found - all.begin() + 1) + " behind the names",
           "finite numbers", "a text that stands for no value is given by --missing (io::CsvOptions)");
  return values;
}

/// The columns one beside the other, as rows.
HostArray side_by_side(std::int64_t rows, const std::vector<HostArray>& columns) {
  const auto count = static_cast<std::int64_t>(columns.size());
  HostArray out = HostArray::empty(f32, {rows, count});
  float* to = out.values<float>().data();
  for (std::int64_t c = 0; c < count; ++c) {
    const float* from = columns[static_cast<std::size_t>(c)].values<float>().data();
    for (std::int64_t r = 0; r < rows; ++r) to[r * count + c] = from[r];
  }
  return out;
}

template <class From>
HostArray as_floats(const HostArray& column) {
  HostArray out = HostArray::empty(f32, {column.size()});
  std::transform(column.values<From>().begin(), column.values<From>().end(), out.values<float>().begin(),
                 [](From value) { return static_cast<float>(value); });
  return out;
}

constexpr std::pair<ColumnKind, const char*> kKinds[] = {
    {ColumnKind::Numbers, "numbers"}, {ColumnKind::Dates, "dates"}, {ColumnKind::Texts, "texts"}};

std::vector<std::string> texts_of(const json& list) { return list.get<std::vector<std::string>>(); }

std::vector<std::int64_t> category_sizes(const TableLayout& layout) {
  std::vector<std::int64_t> sizes;
  for (const TableColumn& column : layout.columns) {
    if (column.kind == ColumnKind::Texts) sizes.push_back(static_cast<std::int64_t>(column.categories.size()));
  }
  return sizes;
}

}  // namespace

TableLayout TableLayout::of(const io::Table& table, const std::string& target, const TableLayoutOptions& options) {
  TableLayout out;
  out.target = target;
  const ColumnKind kind = table.kind(target);  // throws for a column that is not there
  if (kind == ColumnKind::None) refuse("a target " + target + " without values", "numbers or names of classes in it");
  for (const std::string& name : options.ignore) table.kind(name);
  out.task =
      options.task.value_or(kind != ColumnKind::Numbers || are_classes(table, target) ? TableTask::Classification : TableTask::Regression);
  if (out.task == TableTask::Regression && kind != ColumnKind::Numbers)
    refuse("a target " + target + " that holds no numbers", "numbers for a regression",
           "train a classification, or name what stands for a missing number");
  if (out.task == TableTask::Regression) numbers_of(table, target, NAN);  // throws while rows have their own places
  if (out.task == TableTask::Classification) {
    out.classes = table.classes(target, {}, io::Unknown::MinusOne).names;
    if (!options.task && kind == ColumnKind::Texts && (is_free_text(out.classes.size(), table) || look_like_numbers(out.classes)))
      refuse("a target " + target + " of " + std::to_string(out.classes.size()) + " different texts in " + std::to_string(table.rows()) +
                 " rows, such as \"" + out.classes[0] + "\"",
             "numbers, or names of classes that come again",
             "of numbers with signs between their digits say which: --thousands , or --decimal , (io::CsvOptions); --task classification "
             "makes "
             "each text a class");
    if (out.classes.size() < 2) refuse("a target " + target + " that is always " + out.classes.at(0), "at least two classes");
  }
  for (const std::string& name : table.names()) {
    if (name == target) continue;
    if (std::find(options.ignore.begin(), options.ignore.end(), name) != options.ignore.end()) continue;
    TableColumn column{.name = name, .kind = table.kind(name)};
    if (column.kind == ColumnKind::Numbers) numbers_of(table, name, NAN);
    const std::string reason = reason_against(table, column, options);
    if (reason.empty()) out.columns.push_back(std::move(column));
    else out.left_out.push_back(name + " (" + reason + ")");
  }
  if (out.columns.empty())
    refuse("no column beside " + target + " that says something", "columns of numbers, dates, or texts that come more than once");
  out.text();  // throws for texts that a file could not hold, before anything is trained
  return out;
}

std::int64_t TableLayout::categorical() const {
  return std::count_if(columns.begin(), columns.end(), [](const TableColumn& column) { return column.kind == ColumnKind::Texts; });
}
std::int64_t TableLayout::numbers() const { return static_cast<std::int64_t>(columns.size()) - categorical(); }

HostArray TableLayout::inputs(const io::Table& table) const {
  std::vector<HostArray> numbers, categories;
  for (const TableColumn& column : columns) {
    if (column.kind == ColumnKind::Texts) {
      categories.push_back(as_floats<std::int64_t>(table.classes(column.name, column.categories, io::Unknown::MinusOne).labels));
    } else if (column.kind == ColumnKind::Dates) {
      numbers.push_back(as_floats<double>(table.days(column.name, io::DateOrder::YearMonthDay, NAN)));
    } else {
      numbers.push_back(numbers_of(table, column.name, NAN));
    }
  }
  numbers.insert(numbers.end(), categories.begin(), categories.end());
  return side_by_side(table.rows(), numbers);
}

HostArray TableLayout::targets(const io::Table& table) const {
  return task == TableTask::Regression ? numbers_of(table, target, {}) : table.classes(target, classes).labels;
}

std::vector<std::int64_t> TableLayout::labelled(const io::Table& table) const {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    if (!table.is_missing(row, target)) rows.push_back(row);
  }
  return rows;
}

std::string TableLayout::text() const {
  json list = json::array();
  for (const TableColumn& column : columns) {
    const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& one) { return one.first == column.kind; });
    json entry{{"name", column.name}, {"kind", kind->second}};
    if (column.kind == ColumnKind::Texts) entry["categories"] = column.categories;
    list.push_back(std::move(entry));
  }
  json all{{"columns", std::move(list)}, {"target", target}, {"task", task == TableTask::Regression ? "regression" : "classification"}};
  if (task == TableTask::Classification) all["classes"] = classes;
  try {
    return all.dump();
  } catch (const json::exception&) {
    refuse("a name or text that is not UTF-8", "UTF-8 text", "convert the file: iconv -f latin1 -t utf8");
  }
}

TableLayout TableLayout::parse(const std::string& text, const std::string& name) {
  const json all = parse_json(text, "table", name);
  TableLayout out;
  try {
    out.target = all.at("target").get<std::string>();
    const bool is_regression = all.at("task").get<std::string>() == "regression";
    out.task = is_regression ? TableTask::Regression : TableTask::Classification;
    if (!is_regression) out.classes = texts_of(all.at("classes"));
    for (const json& entry : all.at("columns")) {
      const std::string kind = entry.at("kind").get<std::string>();
      const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& one) { return one.second == kind; });
      if (known == std::end(kKinds)) refuse(name + ": a column of " + kind.substr(0, 40), "numbers, dates or texts");
      TableColumn column{.name = entry.at("name").get<std::string>(), .kind = known->first};
      if (column.kind == ColumnKind::Texts) column.categories = texts_of(entry.at("categories"));
      out.columns.push_back(std::move(column));
    }
  } catch (const json::exception& error) {
    refuse(name + ": " + std::string(error.what()).substr(0, 200), "the layout of a table", "was the file written by tegula train table?");
  }
  const bool fits = !out.columns.empty() && (out.task == TableTask::Regression || out.classes.size() > 1) &&
                    std::all_of(out.columns.begin(), out.columns.end(),
                                [](const TableColumn& c) { return c.kind != ColumnKind::Texts || !c.categories.empty(); });
  if (!fits) refuse(name + ": a layout without columns, classes or categories", "the layout of a table");
  return out;
}

TableNet::TableNet(std::int64_t numbers, std::vector<std::int64_t> categories, std::int64_t outputs, const TableNetOptions& options)
    : dropout(options.dropout),
      output(options.hidden, outputs),
      numbers_(numbers),
      options_(options) {
  if (numbers > 0) fill.emplace(numbers, nn::Fill::Median), scale.emplace(numbers);
  if (!categories.empty()) encode.emplace(std::move(categories));
  std::int64_t width = numbers + (encode ? encode->features() : 0);
  layers.reserve(static_cast<std::size_t>(options.layers));
  for (std::int64_t i = 0; i < options.layers; ++i, width = options.hidden) layers.emplace_back(width, options.hidden);
}

Tensor TableNet::operator()(Tensor x) {
  std::vector<Tensor> parts;
  if (scale) parts.push_back((*scale)((*fill)(slice(x, -1, {0, numbers_}))));
  if (encode) parts.push_back((*encode)(slice(x, -1, {numbers_, std::nullopt})));
  Tensor y = parts.size() == 1 ? parts[0] : concat(parts, -1);
  for (const nn::Linear& layer : layers) y = dropout(relu(layer(y)));
  return output(y);
}

TableModel::TableModel(TableLayout layout, const TableNetOptions& options)
    : layout_(std::move(layout)),
      net_(std::make_unique<TableNet>(layout_.numbers(), category_sizes(layout_), layout_.outputs(), options)) {}

void TableModel::fit_preprocessing(const io::Table& table) {
  const Tensor x = from_array(inputs(table));
  if (net_->scale) {
    const Tensor numbers = slice(x, -1, {0, layout_.numbers()});
    net_->fill->fit(numbers);
    net_->scale->fit((*net_->fill)(numbers));
  }
  if (layout_.task == TableTask::Regression) net_->target.fit(from_array(layout_.targets(table)));
}

HostArray TableModel::targets(const io::Table& table) const {
  const HostArray plain = layout_.targets(table);
  return layout_.task == TableTask::Regression ? net_->target(from_array(plain)).to_array() : plain;
}

Tensor TableModel::predict(const io::Table& table) const {
  eval(*net_);
  const Tensor y = (*net_)(from_array(inputs(table)));
  return layout_.task == TableTask::Regression ? net_->target.inverse(y) : softmax(y, -1);
}

void save_table_model(const std::string& path, const TableModel& model, const io::CsvOptions& csv) {
  const TableNetOptions& o = model.net().options();
  const json written{{"separator", std::string(1, csv.separator)},
                     {"missing", csv.missing},
                     {"decimal", std::string(1, csv.decimal)},
                     {"thousands", csv.thousands ? std::string(1, *csv.thousands) : std::string()}};
  const ModelDescription description{
      .kind = kTableKind,
      .numbers = {{"hidden", static_cast<double>(o.hidden)}, {"layers", static_cast<double>(o.layers)}, {"dropout", o.dropout}},
      .texts = {{"layout", model.layout().text()}, {"csv", written.dump()}}};
  write_model_file(path, description, state_dict(model.net()));
}

LoadedTableModel load_table_model(const std::string& path) {
  const ModelFile file = read_model_file(path);
  const ModelDescription& d = file.description;
  if (d.kind != kTableKind)
    refuse(path + ": the model " + d.kind.substr(0, 80), "a model of a table", "tegula train table writes such files");
  constexpr std::int64_t kMost = 1 << 16;
  const TableNetOptions options{
      .hidden = d.whole("hidden", 1, kMost, path), .layers = d.whole("layers", 1, 64, path), .dropout = d.number("dropout", 0, 0.99, path)};
  const TableLayout layout = TableLayout::parse(d.text("layout", path), path);
  std::int64_t width = layout.numbers();
  for (const std::int64_t size : category_sizes(layout)) width += size;
  for (std::int64_t i = 0; i < options.layers; ++i, width = options.hidden)
    require_tensor("table", file.state, "layers." + std::to_string(i) + ".weight", {options.hidden, width}, path);
  TableModel model(layout, options);
  load(model.net(), file.state);
  eval(model.net());
  io::CsvOptions csv;
  const json written = parse_json(d.text("csv", path), "table", path);
  try {
    const auto sign = [&](const char* key, char otherwise) {
      const std::string text = written.at(key).get<std::string>();
      return text.size() == 1 ? text[0] : otherwise;
    };
    csv.separator = sign("separator", ',');
    csv.missing = texts_of(written.at("missing"));
    csv.decimal = sign("decimal", '.');
    if (const char thousands = sign("thousands", 0)) csv.thousands = thousands;
  } catch (const json::exception& error) {
    refuse(path + ": " + std::string(error.what()).substr(0, 200), "how the table was written",
           "was the file written by tegula train table?");
  }
  return {std::move(model), std::move(csv)};
}

}  // namespace tegula::models
