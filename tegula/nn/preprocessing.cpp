#include "tegula/nn/preprocessing.h"

#include "tegula/core/error.h"
#include "tegula/graph/frame.h"
#include "tegula/graph/structural.h"
#include "tegula/nn/checks.h"
#include "tegula/ops/creation.h"
#include "tegula/ops/elementwise/arithmetic.h"
#include "tegula/ops/elementwise/compare.h"
#include "tegula/ops/elementwise/logic.h"
#include "tegula/ops/elementwise/math.h"
#include "tegula/ops/rows/nan_reduce.h"
#include "tegula/ops/rows/sort.h"
#include "tegula/ops/shape/join.h"
#include "tegula/ops/shape/shape.h"

namespace tegula::nn {
namespace {

/// x (…, features) as (rows, features) f32, without a gradient.
Tensor rows_of(std::string_view layer, Arg arg, const Variable& values) {
  const Tensor x = arg.tensor(layer);
  const std::int64_t features = values.shape()[0];
  require_features(layer, x, -1, features, "features", arg.loc);
  if (!is_float(x.dtype()) || x.numel() == 0) {
    throw Error({.op = std::string(layer),
                 .got = std::string(name(x.dtype())) + to_string(x.shape()),
                 .expected = "rows of floats to be fitted to",
                 .where = arg.loc});
  }
  return graph::stop_gradient(cast(reshape(x, {-1, features}), f32));
}

}  // namespace

StandardScaler::StandardScaler(std::int64_t features, Line where) {
  const In frame("StandardScaler", where);
  require_positive("StandardScaler", {{"features", features}}, where);
  mean = Buffer(zeros({features}), where);
  deviation = Buffer(ones({features}), where);
}

void StandardScaler::fit(Arg x) {
  const In frame("StandardScaler.fit", x.loc);
  const Tensor rows = rows_of("StandardScaler", x, mean);
  const Tensor centre = nanmean(rows, 0), spread = nanstd(rows, 0, {.correction = 0});
  const Tensor some = isnan(centre) == false;
  mean = where(some, centre, mean.read());
  // A deviation no larger than the mean's rounding error counts as none: the column never changes. The scaled rest, the mean's last digits, stays small.
  const Tensor rounding = 1e-6 * abs(centre);
  deviation = where(logical_and(some, spread > rounding), spread, where(some, maximum(rounding, 1.0), 1.0));
}

Tensor StandardScaler::operator()(Arg x) const {
  const In frame("StandardScaler", x.loc);
  const Tensor given = x.tensor("StandardScaler");
  require_features("StandardScaler", given, -1, mean.shape()[0], "features", x.loc);
  return (given - mean.read()) / deviation.read();
}

Tensor StandardScaler::inverse(Arg y) const {
  const In frame("StandardScaler.inverse", y.loc);
  const Tensor given = y.tensor("StandardScaler");
  require_features("StandardScaler", given, -1, mean.shape()[0], "features", y.loc);
  return given * deviation.read() + mean.read();
}

void StandardScaler::visit(Visitor& visitor, const Path& path) {
  visitor.buffer(Path{&path, "mean"}, mean);
  visitor.buffer(Path{&path, "deviation"}, deviation);
}

Imputer::Imputer(std::int64_t features, Fill fill, Line where) : fill_(fill) {
  const In frame("Imputer", where);
  require_positive("Imputer", {{"features", features}}, where);
  values = Buffer(zeros({features}), where);
}

void Imputer::fit(Arg x) {
  const In frame("Imputer.fit", x.loc);
  const Tensor rows = rows_of("Imputer", x, values);
  const Tensor centre = fill_ == Fill::Mean ? nanmean(rows, 0) : nanmedian(rows, 0);
  values = where(isnan(centre), 0.0, centre);
}

Tensor Imputer::operator()(Arg x) const {
  const In frame("Imputer", x.loc);
  const Tensor given = x.tensor("Imputer");
  require_features("Imputer", given, -1, values.shape()[0], "features", x.loc);
  return where(isnan(given), cast(values.read(), given.dtype()), given);
}

void Imputer::visit(Visitor& visitor, const Path& path) { visitor.buffer(Path{&path, "values"}, values); }

OneHot::OneHot(std::vector<std::int64_t> sizes, Line where) : sizes_(std::move(sizes)) {
  if (sizes_.empty()) throw Error({.op = "OneHot", .got = "no columns", .expected = "the number of classes of each", .where = where});
  for (const std::int64_t size : sizes_) require_positive("OneHot", {{"classes", size}}, where);
}

std::int64_t OneHot::features() const {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes_) sum += size;
  return sum;
}

Tensor OneHot::operator()(Arg codes) const {
  const In frame("OneHot", codes.loc);
  const Tensor given = codes.tensor("OneHot");
  require_features("OneHot", given, -1, static_cast<std::int64_t>(sizes_.size()), "columns of class numbers", codes.loc);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const Tensor one = expand_dims(select(given, -1, static_cast<std::int64_t>(i)), -1);  // (…, 1)
    parts.push_back(cast(one == cast(arange(sizes_[i]), given.dtype()), f32));
  }
  return parts.size() == 1 ? parts[0] : concat(parts, -1);
}

}  // namespace tegula::nn
