#pragma once
// Curves for TensorBoard: event files of TFRecords, each an Event message in protobuf's wire format.

#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::io {

/// io::EventFile events("runs/first"); events.scalar("loss/train", step, loss);   then: tensorboard --logdir runs
/// Each value is in the file when the call returns.
class EventFile {
 public:
  /// A new file in `folder`, which is created if it is missing. Throws Error when that fails.
  explicit EventFile(const std::string& folder);
  ~EventFile();
  EventFile(EventFile&& other) noexcept;
  EventFile& operator=(EventFile&& other) = delete;

  /// Tags with one part in front of a slash stand together in TensorBoard. Throws Error when the disk refuses.
  void scalar(std::string_view tag, std::int64_t step, double value);
  const std::string& path() const { return path_; }

 private:
  void write(const std::string& event);
  std::string path_;
  int descriptor_ = -1;
};

/// CRC-32C (Castagnoli), as TFRecords and iSCSI have it.
std::uint32_t crc32c(std::string_view bytes);
/// The same as TensorFlow's files keep it, so that a CRC of data that hold CRCs stays a check.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace tegula::io
