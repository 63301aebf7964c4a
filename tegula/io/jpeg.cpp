#include "tegula/io/jpeg.h"

#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/io/file.h"
#include "tegula/io/file_kind.h"
#include "tegula/io/png.h"

#if TEGULA_HAS_JPEG
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants FILE
#include <cstdlib>

#include <jerror.h>
#include <jpeglib.h>
#endif

// libjpeg reports errors by a function that must not return, and longjmp skips destructors. The functions below that call setjmp therefore own
// nothing: everything to be destroyed is in a struct of their caller, which throws the message after they returned false.
namespace tegula::io {
namespace {

[[noreturn]] void complain(std::string_view name, const std::string& got, std::string expected, std::string advice) {
  throw Error(
      {.op = "jpeg", .got = printable(std::string(name) + ": " + got), .expected = std::move(expected), .advice = std::move(advice)});
}

#if TEGULA_HAS_JPEG

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostPixelsPerByte = 1024;  // gray everywhere takes one bit a block in each of few scans
constexpr int kMostScans = 200;  // a file of a few kilobytes can ask for thousands

struct Job {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX] = "";
  bool created = false;

  ~Job() {
    if (created) jpeg_destroy_decompress(&info);
  }
};

Job& job_of(j_common_ptr info) { return *static_cast<Job*>(info->client_data); }

[[noreturn]] void on_error(j_common_ptr info) {
  Job& job = job_of(info);
  info->err->format_message(info, job.message);
  std::longjmp(job.back, 1);
}

// Warnings are of data that libjpeg had to make up; those that are about harmless bytes pass.
void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE) on_error(info);
}

void on_progress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans) ERREXIT(info, JERR_BAD_SCAN_SCRIPT);
}

bool read_header(Job& job, std::span<const std::byte> bytes) {
  if (setjmp(job.back)) return false;
  job.info.err = jpeg_std_error(&job.errors);
  job.info.client_data = &job;
  job.errors.error_exit = on_error;
  job.errors.emit_message = on_message;
  jpeg_create_decompress(&job.info);
  job.created = true;
  job.info.client_data = &job;
  job.progress.progress_monitor = on_progress;
  job.info.progress = &job.progress;
  jpeg_mem_src(&job.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&job.info, TRUE);
  if (job.info.jpeg_color_space == JCS_GRAYSCALE) job.info.out_color_space = JCS_GRAYSCALE;
  else if (job.info.jpeg_color_space != JCS_CMYK && job.info.jpeg_color_space != JCS_YCCK) job.info.out_color_space = JCS_RGB;
  return true;
}

bool read_pixels(Job& job, unsigned char* pixels, std::size_t row_bytes) {
  if (setjmp(job.back)) return false;
  jpeg_start_decompress(&job.info);
  while (job.info.output_scanline < job.info.output_height) {
    JSAMPROW row = pixels + job.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&job.info, &row, 1);
  }
  jpeg_finish_decompress(&job.info);
  return true;
}

#endif

}  // namespace

#if TEGULA_HAS_JPEG

HostArray parse_jpeg(std::span<const std::byte> bytes, std::string_view name) {
  refuse_other_kinds(bytes, {FileKind::Jpeg}, "jpeg", name, "a JPEG picture");
  constexpr const char* kAdvice = "the file is truncated, damaged or of another kind";
  Job job;
  if (!read_header(job, bytes)) complain(name, job.message, "a JPEG picture", kAdvice);
  if (job.info.out_color_space != JCS_GRAYSCALE && job.info.out_color_space != JCS_RGB)
    complain(name, "CMYK colours", "gray or RGB", "convert the picture first");
  const std::uint64_t width = job.info.image_width, height = job.info.image_height, pixels = width * height;
  if (pixels > kMaxPixels)
    complain(name, std::to_string(width) + " x " + std::to_string(height) + " pixels", "at most 2^28", "scale the picture down first");
  if (pixels / kMostPixelsPerByte > bytes.size())  // before memory is taken
    complain(name, std::to_string(bytes.size()) + " bytes for " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
             "a JPEG picture", kAdvice);
  const std::int64_t channels = job.info.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  const HostArray image = HostArray::empty(u8, {static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), channels});
  if (!read_pixels(job, image.values<std::uint8_t>().data(), static_cast<std::size_t>(width) * static_cast<std::size_t>(channels)))
    complain(name, job.message, "a JPEG picture", kAdvice);
  return image;
}

#else

HostArray parse_jpeg(std::span<const std::byte>, std::string_view name) {
  complain(name, "a JPEG picture", "Tegula built with libjpeg-turbo", "install libjpeg-dev and build again; PNG files need nothing");
}

#endif

HostArray read_jpeg(const std::string& path) { return parse_jpeg(read_file(path, {.op = "jpeg"}), path); }

HostArray read_picture(const std::string& path) {
  const Bytes bytes = read_file(path, {.op = "read_picture"});
  const FileKind kind = kind_of(bytes);
  if (kind == FileKind::Jpeg) return parse_jpeg(bytes, path);
  if (kind == FileKind::Unknown) {
    throw Error({.op = "read_picture",
                 .got = printable(path) + ": a file of an unknown kind",
                 .expected = "a PNG or JPEG picture",
                 .advice = "the file is damaged, or no picture"});
  }
  refuse_other_kinds(bytes, {FileKind::Png}, "read_picture", path, "a PNG or JPEG picture");
  return parse_png(bytes, path);
}

}  // namespace tegula::io
