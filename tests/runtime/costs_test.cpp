// The costs of work on a device are in one table, and a device has few virtual functions.
#include "tegula/runtime/costs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tegula/cuda/handwritten/plain_split_product.h"
#include "tegula/runtime/device.h"
#include "tegula/simt/costs.h"
#include "tests/support/source_folder.h"

namespace tegula::runtime {
namespace {

Matmul product(DType dtype, std::int64_t m, std::int64_t k, std::int64_t n) {
  return Matmul::of(dtype, Layout::dense({m, k}), Layout::dense({k, n}), Layout::dense({m, n}));
}

TEST(Costs, EveryFieldHasANameAUnitAndAPlaceWhereItWasMeasured) {
  std::set<std::string_view> names;
  for (const CostField& field : cost_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.unit.empty()) << field.name;
    for (const Costs* table : {&cpu().costs(), &gpu::costs()}) {
      const Measured& number = table->*field.member;
      EXPECT_GE(number, 0) << field.name;
      EXPECT_EQ(number == 0, number.where.empty()) << field.name;
    }
  }
  EXPECT_EQ(names.size(), sizeof(Costs) / sizeof(Measured));
}

TEST(Costs, TheTableIsPrintedWithUnits) {
  const std::string text = to_string(gpu::costs());
  EXPECT_NE(text.find("launch_seconds"), std::string::npos);
  EXPECT_TRUE(std::regex_search(text, std::regex("halves_per_second +3e\\+14 +1/s +H200"))) << text;
  EXPECT_EQ(text.find("threads_seconds"), std::string::npos) << "has no meaning there";
}

TEST(Costs, ACallTakesItsOperationsOrItsBytes) {
  const Costs& table = gpu::costs();
  const Matmul large = product(DType::f16, 4096, 4096, 4096);
  EXPECT_EQ(work_of(large).operations, 2.0 * 4096 * 4096 * 4096);
  EXPECT_EQ(work_of(large).bytes, 3.0 * 2 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(seconds_of(large, table), table.call_seconds + work_of(large).operations / table.halves_per_second);
  const Matmul thin = product(DType::f16, 1, 4096, 4096);
  EXPECT_DOUBLE_EQ(seconds_of(thin, table), table.call_seconds + work_of(thin).bytes / table.call_bytes_per_second);
  EXPECT_EQ(seconds_of(CallDescription(), table), 0);
  EXPECT_EQ(seconds_of(large, {}), 0) << "a table without rates";
}

TEST(Costs, ADeviceSaysWhatACallCosts) {
  const Matmul d = product(DType::f32, 64, 64, 64);
  EXPECT_DOUBLE_EQ(cpu().cost(d), seconds_of(d, cpu().costs()));
  EXPECT_EQ(cpu().cost(HostTurn{}), 0) << "has no such call";
}

TEST(Costs, PricesOfHalvesAndTf32AreOfTheTable) {
  const Costs& table = gpu::costs();
  const gpu::Price price = gpu::price_convolution(6e12, 1e6);
  EXPECT_EQ(price.in_f32, 6e12 / table.tf32_per_second);
  EXPECT_EQ(price.in_halves, 6e12 / table.halves_per_second);
}

TEST(Device, IsAtMostTenVirtualsInOnePlace) {
  std::ifstream file(source_folder() + "/tegula/runtime/device.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const auto begin = all.find("\nclass Device {"), end = all.find("\n};", begin);
  ASSERT_NE(begin, std::string::npos);
  const std::string body = all.substr(begin, end - begin);
  const std::regex word("\\bvirtual\\b");
  EXPECT_LE(std::distance(std::sregex_iterator(body.begin(), body.end(), word), std::sregex_iterator()), 10);
}

}  // namespace
}  // namespace tegula::runtime
