#include "tegula/train/checkpoint.h"

#include <array>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/core/text.h"

namespace tegula {
namespace {

constexpr std::string_view kOptimizer = "optimizer/", kGenerator = "generator/", kLoader = "loader/", kExtra = "extra/";
constexpr const char* kPosition = "loader/position";

bool reserved(std::string_view name) {
  for (auto prefix : {kOptimizer, kGenerator, kLoader, kExtra}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

/// Every cell of the run with its name in the file.
Parameters cells_of(const CheckpointParts& parts) {
  Parameters cells;
  for (const auto& parameter : parts.model) {
    if (reserved(parameter.name)) {
      throw Error({.op = "checkpoint",
                   .got = "a model parameter named \"" + parameter.name + "\"",
                   .expected = "no name that begins with optimizer/, generator/, loader/ or extra/"});
    }
    cells.push_back(parameter);
  }
  for (const auto& parameter : parts.optimizer) cells.push_back({std::string(kOptimizer) + parameter.name, parameter.cell});
  if (parts.generator) {
    cells.push_back({std::string(kGenerator) + "seed", parts.generator->seed_variable().cell()});
    cells.push_back({std::string(kGenerator) + "counter", parts.generator->counter_variable().cell()});
  }
  return cells;
}

/// epoch, batch; then the numbers for which the position is valid: rows, batch size, shuffle, seed.
std::array<std::int64_t, 6> position_of(const data::Loader& loader) {
  const auto& options = loader.options();
  return {loader.position().epoch, loader.position().batch, loader.rows(),
          options.batch,           options.shuffle,         std::bit_cast<std::int64_t>(options.seed)};
}

std::string describe(const std::array<std::int64_t, 6>& p) {
  return std::to_string(p[2]) + " rows in " + (p[4] ? "shuffled " : "") + "batches of " + std::to_string(p[3]) +
         (p[4] ? ", seed " + std::to_string(std::bit_cast<std::uint64_t>(p[5])) : "");
}

/// The arrays of a file by name; each is asked for once.
class Contents {
 public:
  explicit Contents(const std::string& path) : path_(path), file_(io::read_safetensors(path)) {
    for (const auto& [name, array] : file_.tensors) by_name_[name] = &array;
  }

  const HostArray& get(const std::string& name, DType dtype, const Shape& shape) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      fail("no tensor \"" + name + "\"", to_string(shape) + " " + std::string(tegula::name(dtype)),
           "is this the checkpoint of another model or optimiser?");
    }
    const HostArray& array = *found->second;
    if (array.dtype != dtype || !(array.shape == shape)) {
      fail("\"" + name + "\" of shape " + to_string(array.shape) + " " + std::string(tegula::name(array.dtype)),
           to_string(shape) + " " + std::string(tegula::name(dtype)), "build the model with the options it was trained with");
    }
    return array;
  }
  [[noreturn]] void fail(std::string got, std::string expected, std::string advice) const {
    throw Error(
        {.op = "load_checkpoint", .got = path_ + ": " + std::move(got), .expected = std::move(expected), .advice = std::move(advice)});
  }
  const io::Safetensors& file() const { return file_; }

 private:
  std::string path_;
  io::Safetensors file_;
  std::unordered_map<std::string_view, const HostArray*> by_name_;
};

/// Learning rate, number of steps, loss scale: a training would go on from nonsense without a word.
void check_number(const Contents& contents, const std::string& name, const HostArray& array) {
  if (!name.starts_with(kOptimizer) || array.shape.rank() != 0) return;
  const bool is_fine = array.dtype == f64   ? std::isfinite(array.values<double>()[0]) && array.values<double>()[0] >= 0
                       : array.dtype == i64 ? array.values<std::int64_t>()[0] >= 0
                                            : true;
  if (is_fine) return;
  contents.fail("\"" + name + "\" is " +
                    (array.dtype == f64 ? number_text(array.values<double>()[0]) : std::to_string(array.values<std::int64_t>()[0])),
                "a number of at least 0", "the file is damaged; go on from an older checkpoint");
}

data::Sampler::Position read_position(const Contents& contents, const data::Loader& loader, std::int64_t epochs) {
  const auto values = contents.get(kPosition, i64, {6}).values<std::int64_t>();
  std::array<std::int64_t, 6> saved{}, here = position_of(loader);
  std::copy(values.begin(), values.end(), saved.begin());
  here[0] = saved[0];
  here[1] = saved[1];
  if (saved != here) {
    contents.fail("a position in " + describe(saved), "one in " + describe(here),
                  "go on with the data, batch size and seed of the first run");
  }
  if (saved[0] < 0 || saved[1] < 0 || saved[1] > loader.batches()) {
    contents.fail("position epoch " + std::to_string(saved[0]) + ", batch " + std::to_string(saved[1]),
                  "a batch from 0 to " + std::to_string(loader.batches()), "");
  }
  if (saved[0] > epochs)
    contents.fail(std::to_string(saved[0]) + " epochs done", "at most the " + std::to_string(epochs) + " of this training",
                  "ask for more epochs, or is this the checkpoint of another training?");
  return {saved[0], saved[1]};
}

}  // namespace

void save_checkpoint(const std::string& path, const CheckpointParts& parts, bool write) {
  io::NamedArrays arrays;
  for (const auto& parameter : cells_of(parts)) {
    if (write) arrays.emplace_back(parameter.name, parameter.read_whole().to_array());
    else if (parameter.cell->source() || parameter.cell->partition()) parameter.read_whole();  // a collective
  }
  if (!write) return;
  if (parts.loader) {
    const auto position = position_of(*parts.loader);
    arrays.emplace_back(kPosition, HostArray::from(std::span<const std::int64_t>(position), {6}));
  }
  for (const auto& [name, array] : parts.extra) arrays.emplace_back(std::string(kExtra) + name, array);
  io::write_safetensors(path, arrays, parts.metadata);
}

CheckpointContents load_checkpoint(const std::string& path, const CheckpointParts& parts) {
  const Contents contents(path);
  // Everything is looked up before anything is changed.
  std::vector<std::pair<Parameter, const HostArray*>> found;
  for (const auto& parameter : cells_of(parts)) {
    found.emplace_back(parameter, &contents.get(parameter.name, parameter.cell->dtype(), parameter.whole_shape()));
    check_number(contents, parameter.name, *found.back().second);
  }
  data::Sampler::Position position;
  if (parts.loader) position = read_position(contents, *parts.loader, parts.epochs);

  for (const auto& [parameter, array] : found) parameter.assign_whole(from_array(*array));
  if (parts.loader) parts.loader->seek(position);
  CheckpointContents rest{{}, contents.file().metadata};
  for (const auto& [name, array] : contents.file().tensors) {
    if (name.starts_with(kExtra)) rest.extra.emplace_back(name.substr(kExtra.size()), array);
  }
  return rest;
}

std::int64_t checkpoint_batch(const std::string& path) {
  constexpr std::int64_t kNumbers = 6, kBatch = 3;  // position_of
  for (const auto& [name, array] : io::read_safetensors(path).tensors) {
    if (name == kPosition && array.dtype == i64 && array.shape == Shape{kNumbers}) return array.values<std::int64_t>()[kBatch];
  }
  return 0;
}

}  // namespace tegula
