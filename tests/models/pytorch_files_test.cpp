// Published networks in PyTorch's files give their published figures.

#include <gtest/gtest.h>

#include "tegula/data/idx.h"
#include "tegula/io/pytorch.h"
#include "tegula/models/cifar.h"
#include "tegula/tegula.h"
#include "tests/io/files.h"

namespace tegula {
namespace {

/// PyTorch's example of MNIST in its first form: convolutions 5x5x20 and 5x5x50, each with max pooling, dense 500, 10.
struct LeNet {
  nn::Conv2d conv1{1, 20, 5}, conv2{20, 50, 5};
  nn::Linear fc1{4 * 4 * 50, 500}, fc2{500, 10};
  Tensor operator()(Tensor x) {
    x = max_pool2d(relu(conv1(x)), {2, 2});
    x = max_pool2d(relu(conv2(x)), {2, 2});
    return fc2(relu(fc1(reshape(x, {x.shape()[0], -1}))));
  }
};

/// The example of Burn: convolutions 3x3 to 8, 16 and 24 maps, batch normalisation, dense 32 and 10, batch normalisation.
struct BurnNet {
  nn::Conv2d conv1{1, 8, 3}, conv2{8, 16, 3}, conv3{16, 24, 3};
  nn::BatchNorm2d norm1{24};
  nn::Linear fc1{24 * 22 * 22, 32}, fc2{32, 10};
  nn::BatchNorm1d norm2{10};
  Tensor operator()(Tensor x) {
    x = norm1(relu(conv3(relu(conv2(relu(conv1(x)))))));
    return norm2(fc2(relu(fc1(reshape(x, {x.shape()[0], -1})))));
  }
};

template <class Net>
std::int64_t right_of_ten_thousand(Net& net) {
  const std::string folder = testing::shared_data() + "/mnist/";
  const Tensor images = from_array(data::read_idx(folder + "t10k-images-idx3-ubyte.gz")),
               labels = from_array(data::read_idx(folder + "t10k-labels-idx1-ubyte.gz"));
  eval(net);
  auto right = jit([&](Tensor x, Tensor y) {
    x = (reshape(cast(x, f32), {x.shape()[0], 1, 28, 28}) * (1 / 255.F) - 0.1307F) * (1 / 0.3081F);
    return sum(cast(argmax(net(x), 1) == cast(y, i64), i64));
  });
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < 10'000; i += 500)
    count += static_cast<std::int64_t>(right(slice(images, 0, {i, i + 500}), slice(labels, 0, {i, i + 500})).item());
  return count;
}

TEST(PyTorchFiles, ANetOfMnistIsAsGoodAsPublished) {
  const std::string path = testing::shared_data() + "/models/mnist-pytorch/lenet_mnist_cnn.pt";
  if (testing::shared_data().empty() || !io::is_there(path)) GTEST_SKIP() << "no ../shared/data/models";
  LeNet net;
  load(net, path);
  EXPECT_EQ(right_of_ten_thousand(net), 9894);
}

TEST(PyTorchFiles, ANetOfAnotherFrameworkIsAsGoodAsPublished) {
  const std::string folder = testing::shared_data() + "/models/mnist-burn/";
  if (testing::shared_data().empty() || !io::is_folder(folder)) GTEST_SKIP() << "no ../shared/data/models";
  // Two trainings; PyTorch 2.15 finds as many with each.
  for (const auto& [name, right] : {std::pair("mnist.pt", 9915), std::pair("mnist.safetensors", 9917)}) {
    BurnNet net;
    load(net, folder + name);
    EXPECT_EQ(right_of_ten_thousand(net), right) << name;
  }
}

TEST(PyTorchFiles, AResNetOfCifarIsAsGoodAsPublished) {
  const std::string path = testing::shared_data() + "/models/resnet-cifar10/resnet20-12fca82f.th",
                    pictures = testing::shared_data() + "/cifar10-lossless-subset/train_first4000.bin";
  if (testing::shared_data().empty() || !io::is_there(path) || !io::is_there(pictures)) GTEST_SKIP() << "no ../shared/data/models";
  tegula::models::ResNet20 net;
  const LoadReport report = load(net, renamed(load_state(path), {{"module.*", "*"}}), Strict::No);
  EXPECT_TRUE(report.unexpected.empty()) << report.text();
  for (const std::string& name : report.missing) EXPECT_TRUE(name.ends_with("num_batches_tracked")) << name;  // older than that buffer
  eval(net);
  // A byte for the class, then 3 x 32 x 32.
  const io::Bytes bytes = io::read_file(pictures);
  constexpr std::int64_t kPictures = 4000, kBytes = 1 + 3 * 32 * 32;
  ASSERT_EQ(bytes.size(), static_cast<std::size_t>(kPictures * kBytes));
  const Tensor all =
      from_array(HostArray::from(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), {kPictures, kBytes}));
  auto right = jit([&](const Tensor& rows) {
    const Tensor labels = cast(select(rows, 1, 0), i64), pixels = cast(slice(rows, 1, {1, kBytes}), f32) * (1 / 255.F);
    const Tensor scores = net(reshape(pixels, {-1, 3, 32, 32}));
    return sum(cast(argmax(scores, 1) == labels, i64));
  });
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < kPictures; i += 500) count += right(slice(all, 0, {i, i + 500})).item<std::int64_t>();
  EXPECT_EQ(count, 3992);
}

}  // namespace
}  // namespace tegula
