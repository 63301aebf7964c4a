// tegula train table: a net over the rows of a CSV file, with the preparation of its cells; and its models' predictions for other tables.

#include "app/own/tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "app/own/training.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/gzip.h"
#include "tegula/models/table.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/metrics.h"

namespace tegula::app {
namespace {

constexpr const char* kTrainTable = "tegula train table";

struct TableChoice {
  OwnTraining training{
      .op = kTrainTable, .epochs = 200, .batch = 32, .patience = 20, .lr = 3e-3, .out = "table.safetensors", .plot = "table.png"};
  std::string file, target, test, separator, decimal = ".", thousands, task;
  std::vector<std::string> ignore, missing = kNoValue;
  std::int64_t hidden = 64, layers = 2;
  double dropout = 0.1;
};

/// The sign that comes most often in the first line, outside of quotes.
char separator_in(const std::string& path) {
  io::Bytes bytes = io::read_file(path, {.op = kTrainTable});
  if (io::is_gzip(bytes)) bytes = io::gunzip(bytes, path, {.op = kTrainTable});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size()), signs = ",;\t|";
  std::int64_t counts[4] = {};
  bool in_quotes = false;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '"') in_quotes = !in_quotes;
    else if (const std::size_t at = signs.find(c); at != std::string_view::npos && !in_quotes) ++counts[at];
  }
  return signs[static_cast<std::size_t>(std::max_element(std::begin(counts), std::end(counts)) - std::begin(counts))];
}

char sign_of(const std::string& text, const char* option) {
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() != 1)
    throw Error({.op = kTrainTable, .got = std::string(option) + " \"" + text + "\"", .expected = "one character, or tab"});
  return text[0];
}

io::CsvOptions csv_options(const TableChoice& choice) {
  io::CsvOptions csv{.separator = choice.separator.empty() ? separator_in(choice.file) : sign_of(choice.separator, "--separator"),
                     .missing = choice.missing,
                     .decimal = sign_of(choice.decimal, "--decimal")};
  if (!choice.thousands.empty()) csv.thousands = sign_of(choice.thousands, "--thousands");
  return csv;
}

std::string columns_text(const models::TableLayout& layout) {
  std::vector<std::string> names;
  for (const models::TableColumn& column : layout.columns) {
    const std::string kind = column.kind == io::ColumnKind::Texts   ? std::to_string(column.categories.size()) + " texts"
                             : column.kind == io::ColumnKind::Dates ? "dates"
                                                                    : "numbers";
    names.push_back(column.name + " (" + kind + ")");
  }
  return joined(names);
}

/// The model's quality on rows whose target is known.
void print_quality(const models::TableModel& model, const io::Table& table, const char* what) {
  const models::TableLayout& layout = model.layout();
  const Tensor said = model.predict(table);
  const HostArray truth = layout.targets(table);
  if (layout.task == models::TableTask::Classification) {
    metrics::ConfusionMatrix matrix(layout.classes);
    matrix.add(said, from_array(truth));
    std::printf("%s of %lld rows: accuracy %.2f %%, macro F1 %.4f\n\n%s", what, static_cast<long long>(table.rows()),
                100 * matrix.accuracy(), matrix.macro_f1(), printable(matrix.print()).c_str());
    return;
  }
  const Tensor y = from_array(truth);
  std::printf("%s of %lld rows: mean absolute error %.6g, root of mean squared error %.6g, R2 %.4f\n", what,
              static_cast<long long>(table.rows()), metrics::mean_absolute_error(said, y), metrics::root_mean_squared_error(said, y),
              metrics::r2(said, y));
}

io::Table labelled_rows(const models::TableLayout& layout, const io::Table& table, const std::string& path) {
  const std::vector<std::int64_t> rows = layout.labelled(table);
  if (rows.empty())
    throw Error(
        {.op = "tegula", .got = path + ", no row of which has a value for " + layout.target, .expected = "some rows to measure by"});
  return table.take(rows);
}

void run_train_table(TableChoice& choice) {
  OwnTraining& training = choice.training;
  refuse_ranks(kTrainTable, "a table is trained on by one process");
  begin(training);
  const io::CsvOptions csv = csv_options(choice);
  const io::Table all = io::read_csv(choice.file, csv);
  models::TableLayoutOptions columns{.ignore = choice.ignore};
  if (!choice.task.empty()) columns.task = choice.task == "regression" ? models::TableTask::Regression : models::TableTask::Classification;
  models::TableModel model(models::TableLayout::of(all, choice.target, columns),
                           {.hidden = choice.hidden, .layers = choice.layers, .dropout = choice.dropout});
  const models::TableLayout& layout = model.layout();
  const bool is_regression = layout.task == models::TableTask::Regression;
  const io::Table table = labelled_rows(layout, all, choice.file);

  const HostArray truth = layout.targets(table);
  const std::vector<std::int64_t> classes =
      is_regression ? std::vector<std::int64_t>()
                    : std::vector<std::int64_t>(truth.values<std::int64_t>().begin(), truth.values<std::int64_t>().end());
  const RowSplit parts = split_rows(table.rows(), training, classes);
  const io::Table train = table.take(parts.train), test = table.take(parts.test);
  model.fit_preprocessing(train);

  std::printf("%s of %s from %s\n", is_regression ? "regression" : "classification", printable(layout.target).c_str(),
              columns_text(layout).c_str());
  if (!is_regression) std::printf("classes: %s\n", joined(layout.classes).c_str());
  if (!layout.left_out.empty()) std::printf("left out: %s\n", joined(layout.left_out).c_str());
  if (table.rows() < all.rows()) std::printf("left out: %lld rows without a target\n", static_cast<long long>(all.rows() - table.rows()));
  std::printf("%s parameters. %lld rows to train on, %lld to validate.\n",
              quantity(static_cast<double>(num_parameters(model.net()))).c_str(), static_cast<long long>(train.rows()),
              static_cast<long long>(test.rows()));

  const std::int64_t batch = std::min(training.batch, train.rows());
  optim::AdamW adam(parameters(model.net()), {.lr = training.lr, .weight_decay = training.weight_decay});
  const double unit = model.net().target.deviation.read().item<double>();
  const Goodness goodness =
      !is_regression ? right_answers()
                     : Goodness{"mean error", [unit](const EpochRecord& r) { return format("%.4g", unit * r.test_metrics.at("mae")); },
                                [](const EpochRecord& r) { return r.test_loss; }};
  TrainerOptions options{
      .epochs = training.epochs,
      .batch = batch,
      .seed = training.seed,
      .schedule = optim::CosineLR{.base = training.lr, .total = std::max<std::int64_t>(2, training.epochs * (train.rows() / batch))},
      .clip_norm = 1,
      .checkpoint = training.checkpoint,
      .stop_on_interrupt = true,
      .early_stopping = best_of(training, goodness),
      .progress = Progress::No};
  if (is_regression) options.metrics = {{"mae", l1_loss}};
  Trainer trainer(model.net(), adam, is_regression ? Loss(mse_loss) : Loss(cross_entropy), options);
  const History history =
      train_with_report(trainer, training, goodness, "rows", data::ArrayDataset(model.inputs(train), model.targets(train)),
                        data::ArrayDataset(model.inputs(test), model.targets(test)));
  models::save_table_model(training.out, model, csv);
  print_quality(model, test, "validation");
  if (!choice.test.empty()) print_quality(model, labelled_rows(layout, io::read_csv(choice.test, csv), choice.test), "test");
  std::printf("model: %s\n", training.out.c_str());
  draw_curve(training.plot, history, choice.file);
}

/// A field as CSV writes it.
std::string field_text(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace

void predict_tables(const std::string& path, const std::vector<std::string>& tables) {
  const auto [model, csv] = models::load_table_model(path);
  const models::TableLayout& layout = model.layout();
  const bool is_regression = layout.task == models::TableTask::Regression;
  for (const std::string& file : tables) {
    const io::Table table = io::read_csv(file, csv);
    const std::vector<double> said = model.predict(table).to_host<double>();
    std::string heading;
    for (const std::string& name : table.names()) heading += field_text(name) + ",";
    std::printf("%spredicted%s\n", heading.c_str(), is_regression ? "" : ",probability");
    const auto outputs = static_cast<std::size_t>(layout.outputs());
    for (std::int64_t row = 0; row < table.rows(); ++row) {
      std::string line;
      for (const std::string& name : table.names()) line += field_text(table.text(row, name)) + ",";
      const double* scores = said.data() + static_cast<std::size_t>(row) * outputs;
      const auto best = static_cast<std::size_t>(std::max_element(scores, scores + outputs) - scores);
      line += is_regression ? format("%.6g", scores[0]) : field_text(layout.classes[best]) + format(",%.4f", scores[best]);
      std::printf("%s\n", line.c_str());
    }
  }
}

void evaluate_table(const std::string& path, const std::string& file) {
  const auto [model, csv] = models::load_table_model(path);
  print_quality(model, labelled_rows(model.layout(), io::read_csv(file, csv), file), file.c_str());
}

void add_train_table(Command& train) {
  auto choice = std::make_shared<TableChoice>();
  TableChoice& c = *choice;
  Command command = train.command("table", "a column of a table from its other columns: numbers, dates, texts, with gaps");
  command.last_counts();
  command.option("file", c.file, "a table (CSV, gzip too) whose first line names the columns").required().type("TABLE");
  command.option("--target", c.target, "the column to tell: numbers are regressed; texts, and few whole numbers, are classes")
      .required()
      .type("COLUMN");
  command.option("--task", c.task, "when the target does not say it").check(one_of({"regression", "classification"}));
  command.option("--ignore", c.ignore, "columns that must not help, such as a number of the row").commas().type("COLUMN");
  command.option("--missing", c.missing, "what stands for no value, beside empty cells [NA,N/A,nan,NaN,null,NULL,?]").commas().type("TEXT");
  command.option("--separator", c.separator, "between cells, or tab [the first line tells]").check(not_empty()).type("SIGN");
  command.option("--decimal", c.decimal, "in front of a number's fraction").check(not_empty()).shows_default().type("SIGN");
  command.option("--thousands", c.thousands, "between groups of three digits").check(not_empty()).type("SIGN");
  command.option("--test", c.test, "another table of this kind, measured with the best weights at the end")
      .check(not_empty())
      .type("TABLE");
  command.option("--hidden", c.hidden, "numbers of a layer").check(positive()).shows_default().type("N");
  command.option("--layers", c.layers, "of the net").check(positive()).shows_default().type("N");
  command.option("--dropout", c.dropout, "probability").check(between(0, 0.99)).shows_default().type("P");
  add_options(command, c.training, "rows");
  command.runs([choice] { run_train_table(*choice); });
}

}  // namespace tegula::app
