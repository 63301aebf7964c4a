// Lesson 8: data of one's own.
//
// Three kinds of data that no library has ready: a table in a CSV file, a folder of pictures, and samples that are made when they are asked
// for. The program writes its own files first, so that it runs anywhere; with your files only the names change.

#include <tegula/tegula.h>
#include <unistd.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

using namespace tegula;

// ---- What stands in for your files.

static std::string seeds_csv() {  // width and length of two kinds of seeds, and some that were not measured
  data::RandomStream random(1, 0);
  std::string text = "width,length,\"kind, as sold\"\r\n";
  for (int i = 0; i < 200; ++i) {
    const bool oat = i % 2;
    const float width = (oat ? 2.0f : 3.0f) + 0.3f * random.noise(), length = (oat ? 8.0f : 6.0f) + 0.5f * random.noise();
    text += (i % 50 == 7 ? "" : std::to_string(width)) + "," + std::to_string(length) + (oat ? ",oat\r\n" : ",\"wheat, winter\"\r\n");
  }
  return text;
}

static void write_pictures(const std::string& folder) {  // 16 x 16 pixels: discs and squares, anywhere, of any size
  data::RandomStream random(2, 0);
  for (const std::string kind : {"disc", "square"}) {
    std::filesystem::create_directories(folder + "/" + kind);
    for (int n = 0; n < 60; ++n) {
      const float radius = random.uniform(3, 5), y0 = random.uniform(5, 10), x0 = random.uniform(5, 10);
      HostArray picture = HostArray::empty(u8, {16, 16, 1});
      for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 16; ++x) {
          const float dy = std::abs(float(y) - y0), dx = std::abs(float(x) - x0);
          const bool inside = kind == "disc" ? dy * dy + dx * dx < radius * radius : std::max(dy, dx) < 0.8f * radius;
          picture.values<std::uint8_t>()[std::size_t(16 * y + x)] = std::uint8_t((inside ? 200 : 30) + int(20 * random.uniform()));
        }
      }
      io::write_png(folder + "/" + kind + "/" + std::to_string(n) + ".png", picture);
    }
  }
}

// ---- A table.

static void table_lesson() {
  // io::read_csv(path) for a file. Fields may be enclosed in quotes; mistakes are errors that name file, line and column.
  const io::Table table = io::parse_csv(seeds_csv(), "seeds.csv");
  const io::Classes kinds = table.classes("kind, as sold");
  assert(table.rows() == 200 && kinds.names.size() == 2 && kinds.names[1] == "wheat, winter");

  // Two widths are missing: they become 0 here, which after the scaling below is a value like none that was measured.
  const Tensor raw = from_array(table.numbers({"width", "length"}, /*missing*/ 0.0));  // (200, 2)
  const Tensor scaled = (raw - mean(raw, 0)) / stddev(raw, 0);
  const data::ArrayDataset seeds(scaled.to_array(), kinds.labels);

  // Five trainings, each tested on another fifth; each fifth has as many of both kinds.
  const auto labels = from_array(kinds.labels).to_host<std::int64_t>();
  double mean_accuracy = 0;
  for (const data::Fold& fold : data::k_fold(seeds.size(), 5, {.seed = 1, .strata = labels})) {
    manual_seed(0);
    nn::Sequential net{nn::Linear{2, 8}, relu, nn::Linear{8, 2}};
    optim::Adam adam(parameters(net), {.lr = 0.02});
    Trainer trainer(net, adam, cross_entropy, {.epochs = 15, .batch = 16});
    const History history = trainer.fit(data::subset(seeds, fold.train), data::subset(seeds, fold.test));
    mean_accuracy += history.back().test_accuracy / 5;
  }
  std::printf("seeds: %.1f %% of the kinds are right in five-fold cross-validation\n", 100 * mean_accuracy);
  assert(mean_accuracy > 0.95);
}

// ---- A folder of pictures.

struct Cnn {
  nn::Conv2d conv1{1, 8, 3, {.padding = Same}};
  nn::Conv2d conv2{8, 16, 3, {.padding = Same}};
  nn::Linear head{16, 2};
  Tensor features(Tensor x) {
    return global_avg_pool(max_pool2d(relu(conv2(max_pool2d(relu(conv1(x)), 2))), 2));
  }  // (N, 1, 16, 16) -> (N, 16)
  Tensor operator()(Tensor x) { return head(flatten(features(x), 1)); }
};

static void pictures_lesson(const std::string& root) {
  // One folder a class; files are read when they are needed. .size would resize pictures of different sizes.
  const data::ImageFolder folder(root, {.colours = data::Colours::Gray});
  assert(folder.size() == 120 && folder.classes()[1] == "square");
  const auto [train, test] = data::split_set(folder, 0.25, {.seed = 3, .strata = folder.labels()});

  // Each epoch sees other pictures: mirrored, moved, with a hole, darker. Every sample draws from random numbers of its own, so that the
  // number of threads that read ahead changes nothing.
  const auto varied = data::augmented(train, data::RandomFlip{}, data::RandomCrop{.padding = 2, .fill = data::Fill::Edge}, data::Cutout{3},
                                      data::RandomColour{.brightness = 0.2});
  manual_seed(1);
  Cnn net;
  std::printf("%s", summary(net, {1, 1, 16, 16}).text().c_str());
  optim::Adam adam(parameters(net), {.lr = 1e-2});
  Trainer trainer(net, adam, cross_entropy, {.epochs = 60, .batch = 15, .workers = 2});
  trainer.on_epoch = EarlyStopping{.patience = 15};
  const History history = trainer.fit(varied, test);
  double best = 0;
  for (const EpochRecord& record : history) best = std::max(best, record.test_accuracy);
  std::printf("pictures: %.1f %% of the test pictures are right after at most %zu epochs\n", 100 * best, history.size());
  assert(best > 0.9);
}

// ---- Samples that are made when they are asked for, with two inputs.

struct Pairs {  // {a picture, another one, 1 when both show the same shape}
  data::ImageFolder pictures;
  std::int64_t size() const { return 600; }
  data::Sample get(std::int64_t, data::RandomStream& random) const {
    const auto count = static_cast<std::uint32_t>(pictures.size());
    const data::Sample a = pictures.get(random.below(count)), b = pictures.get(random.below(count));
    const bool same = a[1].values<std::int64_t>()[0] == b[1].values<std::int64_t>()[0];
    return {a[0], b[0], data::number(same ? 1.0f : 0.0f)};
  }
};

struct Comparison {
  Cnn eye;
  nn::Sequential judge{nn::Linear{16, 16}, relu, nn::Linear{16, 1}};
  Tensor operator()(Tensor a, Tensor b) {  // twice (N, 1, 16, 16) -> (N,)
    return squeeze(judge(square(flatten(eye.features(a), 1) - flatten(eye.features(b), 1))), 1);
  }
};

static void pairs_lesson(const std::string& root) {
  const Pairs pairs{data::ImageFolder(root, {.colours = data::Colours::Gray})};
  // The loader alone: batches in a fixed order, from any place.
  data::Loader whole(pairs, {.batch = 50, .shuffle = true, .seed = 4, .workers = 2}),
      later(pairs, {.batch = 50, .shuffle = true, .seed = 4});
  for (int i = 0; i < 5; ++i) whole.next();
  later.seek(whole.position());
  const auto one = whole.next(), other = later.next();
  assert(one->tensors.size() == 3);
  for (std::size_t t = 0; t < 3; ++t) assert(one->tensors[t].to_host() == other->tensors[t].to_host());

  // A model of two inputs gets the first two tensors, the loss the third.
  manual_seed(2);
  Comparison net;
  optim::Adam adam(parameters(net), {.lr = 1e-2});
  const auto right = [](const Tensor& scores, const Tensor& same) { return mean(cast((scores > 0) == (same > 0.5), f32)); };
  Trainer trainer(net, adam, binary_cross_entropy_with_logits, {.epochs = 40, .batch = 50, .metrics = {{"right", right}}, .workers = 2});
  trainer.on_epoch = [](const EpochRecord& r) { return r.train_metrics.at("right") > 0.95 ? Go::Stop : Go::On; };
  const History history = trainer.fit(pairs);
  std::printf("pairs: %.1f %% of the pairs of epoch %zu are right\n", 100 * history.back().train_metrics.at("right"), history.size());
  assert(history.back().train_metrics.at("right") > 0.85);
}

int main() {
  const std::string root = (std::filesystem::temp_directory_path() / ("tegula-lesson-8-" + std::to_string(getpid()))).string();
  write_pictures(root);
  table_lesson();
  pictures_lesson(root);
  pairs_lesson(root);
  std::filesystem::remove_all(root);
}
