// CSV as RFC 4180 has it, and TSV.

#include "tegula/io/csv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/io/files.h"

namespace tegula::io {
namespace {

using Texts = std::vector<std::string>;

TEST(Csv, ReadsRecordsNamesAndNumbers) {
  const Table table = parse_csv("id,height,kind\n1,1.5,cat\n2, -2e3 ,dog\n3,+7,cat\n", "file");
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.names(), (Texts{"id", "height", "kind"}));
  const HostArray numbers = table.numbers({"height", "id"});
  EXPECT_EQ(numbers.shape, (Shape{3, 2}));
  EXPECT_EQ(numbers.dtype, f32);
  EXPECT_EQ(std::vector<float>(numbers.values<float>().begin(), numbers.values<float>().end()),
            (std::vector<float>{1.5f, 1, -2000, 2, 7, 3}));
  EXPECT_EQ(table.numbers({"id"}, {}, f64).values<double>()[2], 3);
  const Classes kinds = table.classes("kind");
  EXPECT_EQ(kinds.names, (Texts{"cat", "dog"}));
  EXPECT_EQ(kinds.labels.values<std::int64_t>()[1], 1);
  EXPECT_EQ(table.text(2, "kind"), "cat");
  // The classes of the training set number those of the test set.
  const Classes test = parse_csv("kind\ndog\n", "test").classes("kind", kinds.names);
  EXPECT_EQ(test.labels.values<std::int64_t>()[0], 1);
}

TEST(Csv, NumbersBeyondADtypesRangeFollowOneRule) {
  const auto read = [](const std::string& text, DType dtype) {
    const HostArray array = parse_csv("x\n" + text + "\n", "file").numbers({"x"}, {}, dtype);
    return tegula::visit(dtype, [&](auto zero) { return as_double(array.values<decltype(zero)>()[0]); });
  };
  // Nearer to 0 than the dtype can tell: the nearest.
  for (const char* tiny : {"1e-330", "0.000e5", "1e-99999999999999999999", "0.0001e-324"}) EXPECT_EQ(read(tiny, f64), 0) << tiny;
  EXPECT_EQ(read("-1e-330", f64), 0);
  EXPECT_TRUE(std::signbit(read("-1e-330", f64)));
  EXPECT_EQ(read("1e-310", f64), 1e-310);
  EXPECT_EQ(read("1e-310", f32), 0);
  // Too large for it: an error.
  EXPECT_ERROR(read("1e39", f32), "file, line 2: column x holds \"1e39\", expected a number that f32 can hold");
  EXPECT_ERROR(read("70000", f16), "a number that f16 can hold");
  for (const char* huge : {"1e309", "-1e99999999999999999999", "12345678901e300"})
    EXPECT_ERROR(read(huge, f64), "a number that f64 can hold");
  EXPECT_EQ(read("1e39", f64), 1e39);
  EXPECT_TRUE(std::isinf(read("-inf", f32)));
  EXPECT_TRUE(std::isnan(read("nan", f16)));
  EXPECT_ERROR(read("1e", f32), "expected a number");
  EXPECT_ERROR(read("1e-330x", f32), "expected a number");
}

TEST(Csv, MarkersStandForNoValue) {
  const Table table = parse_csv("area,kind\n12,NA\n ? ,house\n,flat\n3,house\n", "file", {.missing = {"NA", "?"}});
  EXPECT_TRUE(table.is_missing(1, "area"));
  EXPECT_TRUE(table.is_missing(2, "area"));
  EXPECT_FALSE(table.is_missing(0, "area"));
  const HostArray area = table.numbers({"area"}, -1);
  EXPECT_EQ(std::vector<float>(area.values<float>().begin(), area.values<float>().end()), (std::vector<float>{12, -1, -1, 3}));
  EXPECT_ERROR(table.numbers({"area"}), "file, line 3: column area holds \" ? \"");
  const Classes kinds = table.classes("kind", {}, Unknown::MinusOne);
  EXPECT_EQ(kinds.names, (Texts{"flat", "house"}));
  const auto labels = kinds.labels.values<std::int64_t>();
  EXPECT_EQ(std::vector<std::int64_t>(labels.begin(), labels.end()), (std::vector<std::int64_t>{-1, 1, 0, 1}));
  EXPECT_EQ(table.classes("kind", {"house"}, Unknown::MinusOne).labels.values<std::int64_t>()[2], -1);
  EXPECT_ERROR(table.classes("kind", {"house"}), "file, line 2: column kind holds \"NA\"");
  EXPECT_EQ(table.kind("area"), ColumnKind::Numbers);
  EXPECT_EQ(table.kind("kind"), ColumnKind::Texts);
  EXPECT_EQ(parse_csv("a\nNA\n", "f", {.missing = {"NA"}}).kind("a"), ColumnKind::None);
}

TEST(Csv, DecimalAndThousandsSigns) {
  const auto read = [](const std::string& text, char decimal, std::optional<char> thousands) {
    const Table table = parse_csv("x\n" + text + "\n", "file", {.separator = ';', .decimal = decimal, .thousands = thousands});
    return table.numbers({"x"}, {}, f64).values<double>()[0];
  };
  EXPECT_EQ(read("1,5", ',', {}), 1.5);
  EXPECT_EQ(read("-1.234.567,25", ',', '.'), -1234567.25);
  EXPECT_EQ(read("1,234,567.5", '.', ','), 1234567.5);
  EXPECT_EQ(read("1 500", '.', ' '), 1500);
  EXPECT_EQ(read("1'500e2", '.', '\''), 150000);
  EXPECT_EQ(read("12", ',', '.'), 12);
  for (const auto& [text, decimal, thousands] : std::vector<std::tuple<std::string, char, std::optional<char>>>{{"1.5", ',', {}},
                                                                                                                {"1,50,000", '.', ','},
                                                                                                                {"1,5", '.', ','},
                                                                                                                {",500", '.', ','},
                                                                                                                {"1234,567", '.', ','},
                                                                                                                {"1,5,0", ',', {}},
                                                                                                                {"1.5.0", ',', '.'}})
    EXPECT_ERROR(read(text, decimal, thousands), "expected a number");
}

TEST(Csv, DatesAreDaysSince1970) {
  const auto read = [](const std::string& text, DateOrder order = DateOrder::YearMonthDay) {
    return parse_csv("x\n" + text + "\n", "file").days("x", order).values<double>()[0];
  };
  EXPECT_EQ(read("1970-01-01"), 0);
  EXPECT_EQ(read("2000-03-01"), 11017);
  EXPECT_EQ(read("1969/12/31"), -1);
  EXPECT_EQ(read("29.02.2024", DateOrder::DayMonthYear), read("2/29/2024", DateOrder::MonthDayYear));
  EXPECT_EQ(read("1970-01-02 12:00"), 1.5);
  EXPECT_EQ(read("1970-01-01T06:00:00Z"), 0.25);
  EXPECT_NEAR(read("1970-01-01 00:00:01.5"), 1.5 / 86400, 1e-15);
  for (const char* text : {"2023-02-29", "2024-13-01", "24-01-01", "2024-01", "2024-01/01", "2024-01-01 25:00", "2024-01-01x", "yesterday"})
    EXPECT_ERROR(read(text), "expected a date such as 2024-02-29");
  const Table table = parse_csv("day,x\n2024-01-01,1\n,2\n", "file");
  EXPECT_EQ(table.kind("day"), ColumnKind::Dates);
  EXPECT_TRUE(std::isnan(table.days("day", DateOrder::YearMonthDay, NAN).values<double>()[1]));
  EXPECT_ERROR(table.days("day"), "say what a cell without a value stands for");
}

TEST(Csv, RowsCanBeTaken) {
  const Table table = parse_csv("a,b\n1,x\n2,y\n3,z\n", "file");
  const std::vector<std::int64_t> rows{2, 0, 2};
  const Table some = table.take(rows);
  EXPECT_EQ(some.texts("b"), (Texts{"z", "x", "z"}));
  EXPECT_EQ(some.names(), table.names());
  EXPECT_ERROR(some.numbers({"b"}), "file, line 4: column b");
  EXPECT_ERROR(table.take(std::vector<std::int64_t>{3}), "row 3, expected 0 to 2");
}

TEST(Csv, EnclosedFieldsHoldSeparatorsQuotesAndLines) {
  const Table table = parse_csv("a,b\r\n\"x, y\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",\r\n\"\",z", "file");
  EXPECT_EQ(table.texts("a"), (Texts{"x, y", "two\nlines", ""}));
  EXPECT_EQ(table.texts("b"), (Texts{"say \"hi\"", "", "z"}));
}

TEST(Csv, LineEndsByteOrderMarksAndEmptyLinesAreNoMatter) {
  for (const char* text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4\r\n",
                           "\xEF\xBB\xBF"
                           "a,b\n\n1,2\n\r\n3,4",
                           "a,b\n1,2\n3,4\n\n\n"}) {
    const Table table = parse_csv(text, "file");
    EXPECT_EQ(table.names(), (Texts{"a", "b"})) << text;
    EXPECT_EQ(table.texts("b"), (Texts{"2", "4"})) << text;
  }
  EXPECT_EQ(parse_csv("a,b,\n1,2,\n", "file", {.header = Header::No}).texts("2"), (Texts{"", ""}));
  EXPECT_EQ(parse_csv("a,b\n", "file").rows(), 0);
}

TEST(Csv, ACarriageReturnAloneEndsARecordWhereQuotesEnclose) {
  EXPECT_EQ(parse_csv("a,b\r1,2\r\r3,\"4\"\r", "file").texts("b"), (Texts{"2", "4"}));
  EXPECT_EQ(parse_csv("a\n\"1\r2\"\n", "file").texts("a"), (Texts{"1\r2"}));
  EXPECT_EQ(parse_csv("1\r2\t3\r\n", "file", tsv(Header::No)).text(0, "0"), "1\r2");
}

TEST(Csv, TheLastLineMayLackItsEnd) {
  EXPECT_EQ(parse_csv("a,b\n1,2", "file").texts("b"), (Texts{"2"}));
  EXPECT_EQ(parse_csv("a,b\n1,\"2\"", "file").texts("b"), (Texts{"2"}));
  EXPECT_EQ(parse_csv("a,b\n1,\"\"", "file").texts("b"), (Texts{""}));
  EXPECT_EQ(parse_csv("a,b\n1,", "file").texts("b"), (Texts{""}));
  EXPECT_EQ(parse_csv("a\n\"\"", "file").texts("a"), (Texts{""}));
  EXPECT_EQ(parse_csv("1\t2\n3\t", "file", tsv(Header::No)).texts("1"), (Texts{"2", ""}));
}

TEST(Csv, FieldsKeepTheirBytes) {
  using std::string_literals::operator""s;
  // Blanks at either end, zeros, bytes that are no UTF-8, line ends in quotes.
  const Texts fields{" a b\t ", "\0x\0"s, "\xff\xfe", "  ", "\r\n\n\r", ";,'\"", " \"\" "};
  for (const auto& [separator, quote] : {std::pair{',', '"'}, {';', '\''}, {'\t', '"'}, {'\0', '\xfe'}}) {
    std::string text;
    for (const std::string& field : fields) {
      text += quote;
      for (const char c : field) text += c == quote ? std::string(2, c) : std::string(1, c);
      text += quote;
      text += separator;
    }
    const Table table = parse_csv(text, "file", {.separator = separator, .quote = quote, .header = Header::No});
    ASSERT_EQ(table.columns(), fields.size() + 1);
    for (std::size_t i = 0; i < fields.size(); ++i) EXPECT_EQ(table.text(0, std::to_string(i)), fields[i]);
  }
  const std::string plain = " a b\t , \0x,\xff\xfe,  ,'"s;
  for (const std::optional<char> quote : {std::optional('"'), std::optional<char>()}) {
    const Table table = parse_csv(plain, "file", {.quote = quote, .header = Header::No});
    EXPECT_EQ(table.text(0, "0") + ',' + table.text(0, "1") + ',' + table.text(0, "2") + ',' + table.text(0, "3") + ",'", plain);
  }
}

TEST(Csv, AFieldMayBeLong) {
  std::string longest(5'000'000, 'x');
  for (std::size_t i = 0; i < longest.size(); i += 7) longest[i] = '\n';
  const Table table = parse_csv("a,b\n\"" + longest + "\",1\n2,x\n", "file");
  EXPECT_TRUE(table.text(0, "a") == longest);
  EXPECT_ERROR(table.numbers({"b"}), "line 714289: column b holds \"x\"");  // ceil(5e6 / 7) lines ended in the field
}

TEST(Csv, TabsSeparateTextWithQuotes) {
  const Table table = parse_csv("ham\tHe said \"no\"\nspam\t\"WIN\n", "file", tsv(Header::No));
  EXPECT_EQ(table.texts("1"), (Texts{"He said \"no\"", "\"WIN"}));
}

TEST(Csv, EmptyFieldsAreMissingNumbersWhenAsked) {
  const Table table = parse_csv("a,b\n1,\n,2\n", "file");
  const HostArray filled = table.numbers({"a", "b"}, std::nan(""));
  EXPECT_TRUE(std::isnan(filled.values<float>()[1]));
  EXPECT_EQ(filled.values<float>()[3], 2);
  EXPECT_ERROR(table.numbers({"a", "b"}), "file, line 2: column b holds \"\", expected a number");
}

TEST(Csv, MistakesAreNamedWithFileAndLine) {
  EXPECT_ERROR(parse_csv("a,b\n1,2\n1,2,3\n", "t.csv"), "t.csv, line 3: 3 fields, expected as many as in the first line, 2");
  EXPECT_ERROR(parse_csv("a,b\n1\n", "t.csv"), "line 2: 1 fields");
  EXPECT_ERROR(parse_csv("a,b\n1,\"2\n\n", "t.csv"), "line 2: a quote that is never closed");
  EXPECT_ERROR(parse_csv("a,b\n1,\"2\"3\n", "t.csv"), "line 2: text behind a closing quote");
  EXPECT_ERROR(parse_csv("a,b\n1,2\"3\n", "t.csv"), "line 2: a quote within");
  EXPECT_ERROR(parse_csv("a,b\r\n\r\n1,x\"y\r\n", "t.csv"), "line 3: a quote within x\", expected");
  EXPECT_ERROR(parse_csv("a,b\n\"1\n2\",\"3\n4\n", "t.csv"), "line 3: a quote that is never closed");  // the line where it opens
  EXPECT_ERROR(parse_csv("a,b\n\"1\n2\",\"3\n4\" ,\n", "t.csv"), "line 4: text behind a closing quote:  ,");  // the line where it closes
  EXPECT_ERROR(parse_csv("a,b\n1\n2,\"3", "t.csv"), "line 2: 1 fields");  // the first mistake of two
  EXPECT_ERROR(parse_csv("a\tb\n\n1\n", "t.tsv", tsv()), "t.tsv, line 3: 1 fields");
  EXPECT_ERROR(parse_csv("a,a\n", "t.csv"), "two columns of one name");
  EXPECT_ERROR(parse_csv("", "t.csv"), "nothing, expected at least one line");
  EXPECT_ERROR(parse_csv("\n\n", "t.csv"), "nothing");
  const Table table = parse_csv("a,b\n\"1\n2\",2\n3,4x\n", "t.csv");
  EXPECT_ERROR(table.numbers({"b"}), "t.csv, line 4: column b holds \"4x\"");  // a record of two lines came before
  EXPECT_ERROR(table.numbers({"c"}), "no column c, expected one of a, b");
  EXPECT_ERROR(table.numbers({"b"}, {}, i64), "a float dtype");
  EXPECT_ERROR(table.classes("b", {"2"}), "column b holds \"4x\", expected one of 2");
  EXPECT_ERROR(table.text(2, "a"), "row 2");
  EXPECT_ERROR(read_csv("/nowhere/t.csv"), "/nowhere/t.csv");
}

TEST(Csv, AWholeFileOfTextMessages) {
  const std::string shared = testing::shared_data();
  if (shared.empty()) GTEST_SKIP() << "skipped: no shared data";
  const Table table = read_csv(shared + "/text-classification/sms-spam/sms.tsv", tsv(Header::No));
  const Classes kinds = table.classes("0");
  EXPECT_EQ(kinds.names, (Texts{"ham", "spam"}));
  const auto labels = kinds.labels.values<std::int64_t>();
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), 747);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), 0), 4827);
}

}  // namespace
}  // namespace tegula::io
