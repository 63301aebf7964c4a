#pragma once
// TensorFlow's checkpoints: an index, which is a table as LevelDB writes them, and the numbers in files beside it. The variables of a SavedModel are one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/core/host_array.h"
#include "tegula/io/contents.h"

namespace tegula::io {

struct CheckpointVariable {
  std::string key;  // "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"
  std::string name = {};  // the variable's own, "conv1/kernel", where the checkpoint keeps it
  std::string type = {};  // "f32", or words for one that is not read
  std::vector<std::uint64_t> shape = {};
  HostArray array = {};  // of numbers that were asked for
};

/// The variables of a checkpoint in the order of their keys. `path`: a SavedModel's folder, or the index ("w.index"), or the checkpoint's name without an end ("w").
/// Blocks and arrays are checked by their CRCs. Texts are left without values. Throws Error for a damaged checkpoint, one in big-endian order, compressed tables, and
/// for variables that were saved in slices.
std::vector<CheckpointVariable> read_checkpoint(const std::string& path, Contents contents = Contents::Arrays);

/// One entry of an index.
struct CheckpointEntry {
  std::string key;
  std::uint64_t type = 0, shard = 0, offset = 0, bytes = 0;  // type: TensorFlow's number
  std::uint32_t crc = 0;
  std::vector<std::uint64_t> shape = {};
  bool has_slices = false;
};
/// The index alone, from memory. `name` stands for the file in messages. Throws Error as above.
std::vector<CheckpointEntry> parse_checkpoint_index(std::span<const std::byte> bytes, std::string_view name,
                                                    std::uint64_t* shards = nullptr);

}  // namespace tegula::io
