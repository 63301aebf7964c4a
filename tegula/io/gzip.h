#pragma once
// Decompression of gzip files (RFC 1952), whole or piece by piece.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tegula/io/file.h"

namespace tegula::io {

/// True if the bytes begin with the gzip magic.
bool is_gzip(std::span<const std::byte> bytes);

/// Decompresses one or more gzip members, checking CRC and length. `name` stands for the file in messages.
/// Throws Error for truncated or corrupt data, for bytes after the last member, and when the output passes the limit, or 256 MiB and 200 times
/// the input (text packs to a third or a tenth of its size; a thousandth is a file made to fill the memory). Takes at most three
/// times the memory of the output, whatever the file promises.
Bytes gunzip(std::span<const std::byte> bytes, std::string_view name, const ReadOptions& options = {});

/// The same piece by piece, for a reader whose format says how much there is: it takes no more memory than the pieces do.
class GzipReader {
 public:
  /// Refers to `bytes`.
  GzipReader(std::span<const std::byte> bytes, std::string_view name, std::string_view op);
  ~GzipReader();

  /// Fills `into`; fewer bytes mean that the data, whole and checked, ended. Throws Error as gunzip does.
  std::size_t read(std::span<std::byte> into);
  /// True if the data has ended; otherwise consumes a byte, so call it last.
  bool at_end();
  [[noreturn]] void fail(std::string got, std::string expected, std::string advice) const;

 private:
  struct Inflater;
  std::span<const std::byte> bytes_;
  std::string name_, op_;
  std::unique_ptr<Inflater> inflater_;
  std::size_t used_ = 0;  // bytes of bytes_ consumed
  bool ended_ = false;
};

}  // namespace tegula::io
