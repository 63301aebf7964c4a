#include "tegula/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "tegula/core/error.h"

namespace tegula::io {

bool is_gzip(std::span<const std::byte> bytes) { return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b}; }

struct GzipReader::Inflater {
  z_stream stream{};
  bool ready = inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK;  // 16: gzip wrapper, with CRC and length check
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
};

GzipReader::GzipReader(std::span<const std::byte> bytes, std::string_view name, std::string_view op)
    : bytes_(bytes),
      name_(name),
      op_(op),
      inflater_(std::make_unique<Inflater>()) {
  if (!inflater_->ready) fail("zlib could not start", "enough memory", "");
}

GzipReader::~GzipReader() = default;

void GzipReader::fail(std::string got, std::string expected, std::string advice) const {
  throw Error({.op = op_, .got = name_ + ": " + std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
}

std::size_t GzipReader::read(std::span<std::byte> into) {
  constexpr std::size_t kChunk = std::numeric_limits<uInt>::max();
  z_stream& stream = inflater_->stream;
  std::size_t written = 0;
  while (written < into.size() && !ended_) {
    const auto input = static_cast<uInt>(std::min(bytes_.size() - used_, kChunk));
    const auto output = static_cast<uInt>(std::min(into.size() - written, kChunk));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes_.data() + used_));  // zlib's interface lacks const
    stream.avail_in = input;
    stream.next_out = reinterpret_cast<Bytef*>(into.data() + written);
    stream.avail_out = output;
    const int code = inflate(&stream, Z_NO_FLUSH);
    used_ += input - stream.avail_in;
    written += output - stream.avail_out;
    if (code == Z_STREAM_END) {
      ended_ = used_ == bytes_.size();
      if (ended_) break;
      if (!is_gzip(bytes_.subspan(used_)))
        fail(std::to_string(bytes_.size() - used_) + " bytes after the gzip data", "the end of the file",
             "the file is damaged; fetch it again");
      inflateReset(&stream);
    } else if (code == Z_BUF_ERROR || (code == Z_OK && used_ == bytes_.size() && stream.avail_out != 0)) {
      fail("gzip data that stop after " + std::to_string(bytes_.size()) + " bytes", "the rest of the gzip data",
           "the file is truncated; fetch it again");
    } else if (code != Z_OK) {
      fail("corrupt gzip data near byte " + std::to_string(used_) + (stream.msg ? std::string(" (") + stream.msg + ")" : ""), "gzip data",
           "the file is damaged; fetch it again");
    }
  }
  return written;
}

bool GzipReader::at_end() {
  std::byte more{};
  return read({&more, 1}) == 0;
}

Bytes gunzip(std::span<const std::byte> bytes, std::string_view name, const ReadOptions& options) {
  GzipReader reader(bytes, name, options.op);
  // Memory grows with the decompressed data: neither the length in the trailer nor deflate's greatest ratio is trusted.
  constexpr std::size_t kFirst = std::size_t{1} << 20, kFree = std::size_t{256} << 20, kMostExpansion = 200;
  const std::size_t limit = std::min(options.limit, std::max(kFree, kMostExpansion * bytes.size()));
  Bytes out;
  std::size_t written = 0;
  for (;;) {
    const std::size_t room = std::min(std::max(kFirst, 2 * written), limit);
    try {
      out.resize(room);
    } catch (const std::bad_alloc&) {
      reader.fail("more than " + std::to_string(written) + " bytes when decompressed", "memory for them",
                  "decompress the file first, and cut it");
    }
    written += reader.read(std::span(out).subspan(written));
    if (written < out.size()) break;
    if (written < limit) continue;
    if (reader.at_end()) break;
    reader.fail("more than " + std::to_string(limit) + " bytes when decompressed, out of " + std::to_string(bytes.size()),
                "at most " + std::to_string(limit) + " bytes", "this is probably not the file you meant");
  }
  out.resize(written);
  return out;
}

}  // namespace tegula::io
