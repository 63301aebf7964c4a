#include "tegula/io/png.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "tegula/core/error.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"

// libpng reports errors by longjmp, which skips destructors. The functions below that call setjmp therefore own nothing: everything to
// be destroyed is in a struct of their caller, which throws the message after they returned false.
namespace tegula::io {
namespace {

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 28;
constexpr std::uint64_t kMaxExpansion = 1040;  // the maximum of deflate, rounded up

struct Job {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string message;
  bool reading = false;
  std::span<const std::byte> input{};  // bytes not read yet
  Bytes output{};
  std::vector<png_bytep> rows{};
  bool truncated = false;

  ~Job() {
    if (reading) png_destroy_read_struct(&png, &info, nullptr);
    else png_destroy_write_struct(&png, &info);
  }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* job = static_cast<Job*>(png_get_error_ptr(png));
  if (job->message.empty()) job->message.assign(message);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep into, std::size_t count) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  if (count > job->input.size()) {
    job->truncated = true;
    png_error(png, "the file ends too early");
  }
  std::memcpy(into, job->input.data(), count);
  job->input = job->input.subspan(count);
}

void on_write(png_structp png, png_bytep from, std::size_t count) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  bool full = false;
  try {
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    job->output.insert(job->output.end(), bytes, bytes + count);
  } catch (const std::bad_alloc&) {
    full = true;  // png_error must not jump out of the handler
  }
  if (full) png_error(png, "no memory");
}

void on_flush(png_structp) {}

bool read_header(Job& job) {
  if (setjmp(png_jmpbuf(job.png))) return false;
  png_set_read_fn(job.png, &job, on_read);
  png_set_user_limits(job.png, 1 << 24, 1 << 24);
  png_set_keep_unknown_chunks(job.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);  // texts, profiles and times are passed over
  png_read_info(job.png, job.info);
  return true;
}

bool set_transforms(Job& job) {
  if (setjmp(png_jmpbuf(job.png))) return false;
  png_set_expand(job.png);  // palette to RGB, fewer than 8 bits to 8, transparent colour to alpha
  png_set_scale_16(job.png);  // 16 bits to 8, rounded
  png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.info);
  return true;
}

bool read_pixels(Job& job) {
  if (setjmp(png_jmpbuf(job.png))) return false;
  png_read_image(job.png, job.rows.data());
  png_read_end(job.png, nullptr);
  return true;
}

bool write_pixels(Job& job, std::uint32_t width, std::uint32_t height, int colour) {
  if (setjmp(png_jmpbuf(job.png))) return false;
  png_set_write_fn(job.png, &job, on_write, on_flush);
  png_set_IHDR(job.png, job.info, width, height, 8, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(job.png, job.info);
  png_write_image(job.png, job.rows.data());
  png_write_end(job.png, nullptr);
  return true;
}

[[noreturn]] void complain(std::string_view name, const std::string& got, std::string expected, std::string advice) {
  throw Error({.op = "png", .got = std::string(name) + ": " + got, .expected = std::move(expected), .advice = std::move(advice)});
}

[[noreturn]] void complain(std::string_view name, const Job& job) {
  complain(name, job.message, "a PNG picture",
           job.truncated ? "the file is truncated; fetch it again" : "the file is damaged or of another kind");
}

/// Chunks must lie within the file: libpng takes memory for what a chunk says before it reads it. A chunk is its length (big-endian), 4 letters, the
/// data and 4 bytes of CRC.
void require_whole_chunks(std::span<const std::byte> bytes, std::string_view name) {
  constexpr std::size_t kSignature = 8, kFrame = 12;
  for (std::size_t at = kSignature; at + kFrame <= bytes.size();) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
    if (length > bytes.size() - at - kFrame)
      complain(name, "the file ends too early", "a PNG picture", "the file is truncated; fetch it again");
    if (std::memcmp(bytes.data() + at + 4, "IEND", 4) == 0) return;
    at += kFrame + static_cast<std::size_t>(length);
  }
}

void point_rows(Job& job, const HostArray& image, std::size_t row_bytes) {
  job.rows.resize(static_cast<std::size_t>(image.shape[0]));
  for (std::size_t y = 0; y < job.rows.size(); ++y) job.rows[y] = static_cast<png_bytep>(image.buffer->data()) + y * row_bytes;
}

}  // namespace

HostArray parse_png(std::span<const std::byte> bytes, std::string_view name) {
  refuse_other_kinds(bytes, {FileKind::Png}, "png", name, "a PNG picture");
  require_whole_chunks(bytes, name);
  Job job{.message = {}, .reading = true, .input = bytes};
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  job.info = job.png ? png_create_info_struct(job.png) : nullptr;
  if (!job.info) complain(name, "libpng could not start", "enough memory and the libpng it was built with", "");
  if (!read_header(job)) complain(name, job);

  const std::uint64_t width = png_get_image_width(job.png, job.info), height = png_get_image_height(job.png, job.info);
  if (width * height > kMaxPixels) {
    complain(name, std::to_string(width) + " x " + std::to_string(height) + " pixels", "at most 2^28", "scale the picture down first");
  }
  // Before memory is taken: can this file hold so many pixels at all?
  if (png_get_rowbytes(job.png, job.info) * height > bytes.size() * kMaxExpansion) {
    complain(name, std::to_string(bytes.size()) + " bytes for " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
             "a PNG picture", "the file is truncated; fetch it again");
  }
  if (!set_transforms(job)) complain(name, job);
  const HostArray image =
      HostArray::empty(u8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), png_get_channels(job.png, job.info)});
  const std::size_t row_bytes = png_get_rowbytes(job.png, job.info);
  if (row_bytes * height != image.bytes())
    complain(name, "a bit depth libpng could not turn into 8", "8 bits per channel", "convert the picture first");
  point_rows(job, image, row_bytes);
  if (!read_pixels(job)) complain(name, job);
  return image;
}

HostArray read_png(const std::string& path) { return parse_png(read_file(path, {.op = "png"}), path); }

void write_png(const std::string& path, const HostArray& image) {
  const int rank = image.shape.rank();
  const std::int64_t channels = rank == 3 ? image.shape[2] : 1;
  if (image.dtype != u8 || rank < 2 || rank > 3 || (channels != 1 && channels != 3)) {
    complain(path, "shape " + to_string(image.shape) + " of " + std::string(tegula::name(image.dtype)),
             "(H, W), (H, W, 1) or (H, W, 3) of u8", "scale to 0..255, cast to u8 and put the channels last");
  }
  const std::int64_t height = image.shape[0], width = image.shape[1];
  if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
    complain(path, "shape " + to_string(image.shape), "at least one pixel, sides below 2^31", "");
  Job job;
  job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  job.info = job.png ? png_create_info_struct(job.png) : nullptr;
  if (!job.info) complain(path, "libpng could not start", "enough memory and the libpng it was built with", "");
  point_rows(job, image, static_cast<std::size_t>(width * channels));
  if (!write_pixels(job, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height),
                    channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY)) {
    complain(path, job.message, "a picture libpng can write", "use a smaller picture");
  }
  write_atomically(path, job.output, "png");
}

}  // namespace tegula::io
