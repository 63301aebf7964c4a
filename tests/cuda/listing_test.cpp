// Listings of kernels: the code that ran, not the code of another variant. On a GPU, or on the driver of the tests as "paper".

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "tegula/core/warning.h"
#include "tegula/runtime/device.h"
#include "tegula/tegula.h"

namespace tegula {
namespace {

class CudaListing : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why; cuda_count(&why) == 0) GTEST_SKIP() << why;
    if (const char* driver = std::getenv("TEGULA_FAKE_DRIVER"); driver && std::string(driver) != "paper")
      GTEST_SKIP() << "launches nothing";
    before_ = &default_device();
    set_default_device(cuda());
  }
  void TearDown() override {
    if (before_) set_default_device(*before_);
  }
  Device* before_ = nullptr;
};

TEST_F(CudaListing, ShowsTheVariantThatRanAndWhatItTakes) {
  auto rows = jit([](Tensor x) { return softmax(x); });
  const Tensor x = zeros({4096, 1024}, bf16);
  rows(x);
  const std::string text = rows.print_kernels();
  EXPECT_NE(text.find("__global__"), std::string::npos) << text;
  EXPECT_NE(text.find("vectors of 8"), std::string::npos) << text;  // known: rows of a multiple of 8 at 16-byte addresses
  EXPECT_EQ(text.find("vectors of 1"), std::string::npos) << text;
  EXPECT_NE(text.find("occupancy\n"), std::string::npos) << text;
  // Rows that begin anywhere are another variant, and another listing.
  const Tensor odd = zeros({4096, 1023}, bf16);
  rows(odd);
  EXPECT_EQ(rows.print_kernels().find("vectors of 8"), std::string::npos);
}

TEST_F(CudaListing, StagesComeWithTheFirstRun) {
  static std::map<std::string, std::string> stages;
  static std::mutex mutex;
  set_warning_handler([](const std::string& name, const std::string& text) {
    const std::scoped_lock lock(mutex);
    stages[name] += text;
  });
  setenv("TEGULA_PRINT", "kernel,assembly,figures,decide", 1);
  const Tensor x = zeros({513, 1024});
  eval(x);
  stages.clear();
  eval(layer_norm(x, {1024}));
  unsetenv("TEGULA_PRINT");
  set_warning_handler(nullptr);
  EXPECT_NE(stages["print.kernel"].find("vectors of 4"), std::string::npos) << stages["print.kernel"];
  EXPECT_NE(stages["print.decide"].find("vector      4 elements\n"), std::string::npos) << stages["print.decide"];
  EXPECT_NE(stages["print.assembly"].find(".visible .entry k_"), std::string::npos) << stages["print.assembly"];
  const std::string& figures = stages["print.figures"];
  EXPECT_NE(figures.find("registers"), std::string::npos) << figures;
  EXPECT_NE(figures.find(" 0 B"), std::string::npos) << figures;  // nothing spilled
  EXPECT_NE(figures.find(" %"), std::string::npos) << figures;
}

}  // namespace
}  // namespace tegula
