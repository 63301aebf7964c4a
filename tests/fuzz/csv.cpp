// The CSV reader on arbitrary bytes returns a table with as many cells as rows times columns, or throws tegula::Error.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tegula/core/error.h"
#include "tegula/io/csv.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const tegula::io::CsvOptions european{.missing = {"NA"}, .decimal = ',', .thousands = '.'};
    for (const auto& options : {tegula::io::CsvOptions{}, tegula::io::tsv(tegula::io::Header::No), european}) {
      const tegula::io::Table table = tegula::io::parse_csv(text, "fuzz", options);
      for (const auto& name : table.names()) {
        if (static_cast<std::int64_t>(table.texts(name).size()) != table.rows()) std::abort();
        if (table.classes(name).labels.size() != table.rows()) std::abort();
        try {
          if (table.numbers({name}, 0.0, tegula::f64).size() != table.rows()) std::abort();
        } catch (const tegula::Error& error) {
          if (error.report().op.empty()) std::abort();
        }
        const bool are_dates = table.kind(name) == tegula::io::ColumnKind::Dates;
        if (are_dates && table.days(name, tegula::io::DateOrder::YearMonthDay, 0.0).size() != table.rows()) std::abort();
      }
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
