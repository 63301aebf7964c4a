// SentencePiece models, GGUF vocabularies and llama2.c's tokenizers from arbitrary bytes are tokenizers or throw tegula::Error.

#include <cstdint>
#include <cstdlib>

#include "tegula/core/error.h"
#include "tegula/io/gguf.h"
#include "tegula/text/tokens/tokenizer_files.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula::text;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto use = [](auto make) {
    try {
      const Tokenizer tokenizer = make();
      for (const auto id : tokenizer.encode("the text \xC3\xA9\xFF 42")) {
        if (id < 0 || id >= tokenizer.size()) std::abort();
      }
    } catch (const tegula::Error& error) {
      if (error.report().op.empty()) std::abort();
    }
  };
  use([&] { return parse_sentencepiece(bytes, "fuzz"); });
  use([&] { return parse_llama2c_tokenizer(bytes, "fuzz"); });
  use([&] { return gguf_tokenizer(tegula::io::parse_gguf_metadata(bytes, "fuzz")); });
  try {
    if (tegula::io::parse_gguf_tensors(bytes, "fuzz").size() > size) std::abort();
  } catch (const tegula::Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
