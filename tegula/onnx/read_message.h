#pragma once
// Messages of protocol buffers out of a file or out of memory, bounded for files of any content.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <google/protobuf/arena.h>
#include <google/protobuf/message_lite.h>

#include "tegula/io/file.h"

namespace tegula::onnx {

/// protobuf's limit, which is ONNX's own: files of more have their tensors beside them. Bytes.
inline constexpr std::uint64_t kMostInMessage = (std::uint64_t{1} << 31) - (1 << 20);

/// The origin of a model's bytes, and the sizes that may still be made of them.
struct Source {
  std::string name;  // of the file
  std::string folder = {};  // of external data; empty: there is none
  std::int64_t sparse_left = std::int64_t{1} << 28;  // elements that sparse tensors are written out to
  std::map<std::string, std::uint64_t> external = {};  // bytes that were read, by file

  /// Throws Error: `got` is the file's content.
  [[noreturn]] void fail(const std::string& got) const;
};

/// The bytes of a message.
struct Content {
  std::span<const std::byte> bytes = {};
  const io::InputFile* file = nullptr;  // null: the bytes are in memory

  std::uint64_t size() const { return file ? file->size() : bytes.size(); }
};

/// Parses a message of the type of `empty` into the arena, which must be empty. A file is read in pieces, so that its bytes are in memory once, as what they mean.
/// Throws Error, which names the place, for bytes that are no such message, for more than kMostInMessage, and for messages that take much more memory than
/// the file (an empty one takes two bytes there): more than 64 MiB and 32 bytes for each of its own.
google::protobuf::MessageLite& read_message(const google::protobuf::MessageLite& empty, google::protobuf::Arena& arena,
                                            const Content& content, const Source& source);
template <class Message>
Message& read_message(google::protobuf::Arena& arena, const Content& content, const Source& source) {
  return static_cast<Message&>(read_message(Message::default_instance(), arena, content, source));
}

}  // namespace tegula::onnx
