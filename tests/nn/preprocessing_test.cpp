// Scaling, filling and encoding of tables as layers: how they are fitted, and that they are saved with the net.

#include <gtest/gtest.h>

#include "tegula/tegula.h"
#include "tests/support/values.h"

namespace tegula {
namespace {

using test::expect_close;

const float kNone = std::nanf("");

TEST(StandardScaler, GivesEachFeatureMeanZeroAndDeviationOne) {
  nn::StandardScaler scale{2};
  const Tensor x = tensor({1.f, 10.f, 3.f, kNone, 5.f, 30.f}, {3, 2});
  expect_close(scale(ones({1, 2})), {1, 1}, 2e-6);  // not fitted yet
  scale.fit(x);
  expect_close(scale.mean.read(), {3, 20}, 2e-6);
  expect_close(scale.deviation.read(), {std::sqrt(8.0 / 3), 10}, 2e-6);
  const Tensor y = scale(x);
  expect_close(nanmean(y, 0), {0, 0}, 2e-6);
  expect_close(nanstd(y, 0, {.correction = 0}), {1, 1}, 2e-6);
  expect_close(scale.inverse(scale(tensor({7.f, -4.f}, {1, 2}))), {7, -4}, 2e-6);
  EXPECT_TRUE(std::isnan(y.to_host()[3]));
}

TEST(StandardScaler, AFeatureThatNeverChangesIsOnlyShifted) {
  nn::StandardScaler scale{3};
  scale.fit(tensor({5.f, 0.1f, kNone, 5.f, 0.1f, kNone, 5.f, 0.1f, kNone}, {3, 3}));
  expect_close(scale.deviation.read(), {1, 1, 1}, 2e-6);
  expect_close(scale(tensor({6.f, 0.1f, 2.f}, {1, 3})), {1, 0, 2}, 2e-6);
}

TEST(StandardScaler, LastDigitsBesideALargeMeanStaySmall) {
  nn::StandardScaler scale{1};
  scale.fit(tensor({1e15f, 1.0000001e15f, 1e15f, 1.0000002e15f}, {4, 1}));
  for (const float value : scale(tensor({1e15f, 1.0000002e15f}, {2, 1})).to_host()) EXPECT_LT(std::abs(value), 1);
}

TEST(Imputer, PutsMeansOrMediansInThePlaceOfNan) {
  const Tensor x = tensor({1.f, kNone, kNone, 2.f, 4.f, kNone, 9.f, 6.f, kNone}, {3, 3});
  nn::Imputer mean{3}, median{3, nn::Fill::Median};
  expect_close(mean(x), {1, 0, 0, 2, 4, 0, 9, 6, 0}, 2e-6);  // not fitted yet
  mean.fit(x), median.fit(x);
  expect_close(mean(x), {1, 5, 0, 2, 4, 0, 9, 6, 0}, 2e-6);
  expect_close(median(tensor({kNone, kNone, kNone}, {1, 3})), {2, 4, 0}, 2e-6);
  EXPECT_EQ(mean(cast(x, f64)).dtype(), f64);
}

TEST(OneHot, CodesOfSeveralColumnsStandSideBySide) {
  const nn::OneHot encode{{2, 3}};
  EXPECT_EQ(encode.features(), 5);
  expect_close(encode(tensor({0.f, 2.f, 1.f, kNone, -1.f, 0.f}, {3, 2})), {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0}, 2e-6);
  const Tensor codes = tensor(std::vector<std::int64_t>{1, 0, 5, 1}, {2, 2});
  expect_close(encode(codes), {0, 1, 1, 0, 0, 0, 0, 0, 1, 0}, 2e-6);
  EXPECT_EQ(encode(codes).dtype(), f32);
}

struct TableNet {
  nn::Imputer fill{2};
  nn::StandardScaler scale{2};
  nn::OneHot encode{{3}};
  nn::Linear last{5, 1};
  Tensor operator()(Tensor x) { return last(concat({scale(fill(slice(x, -1, {0, 2}))), encode(slice(x, -1, {2, 3}))}, -1)); }
};

TEST(Preprocessing, IsSavedWithTheNetAndNotTrained) {
  TableNet net, other;
  const Tensor x = tensor({1.f, kNone, 0.f, 3.f, 7.f, 2.f, kNone, 9.f, -1.f}, {3, 3});
  net.fill.fit(slice(x, -1, {0, 2}));
  net.scale.fit(net.fill(slice(x, -1, {0, 2})));
  EXPECT_EQ(parameters(net).size(), 2u);
  optim::Adam adam(parameters(net));
  adam.step(grad(mse_loss(net(x), zeros({3, 1})), parameters(net)));
  save(net, "table.safetensors", {{"kinds", io::list_text({"cat", "dog", "\"ox\""})}});
  load(other, "table.safetensors");
  EXPECT_EQ(net(x).to_host(), other(x).to_host());
  expect_close(other.fill.values.read(), {2, 8}, 2e-6);
  EXPECT_EQ(io::listed_texts(load_metadata("table.safetensors"), "kinds"), (std::vector<std::string>{"cat", "dog", "\"ox\""}));
  auto compiled = jit([&](Tensor t) { return net(t); });
  expect_close(compiled(x), net(x).to_host<double>(), 2e-6);
}

TEST(Preprocessing, RefusesWhatItCannotBeFittedTo) {
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& error) { return error.what(); }
    return "";
  };
  nn::StandardScaler scale{2};
  EXPECT_NE(message([&] { scale.fit(ones({3, 4})); }).find("StandardScaler: got an input of shape (3, 4), expected 2 features"),
            std::string::npos);
  EXPECT_NE(message([&] { scale.fit(zeros({0, 2})); }).find("expected rows of floats"), std::string::npos);
  EXPECT_NE(message([&] { nn::OneHot{{}}; }).find("no columns"), std::string::npos);
  EXPECT_NE(message([&] { nn::OneHot{{2, 0}}; }).find("OneHot"), std::string::npos);
}

}  // namespace
}  // namespace tegula
