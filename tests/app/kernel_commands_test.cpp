// Kernels of graph files at the command line: shown, and built as C.

#include <gtest/gtest.h>

#include "tegula/cuda/compiler/nvrtc.h"
#include "tegula/formats/graph_file.h"
#include "tegula/tile.h"
#include "tests/app/cli.h"

namespace kernels {
using namespace tegula::tile;
const auto twice = jit("twice", [](Ptr<float> x, Out<float> y, Int n, Const<int, "BLOCK"> BLOCK) {
  auto i = program_id(0) * BLOCK + arange(0, BLOCK);
  store(y + i, 2 * load(x + i, i < n), i < n);
});
}  // namespace kernels

namespace tegula {
namespace {

using testing::Ran;
using testing::tegula_cli;
using testing::TemporaryFolder;

TEST(KernelCommands, ShowAndBuildTheKernelsOfAGraphFile) {
  const TemporaryFolder folder;
  const std::string file = folder / "net.safetensors";
  save_graph(file, [](Tensor x) { return kernels::twice({1}, x + 1, tile::out({100}), 100, 128)[0]; }, zeros({100}));
  const Ran other = tegula_cli({"kernel", "build", file, "--kernel", "thrice"});
  EXPECT_NE(other.status, 0);
  EXPECT_HAS(other.err, "which has no kernel thrice");
  if (std::string why; !gpu::nvrtc_available(&why)) GTEST_SKIP() << why;
  const Ran shown = tegula_cli({"kernel", "show", file});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_HAS(shown.out, "# program\n");
  EXPECT_HAS(shown.out, "# figures\n");
  const Ran built = tegula_cli({"kernel", "build", file, "--architecture", "80", "--output", folder / "built"});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(built.out, (folder / "built/twice.cubin") + "\n" + (folder / "built/twice.h") + "\n" + (folder / "built/twice.c") + "\n");
}

TEST(KernelCommands, FilesWithoutKernelsAreRefused) {
  const TemporaryFolder folder;
  save_graph(folder / "net.safetensors", [](Tensor x) { return x + 1; }, zeros({3}));
  const Ran ran = tegula_cli({"kernel", "build", folder / "net.safetensors"});
  EXPECT_NE(ran.status, 0);
  EXPECT_HAS(ran.err, "whose results no kernel of one's own computes");
}

}  // namespace
}  // namespace tegula
