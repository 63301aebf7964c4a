// tokenizer.json from arbitrary bytes is a tokenizer, whose numbers are below its size, or throws tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/text/tokens/tokenizer_files.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto tokenizer = tegula::text::parse_tokenizer_json({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const char* text : {"", "The quick brown fox's 123 \xC3\xA9t\xC3\xA9!", "\xF0\x9F\xA6\x99 \xFF\xC3 <s>"}) {
      const auto ids = tokenizer.encode(text);
      for (const auto id : ids) {
        if (id < 0 || id >= tokenizer.size()) std::abort();
      }
      tokenizer.decode(ids);
    }
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
