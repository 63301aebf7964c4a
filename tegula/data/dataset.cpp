#include "tegula/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/data/sampler.h"

namespace tegula::data {
namespace {

HostArray row_of(const HostArray& array, std::int64_t i) {
  HostArray row = gather_batch(array, {&i, 1});
  row.shape.erase(0);
  return row;
}

void require_like_rows(const char* op, std::span<const HostArray> arrays, const Line& where) {
  std::string shapes;
  bool fit = !arrays.empty();
  for (const HostArray& array : arrays) {
    shapes += (shapes.empty() ? "" : ", ") + to_string(array.shape);
    fit = fit && !array.shape.empty() && !arrays[0].shape.empty() && array.shape[0] == arrays[0].shape[0];
  }
  if (fit) return;
  throw Error({.op = op,
               .got = arrays.empty() ? "no arrays" : "arrays of shapes " + shapes,
               .expected = "a first axis of the same length in all",
               .advice = "give every sample one row of each",
               .where = where});
}

std::string described(const Sample& sample) {
  std::string text;
  for (const HostArray& array : sample) text += (text.empty() ? "" : ", ") + std::string(name(array.dtype)) + to_string(array.shape);
  return text.empty() ? "nothing" : text;
}

/// Rethrows get's exception with the sample's number; the original stays nested.
[[noreturn]] void throw_with_number(std::int64_t i, const std::exception& error, const Line& where) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) throw;
  const std::string sample = "sample " + std::to_string(i);
  if (const auto* of_library = dynamic_cast<const Error*>(&error)) {
    Report report = of_library->report();
    report.got += (report.got.empty() ? "" : ", in ") + sample;
    if (report.where.line() == 0) report.where = where;
    std::throw_with_nested(Error(std::move(report)));
  }
  std::throw_with_nested(
      Error({.op = "Loader", .got = sample + ", whose get throws: " + error.what(), .expected = "its arrays", .where = where}));
}

bool alike(const Sample& a, const Sample& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostArray& x, const HostArray& y) { return x.dtype == y.dtype && x.shape == y.shape; });
}

}  // namespace

std::vector<HostArray> LabelledImages::get(std::int64_t i) const { return {row_of(images, i), row_of(labels, i)}; }

ArrayDataset::ArrayDataset(InMemory in, InMemory out, Line where) : inputs(std::move(in.array)), targets(std::move(out.array)) {
  if (inputs.shape.empty() || targets.shape.empty() || inputs.shape[0] != targets.shape[0]) {
    throw Error({.op = "ArrayDataset",
                 .got = "inputs " + to_string(inputs.shape) + " and targets " + to_string(targets.shape),
                 .expected = "a first axis of the same length in both",
                 .advice = "give every input row one target row",
                 .where = where});
  }
}

Sample ArrayDataset::get(std::int64_t i) const { return {row_of(inputs, i), row_of(targets, i)}; }

ArrayDataset ArrayDataset::first(std::int64_t count) const {
  ArrayDataset part = *this;
  const std::int64_t rows = std::clamp<std::int64_t>(count, 0, size());
  if (!part.inputs.shape.empty()) part.inputs.shape[0] = rows;
  if (!part.targets.shape.empty()) part.targets.shape[0] = rows;
  return part;
}

std::vector<HostArray> ArrayDataset::gather(std::span<const std::int64_t> rows) const {
  return {gather_batch(inputs, rows), gather_batch(targets, rows)};
}

Arrays::Arrays(std::vector<HostArray> all, Line where) : arrays(std::move(all)) { require_like_rows("Arrays", arrays, where); }

Arrays::Arrays(std::initializer_list<InMemory> all, Line where) {
  for (const InMemory& one : all) arrays.push_back(one.array);
  require_like_rows("Arrays", arrays, where);
}

Sample Arrays::get(std::int64_t i) const {
  Sample sample;
  for (const HostArray& array : arrays) sample.push_back(row_of(array, i));
  return sample;
}

std::vector<HostArray> Arrays::gather(std::span<const std::int64_t> rows) const {
  std::vector<HostArray> batch;
  for (const HostArray& array : arrays) batch.push_back(gather_batch(array, rows));
  return batch;
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end, Line where) {
  if (begin > end) {
    throw Error({.op = "range",
                 .got = std::to_string(begin) + " to " + std::to_string(end),
                 .expected = "an end that is not in front of the beginning",
                 .where = where});
  }
  std::vector<std::int64_t> rows(static_cast<std::size_t>(end - begin));
  std::iota(rows.begin(), rows.end(), begin);
  return rows;
}

void require_rows(std::int64_t size, std::span<const std::int64_t> rows, const Line& where) {
  for (const std::int64_t row : rows) {
    if (row >= 0 && row < size) continue;
    throw Error({.op = "subset",
                 .got = "row " + std::to_string(row) + " of a set of " + std::to_string(size),
                 .expected = "rows from 0 to " + std::to_string(size - 1),
                 .where = where});
  }
}

std::vector<HostArray> AnyDataset::gather(std::span<const std::int64_t> rows, std::uint64_t seed, std::uint64_t stream, Line where) const {
  if (!held_) return {};
  if (held_->gathers()) return held_->gather(rows);
  std::vector<Sample> samples;
  samples.reserve(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    RandomStream random(seed, stream + k);
    try {
      samples.push_back(held_->get(rows[k], random));
    } catch (const std::exception& error) { throw_with_number(rows[k], error, where); }
    if (alike(samples[0], samples[k]) && !samples[k].empty()) continue;
    throw Error({.op = "Loader",
                 .got = "sample " + std::to_string(rows[k]) + " with " + described(samples[k]) +
                        (k > 0 ? ", beside sample " + std::to_string(rows[0]) + " with " + described(samples[0]) : ""),
                 .expected = "the same number of arrays, dtypes and shapes in all samples",
                 .advice = "resize, crop or pad in get, or in a transform (data::map); ImageFolder resizes to its .size",
                 .where = where});
  }
  return stack(samples);
}

std::vector<HostArray> stack(std::span<const Sample> samples) {
  std::vector<HostArray> batch;
  if (samples.empty()) return batch;
  for (const Sample& sample : samples) {
    if (!alike(sample, samples[0])) {
      throw Error({.op = "stack",
                   .got = "samples of " + described(samples[0]) + " and of " + described(sample),
                   .expected = "the same number of arrays, dtypes and shapes in all samples"});
    }
  }
  for (std::size_t a = 0; a < samples[0].size(); ++a) {
    Shape shape = samples[0][a].shape;
    shape.insert(0, static_cast<std::int64_t>(samples.size()));
    HostArray array = HostArray::empty(samples[0][a].dtype, shape);
    auto* to = static_cast<std::byte*>(array.buffer->data());
    const std::size_t bytes = samples[0][a].bytes();
    for (const Sample& sample : samples) {
      if (bytes > 0) std::memcpy(to, sample[a].buffer->data(), bytes);
      to += bytes;
    }
    batch.push_back(std::move(array));
  }
  return batch;
}

}  // namespace tegula::data
