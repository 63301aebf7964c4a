#pragma once
// Recommendation: scores of users and things from their numbers.

#include <cstdint>
#include <vector>

#include "tegula/nn/linear.h"
#include "tegula/nn/sequential.h"

namespace tegula::models {

struct DlrmOptions {
  std::int64_t dense = 13;             // numbers of a sample
  std::vector<std::int64_t> tables = {1000, 1000};  // of each category: how many values it has
  std::int64_t width = 16;             // features of each vector
  std::vector<std::int64_t> bottom = {512, 256, 64};  // widths of the layers between the numbers and their vector
  std::vector<std::int64_t> top = {512, 256};  // … and between the products and the score
};

/// Naumov et al., "Deep learning recommendation model for personalization and recommendation systems" (2019): a net makes a vector of the numbers, tables make one of
/// each category, all pairs of vectors are multiplied, and another net makes a score of these products and the first vector. Parameters have that program's names:
/// "bot_l.0.weight", "emb_l.0.weight", "top_l.0.weight". Throws Error for no category and sizes below 1.
class Dlrm {
 public:
  explicit Dlrm(const DlrmOptions& options = {});
  /// numbers (N, dense), categories (N, tables) integers -> scores (N), before the sigmoid: binary_cross_entropy_with_logits is their loss.
  Tensor operator()(Tensor numbers, Tensor categories);
  const DlrmOptions& options() const { return options_; }

  nn::Sequential bot_l;
  std::vector<nn::Embedding> emb_l;
  nn::Sequential top_l;
  static constexpr auto fields = nn::fields<&Dlrm::bot_l, &Dlrm::emb_l, &Dlrm::top_l>;

 private:
  DlrmOptions options_;
};

struct NeuMfOptions {
  std::int64_t users = 1000, items = 1000;
  std::int64_t factors = 8;  // of the vectors that are multiplied
  std::vector<std::int64_t> layers = {64, 32, 16, 8};  // widths of the net; the first is that of both vectors together, and even
};

/// He et al., "Neural collaborative filtering" (2017): the product of a user's and a thing's vector, and a net over two other vectors, make one score. Throws Error for
/// sizes below 1 and an odd first width.
class NeuMf {
 public:
  explicit NeuMf(const NeuMfOptions& options = {});
  /// users (N), items (N) integers -> scores (N), before the sigmoid.
  Tensor operator()(Tensor users, Tensor items);
  const NeuMfOptions& options() const { return options_; }

  nn::Embedding mf_user, mf_item, mlp_user, mlp_item;
  nn::Sequential mlp;
  nn::Linear score;
  static constexpr auto fields =
      nn::fields<&NeuMf::mf_user, &NeuMf::mf_item, &NeuMf::mlp_user, &NeuMf::mlp_item, &NeuMf::mlp, &NeuMf::score>;

 private:
  NeuMfOptions options_;
};

}  // namespace tegula::models
