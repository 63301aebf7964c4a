// Models of tables and of pictures: a layout's features of a table's cells, and files with wrong sizes.

#include <gtest/gtest.h>

#include <cmath>

#include "tegula/models/image_classifier.h"
#include "tegula/models/model_file.h"
#include "tegula/models/table.h"
#include "tegula/nn/state.h"
#include "tegula/ops/random.h"
#include "tests/io/files.h"

namespace tegula::models {
namespace {

using testing::TemporaryFolder;
using Texts = std::vector<std::string>;

io::Table pets() {
  return io::parse_csv(
      "height,kind,born,name,weight\n1.5,cat,2020-01-01,Tom,4\nNA,dog,,Rex,\n2,cat,2020-01-03,Ada,5.5\n3,dog,2020-01-04,Bo,7\n", "pets.csv",
      {.missing = {"NA"}});
}

TEST(TableLayout, MakesNumbersAndCategoriesOfCells) {
  const io::Table table = pets();
  const TableLayout layout = TableLayout::of(table, "weight");
  EXPECT_EQ(layout.task, TableTask::Regression);
  EXPECT_EQ(layout.numbers(), 2);
  EXPECT_EQ(layout.categorical(), 1);
  EXPECT_EQ(layout.left_out, (Texts{"name (4 different texts)"}));
  EXPECT_EQ(layout.labelled(table), (std::vector<std::int64_t>{0, 2, 3}));
  const HostArray inputs = layout.inputs(table);
  ASSERT_EQ(inputs.shape, (Shape{4, 3}));
  const auto x = inputs.values<float>();
  EXPECT_EQ(x[0], 1.5f);
  EXPECT_TRUE(std::isnan(x[3]));
  EXPECT_EQ(x[7] - x[1], 2.0f);  // days
  EXPECT_TRUE(std::isnan(x[4]));
  EXPECT_EQ((std::vector<float>{x[2], x[5], x[8], x[11]}), (std::vector<float>{0, 1, 0, 1}));
  // Another table may hold texts that this one had not.
  const auto other = layout.inputs(io::parse_csv("kind,height,born\nox,1,2020-01-01\n", "other.csv"));
  EXPECT_EQ(other.values<float>()[2], -1.0f);
  EXPECT_ERROR(layout.inputs(io::parse_csv("kind,height\ncat,1\n", "other.csv")), "no column born");
  EXPECT_ERROR(layout.targets(table), "pets.csv, line 3: column weight");
  const TableLayout again = TableLayout::parse(layout.text(), "file");
  EXPECT_EQ(again.text(), layout.text());
  EXPECT_EQ(TableLayout::of(table, "kind").classes, (Texts{"cat", "dog"}));
}

TEST(TableLayout, RefusesWhatIsNone) {
  for (const char* text : {"", "[]", "{}", R"({"columns":[],"target":"t","task":"regression"})",
                           R"({"columns":[{"name":"a","kind":"sounds"}],"target":"t","task":"regression"})",
                           R"({"columns":[{"name":"a","kind":"numbers"}],"target":"t","task":"classification","classes":["one"]})",
                           R"({"columns":[{"name":"a","kind":"texts","categories":[]}],"target":"t","task":"regression"})"})
    EXPECT_ERROR(TableLayout::parse(text, "file"), "table: got file");
}

TEST(TableLayout, RefusesNumbersThatAreNoneAndTextsThatNoFileHolds) {
  const io::Table commas = io::parse_csv("a;price\n1;1,5\n2;-2.500\n3;3,5\n", "t.csv", {.separator = ';'});
  EXPECT_ERROR(TableLayout::of(commas, "price"), "a target price of 3 different texts in 3 rows, such as \"-2.500\"");
  EXPECT_EQ(TableLayout::of(commas, "price", {.task = TableTask::Classification}).classes.size(), 3U);
  const io::Table sizes = io::parse_csv("a,size\n1,40-60\n2,60-80\n3,40-60\n", "t.csv");  // no numbers
  EXPECT_EQ(TableLayout::of(sizes, "size").classes.size(), 2U);
  const io::Table infinite = io::parse_csv("a,y\n1,2.5\ninf,3.5\n", "t.csv");
  EXPECT_ERROR(TableLayout::of(infinite, "y"), "an infinite number in column a, row 2");
  EXPECT_ERROR(TableLayout::of(infinite, "a", {.task = TableTask::Regression}), "in column a, row 2");
  const TableLayout finite = TableLayout::of(io::parse_csv("a,y\n1,2.5\n2,3.5\n", "t.csv"), "y");
  EXPECT_ERROR(finite.inputs(infinite), "in column a, row 2");
  EXPECT_ERROR(TableLayout::of(io::parse_csv("town,y\nK\xf6ln,1.5\nK\xf6ln,2.5\n", "t.csv"), "y"), "not UTF-8");
}

TEST(TableModel, AFileGivesTheSamePredictionsAndTheWayTheTableWasWritten) {
  const TemporaryFolder folder;
  const io::Table table = pets();
  const TableLayout layout = TableLayout::of(table, "weight");
  TableModel model(layout, {.hidden = 8, .layers = 1});
  model.fit_preprocessing(table.take(layout.labelled(table)));
  save_table_model(folder / "m", model, {.separator = ';', .missing = {"NA", "?"}, .decimal = ',', .thousands = '.'});
  const auto [other, csv] = load_table_model(folder / "m");
  EXPECT_EQ(other.predict(table).to_host(), model.predict(table).to_host());
  EXPECT_EQ(csv.separator, ';');
  EXPECT_EQ(csv.missing, (Texts{"NA", "?"}));
  EXPECT_EQ(csv.decimal, ',');
  EXPECT_EQ(csv.thousands, '.');
}

TEST(OwnModels, SizesThatTheWeightsHaveNotTakeNoMemory) {
  const TemporaryFolder folder;
  const io::Table table = pets();
  save_table_model(folder / "t", TableModel(TableLayout::of(table, "weight"), {.hidden = 4, .layers = 1}));
  save_image_classifier(folder / "i", ImageClassifier({.size = 8, .width = 2, .stages = 2}), {"a", "b"});
  EXPECT_EQ(load_image_classifier(folder / "i").classes, (Texts{"a", "b"}));
  const auto with = [&](const std::string& file, const std::string& name, double value) {
    ModelFile read = read_model_file(folder / file);
    read.description.numbers[name] = value;
    write_model_file(folder / "changed", read.description, read.state);
    return folder / "changed";
  };
  EXPECT_ERROR(load_table_model(with("t", "hidden", 65536)), "layers.0.weight (4, 4)");
  EXPECT_ERROR(load_table_model(with("t", "layers", 64)), "weights without layers.1.weight");
  EXPECT_ERROR(load_image_classifier(with("i", "width", 1024)), "blocks.0.conv2.weight (2, 2, 3, 3)");
  EXPECT_ERROR(load_image_classifier(with("i", "stages", 6)), "weights without blocks.2.conv2.weight");
  EXPECT_ERROR(load_image_classifier(folder / "t"), "the model table, expected a classifier of pictures");
  EXPECT_ERROR(load_table_model(folder / "i"), "the model images, expected a model of a table");
}

}  // namespace
}  // namespace tegula::models
