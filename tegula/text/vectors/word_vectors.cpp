#include "tegula/text/vectors/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tegula/core/error.h"
#include "tegula/text/vectors/vector_rows.h"

namespace tegula::text {

WordVectors::WordVectors(Vocabulary vocabulary, HostArray vectors) : vocabulary_(std::move(vocabulary)), vectors_(std::move(vectors)) {
  if (vectors_.dtype != f32 || vectors_.shape.rank() != 2 || vectors_.shape[0] != vocabulary_.size()) {
    throw Error(
        {.op = "WordVectors",
         .got = std::string(name(vectors_.dtype)) + to_string(vectors_.shape) + " for " + std::to_string(vocabulary_.size()) + " words",
         .expected = "f32(" + std::to_string(vocabulary_.size()) + ", D)"});
  }
  const auto words = static_cast<std::size_t>(vocabulary_.size()), columns = static_cast<std::size_t>(vectors_.shape[1]);
  const auto stride = static_cast<std::size_t>(padded_row(vectors_.shape[1]));
  unit_.assign(words * stride, 0.0f);
  for (std::size_t i = 0; i < words && columns > 0; ++i) {
    const auto row = vectors_.values<float>().subspan(i * columns, columns);
    double squares = 0;
    for (const float value : row) squares += double{value} * value;
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t j = 0; j < columns; ++j) unit_[i * stride + j] = static_cast<float>(row[j] * scale);
  }
}

const std::vector<float>& WordVectors::unit_rows() const { return unit_; }

std::span<const float> WordVectors::operator[](std::string_view word) const {
  const auto columns = static_cast<std::size_t>(dimension());
  return std::span<const float>(vectors_.values<float>()).subspan(static_cast<std::size_t>(vocabulary_.id(word)) * columns, columns);
}

double WordVectors::similarity(std::string_view a, std::string_view b) const {
  const std::int64_t stride = padded_row(dimension());
  return row_functions().dot(unit_.data() + vocabulary_.id(a) * stride, unit_.data() + vocabulary_.id(b) * stride, stride);
}

std::vector<Near> WordVectors::nearest(std::span<const float> vector, std::int64_t count, std::span<const Id> without) const {
  if (static_cast<std::int64_t>(vector.size()) != dimension()) {
    throw Error(
        {.op = "WordVectors", .got = "a vector of " + std::to_string(vector.size()) + " numbers", .expected = std::to_string(dimension())});
  }
  const std::int64_t stride = padded_row(dimension());
  std::vector<float> question(static_cast<std::size_t>(stride));
  double squares = 0;
  for (const float value : vector) squares += double{value} * value;
  for (std::size_t i = 0; i < vector.size(); ++i) question[i] = squares > 0 ? static_cast<float>(vector[i] / std::sqrt(squares)) : 0;
  std::vector<std::pair<float, Id>> found;
  for (Id id = 0; id < size(); ++id) {
    if (std::find(without.begin(), without.end(), id) != without.end()) continue;
    found.emplace_back(-row_functions().dot(question.data(), unit_.data() + id * stride, stride), id);
  }
  const auto kept = found.begin() + std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(found.size()));
  std::partial_sort(found.begin(), kept, found.end());
  std::vector<Near> out;
  for (auto at = found.begin(); at != kept; ++at) out.emplace_back(vocabulary_.token(at->second), -at->first);
  return out;
}

std::vector<Near> WordVectors::nearest(std::span<const float> vector, std::int64_t count) const { return nearest(vector, count, {}); }

std::vector<Near> WordVectors::most_similar(std::span<const std::string> positive, std::span<const std::string> negative,
                                            std::int64_t count) const {
  if (positive.empty() && negative.empty()) throw Error({.op = "most_similar", .got = "no words", .expected = "at least one"});
  const std::int64_t stride = padded_row(dimension());
  std::vector<float> sum(static_cast<std::size_t>(stride));
  std::vector<Id> without;
  for (const auto& [words, sign] : {std::pair(positive, 1.0f), std::pair(negative, -1.0f)}) {
    for (const std::string& word : words) {
      without.push_back(vocabulary_.id(word));
      row_functions().add(sum.data(), unit_.data() + without.back() * stride, sign, stride);
    }
  }
  sum.resize(static_cast<std::size_t>(dimension()));
  return nearest(sum, count, without);
}

std::vector<Near> WordVectors::most_similar(std::string_view word, std::int64_t count) const {
  const std::string one(word);
  return most_similar(std::span(&one, 1), {}, count);
}

std::vector<Near> WordVectors::analogy(const std::string& a, const std::string& b, const std::string& c, std::int64_t count) const {
  const std::string positive[] = {b, c};
  return most_similar(positive, std::span(&a, 1), count);
}

}  // namespace tegula::text
