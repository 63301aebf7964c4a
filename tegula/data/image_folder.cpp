#include "tegula/data/image_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/core/warning.h"
#include "tegula/io/file.h"
#include "tegula/io/jpeg.h"

namespace tegula::data {
namespace {

[[noreturn]] void refuse(std::string got, std::string expected, std::string advice, const Line& where) {
  throw Error({.op = "ImageFolder", .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where});
}

bool is_picture(const std::filesystem::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end == ".png" || end == ".jpg" || end == ".jpeg";
}

/// The entries of a folder by name. Entries whose name begins with a dot (.ipynb_checkpoints, ._cat.jpg) are no data: they go to `hidden`.
std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder, std::vector<std::string>& hidden) {
  std::error_code error;
  std::vector<std::filesystem::path> out;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) hidden.push_back(at->path().string());
    else out.push_back(at->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// Names the omitted folders: one that an editor left must not become a class, nor may an intended one be dropped unnoticed.
void tell_of_hidden(const std::string& root, std::vector<std::string> hidden) {
  if (hidden.empty()) return;
  std::sort(hidden.begin(), hidden.end());
  std::string list;
  for (std::size_t i = 0; i < hidden.size() && i < 5; ++i) list += (i ? ", " : "") + printable(hidden[i].substr(0, 120));
  if (hidden.size() > 5) list += " and " + std::to_string(hidden.size() - 5) + " more";
  warn("data.hidden", "ImageFolder: what begins with a dot is left out of " + printable(root) + ": " + list);
}

/// The source pixels of one pixel of a resized axis, with weights.
struct Mix {
  std::int64_t first;
  std::vector<float> weights;
};

std::vector<Mix> mixes(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Mix> out;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale - 0.5;
    const auto first = static_cast<std::int64_t>(std::max(std::ceil(centre - reach), 0.0));
    const auto last = static_cast<std::int64_t>(std::min(std::floor(centre + reach), static_cast<double>(from - 1)));
    Mix mix{first, {}};
    double sum = 0;
    for (std::int64_t j = first; j <= last; ++j) {
      const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(j) - centre) / reach);  // a triangle
      mix.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : mix.weights) weight = static_cast<float>(weight / sum);
    out.push_back(std::move(mix));
  }
  return out;
}

/// Along the middle axis of (outer, from, inner).
HostArray resize_axis(const HostArray& image, int axis, std::int64_t to) {
  Shape shape = image.shape;
  const std::int64_t from = shape[axis];
  if (from == to) return image;
  shape[axis] = to;
  const std::int64_t outer = numel(shape, 0, axis), inner = numel(shape, axis + 1, shape.rank());
  HostArray out = HostArray::empty(f32, shape);
  const float* x = image.values<float>().data();
  float* y = out.values<float>().data();
  const std::vector<Mix> all = mixes(from, to);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < to; ++i) {
      const Mix& mix = all[static_cast<std::size_t>(i)];
      float* row = y + (o * to + i) * inner;
      std::fill_n(row, inner, 0.0f);
      for (std::size_t k = 0; k < mix.weights.size(); ++k) {
        const float* source = x + (o * from + mix.first + static_cast<std::int64_t>(k)) * inner;
        for (std::int64_t c = 0; c < inner; ++c) row[c] += mix.weights[k] * source[c];
      }
    }
  }
  return out;
}

}  // namespace

ImageFolder::ImageFolder(std::string root, const ImageFolderOptions& options, Line where) : options_(options) {
  if (!options.size.empty() && (options.size.rank() != 2 || options.size[0] < 1 || options.size[1] < 1))
    refuse("the size " + to_string(options.size), "height and width", "", where);
  if (!io::is_folder(root)) refuse(root + ", which is no folder", "a folder with a folder for each class", "", where);
  std::vector<std::string> hidden;
  for (const auto& folder : sorted_entries(root, hidden)) {
    if (!io::is_folder(folder)) continue;
    bool any = false;
    for (const auto& file : sorted_entries(folder, hidden)) {
      if (!is_picture(file) || !is_file(file)) continue;
      if (!any) classes_.push_back(folder.filename().string());
      any = true;
      files_.push_back(file.string());
      labels_.push_back(static_cast<std::int64_t>(classes_.size()) - 1);
    }
  }
  tell_of_hidden(root, std::move(hidden));
  if (files_.empty()) refuse(root + " without pictures", "folders of .png, .jpg or .jpeg files, one for each class", "", where);
}

Sample ImageFolder::get(std::int64_t i) const {
  HostArray image = to_image(io::read_picture(file(i)), options_.colours);
  if (!options_.size.empty()) image = resize(image, options_.size[0], options_.size[1]);
  return {std::move(image), number(labels_[static_cast<std::size_t>(i)])};
}

HostArray to_image(const HostArray& picture, Colours colours) {
  if (picture.dtype != u8 || picture.shape.rank() != 3 || picture.shape[2] < 1 || picture.shape[2] > 4) {
    throw Error({.op = "to_image",
                 .got = std::string(name(picture.dtype)) + to_string(picture.shape),
                 .expected = "a picture u8 (H, W, C) with 1 to 4 channels"});
  }
  const std::int64_t pixels = picture.shape[0] * picture.shape[1], from = picture.shape[2], to = colours == Colours::Gray ? 1 : 3;
  const bool is_gray = from < 3;
  HostArray image = HostArray::empty(f32, {to, picture.shape[0], picture.shape[1]});
  const std::uint8_t* x = picture.values<std::uint8_t>().data();
  float* y = image.values<float>().data();
  for (std::int64_t p = 0; p < pixels; ++p, x += from) {
    if (to == 1) {
      y[p] = is_gray ? static_cast<float>(x[0]) / 255.0f
                     : (0.299f * static_cast<float>(x[0]) + 0.587f * static_cast<float>(x[1]) + 0.114f * static_cast<float>(x[2])) / 255.0f;
    } else {
      for (std::int64_t c = 0; c < 3; ++c) y[c * pixels + p] = static_cast<float>(x[is_gray ? 0 : c]) / 255.0f;
    }
  }
  return image;
}

HostArray resize(const HostArray& image, std::int64_t height, std::int64_t width) {
  if (image.dtype != f32 || image.shape.rank() != 3 || image.size() == 0 || height < 1 || width < 1) {
    throw Error(
        {.op = "resize",
         .got = std::string(name(image.dtype)) + to_string(image.shape) + " to " + std::to_string(height) + " x " + std::to_string(width),
         .expected = "an image f32 (C, H, W) with pixels, and a size of at least 1 x 1"});
  }
  return resize_axis(resize_axis(image, 1, height), 2, width);
}

}  // namespace tegula::data
