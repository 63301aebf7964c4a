// tegula train images: a small residual net, or a published one, over folders of pictures, one folder a class; and its models' predictions for other pictures.

#include "app/own/images.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>

#include "app/own/training.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "tegula/core/error.h"
#include "tegula/core/text.h"
#include "tegula/data/augment.h"
#include "tegula/data/image_folder.h"
#include "tegula/io/file.h"
#include "tegula/io/jpeg.h"
#include "tegula/models/image_classifier.h"
#include "tegula/models/images/by_name.h"
#include "tegula/nn/state.h"
#include "tegula/ops/rows/loss.h"
#include "tegula/optim/optimizers.h"
#include "tegula/train/metrics.h"

namespace tegula::app {
namespace {

constexpr const char* kTrainImages = "tegula train images";
constexpr std::int64_t kSampledPictures = 500;  // that the colours' means are taken of
constexpr std::int64_t kBytesInMemory = std::int64_t{2} << 30;  // of decoded pictures; above that they are read again in each epoch

struct ImagesChoice {
  OwnTraining training{
      .op = kTrainImages, .epochs = 30, .batch = 32, .patience = 8, .lr = 2e-3, .out = "images.safetensors", .plot = "images.png"};
  std::string folder, test, net, from;
  std::int64_t size = 0, width = 32, stages = 3, blocks = 1;
  std::int64_t workers = 2;
  bool flip = true, augment = true;
};

data::ImageFolder open_folder(const std::string& folder, std::int64_t size) {
  return data::ImageFolder(folder, {.colours = data::Colours::Rgb, .size = {size, size}});
}

/// The default side in pixels: smaller pictures keep their size, rounded to a multiple that each stage can halve.
std::int64_t usual_size(const std::string& folder, std::int64_t stages) {
  constexpr std::int64_t kMost = 64;
  const Shape shape = data::ImageFolder(folder, {.colours = data::Colours::Rgb}).get(0)[0].shape;
  const std::int64_t side = std::max(shape[1], shape[2]), unit = std::int64_t{1} << stages;
  return std::min(kMost, (side + unit - 1) / unit * unit);
}

/// The pictures of these rows, decoded.
data::ArrayDataset in_memory(const data::ImageFolder& folder, const std::vector<std::int64_t>& rows) {
  std::vector<data::Sample> samples;
  samples.reserve(rows.size());
  for (const std::int64_t row : rows) samples.push_back(folder.get(row));
  std::vector<HostArray> arrays = data::stack(samples);
  return {std::move(arrays[0]), std::move(arrays[1])};
}

/// A set of pictures that is measured as it is, or trained on with random changes.
data::AnyDataset as_set(const data::ImageFolder& folder, const std::vector<std::int64_t>& rows, const ImagesChoice* augment) {
  const std::int64_t size = folder.get(rows.at(0))[0].shape[2];
  const auto with = [&](auto set) -> data::AnyDataset {
    if (!augment || !augment->augment) return set;
    return data::augmented(std::move(set), data::RandomFlip{.p = augment->flip ? 0.5 : 0.0},
                           data::RandomCrop{.padding = std::max<std::int64_t>(1, size / 16), .fill = data::Fill::Edge},
                           data::RandomColour{.brightness = 0.2, .contrast = 0.2, .saturation = 0.2});
  };
  const auto bytes = static_cast<std::int64_t>(rows.size()) * 3 * size * size * 4;
  return bytes <= kBytesInMemory ? with(in_memory(folder, rows)) : with(data::subset(folder, rows));
}

std::vector<std::int64_t> all_rows(const data::ImageFolder& folder) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(folder.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  return rows;
}

void require_classes(const data::ImageFolder& folder, const std::string& path, const std::vector<std::string>& classes) {
  if (folder.classes() == classes) return;
  throw Error({.op = "tegula",
               .got = path + " with the classes " + joined(folder.classes()),
               .expected = "those of the model: " + joined(classes)});
}

void print_matrix(models::ImageClassifier& net, const std::vector<std::string>& classes, const data::AnyDataset& set, const char* what) {
  Evaluator evaluator(net, {.batch = 64, .loss = cross_entropy});
  metrics::ConfusionMatrix matrix(classes);
  const Tensor scores = evaluator.predict(set);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(set.size())), labels;
  data::RandomStream none(0, 0);
  for (std::int64_t i = 0; i < set.size(); ++i) labels.push_back(set.get(i, none).at(1).values<std::int64_t>()[0]);
  matrix.add(labels, metrics::predicted_classes(scores));
  std::printf("%s of %lld pictures: accuracy %.2f %%, macro F1 %.4f\n\n%s", what, static_cast<long long>(set.size()),
              100 * matrix.accuracy(), matrix.macro_f1(), printable(matrix.print()).c_str());
}

void run_train_images(ImagesChoice& choice) {
  OwnTraining& training = choice.training;
  refuse_ranks(kTrainImages, "pictures of one's own are trained on by one process");
  begin(training);
  const auto own = own_parts(choice.folder);
  if (choice.net.empty() && !choice.from.empty())
    throw Error({.op = kTrainImages, .got = "--from without --net", .expected = "the name of the net whose weights these are"});
  if (choice.size == 0 && !choice.net.empty()) choice.size = models::picture_net(choice.net).size;
  if (choice.size == 0) choice.size = usual_size(own ? own->first : choice.folder, choice.stages);
  if (choice.net.empty() && choice.size >> choice.stages < 1)
    throw Error(
        {.op = kTrainImages,
         .got = format("--size %lld with --stages %lld", static_cast<long long>(choice.size), static_cast<long long>(choice.stages)),
         .expected = "pictures that each stage can halve"});
  const data::ImageFolder folder = open_folder(own ? own->first : choice.folder, choice.size);
  if (folder.classes().size() < 2)
    throw Error(
        {.op = kTrainImages, .got = choice.folder + ", pictures of one class", .expected = "a folder for each of at least two classes"});
  data::AnyDataset train, test;
  std::vector<std::int64_t> train_rows;
  if (own) {
    const data::ImageFolder validation = open_folder(own->second, choice.size);
    require_classes(validation, own->second, folder.classes());
    train_rows = all_rows(folder);
    test = as_set(validation, all_rows(validation), nullptr);
  } else {
    RowSplit parts = split_rows(folder.size(), training, folder.labels());
    train_rows = std::move(parts.train);
    test = as_set(folder, parts.test, nullptr);
  }
  train = as_set(folder, train_rows, &choice);

  models::ImageClassifier net({.classes = static_cast<std::int64_t>(folder.classes().size()),
                               .size = choice.size,
                               .width = choice.width,
                               .stages = choice.stages,
                               .blocks = choice.blocks,
                               .net = choice.net});
  std::vector<std::int64_t> sampled = train_rows;
  const auto step = std::max<std::size_t>(1, sampled.size() / kSampledPictures);
  for (std::size_t i = 0; i * step < sampled.size(); ++i) sampled[i] = train_rows[i * step];
  sampled.resize((sampled.size() + step - 1) / step);
  if (choice.from.empty()) net.fit_colours(from_array(in_memory(folder, sampled).inputs));
  else net.begin_with(load_state(choice.from));
  std::printf("%s: %zu classes, pictures of %lld x %lld. %s parameters. %lld pictures to train on, %lld to validate.\n",
              choice.folder.c_str(), folder.classes().size(), static_cast<long long>(choice.size), static_cast<long long>(choice.size),
              quantity(static_cast<double>(num_parameters(net))).c_str(), static_cast<long long>(train.size()),
              static_cast<long long>(test.size()));

  const std::int64_t batch = std::min(training.batch, train.size());
  optim::AdamW adam(parameters(net), {.lr = training.lr, .weight_decay = training.weight_decay});
  Trainer trainer(net, adam, cross_entropy,
                  {.epochs = training.epochs,
                   .batch = batch,
                   .test_batch = 64,
                   .seed = training.seed,
                   .schedule = optim::OneCycleLR{.maximum = training.lr,
                                                 .total = std::max<std::int64_t>(2, training.epochs * (train.size() / batch)),
                                                 .pct_start = 0.2},
                   .workers = static_cast<int>(choice.workers),
                   .checkpoint = training.checkpoint,
                   .stop_on_interrupt = true,
                   .early_stopping = best_of(training, right_answers()),
                   .progress = Progress::No});
  const History history = train_with_report(trainer, training, right_answers(), "pictures", train, test);
  models::save_image_classifier(training.out, net, folder.classes());
  print_matrix(net, folder.classes(), test, "validation");
  if (!choice.test.empty()) {
    const data::ImageFolder last = open_folder(choice.test, choice.size);
    require_classes(last, choice.test, folder.classes());
    print_matrix(net, folder.classes(), as_set(last, all_rows(last), nullptr), "test");
  }
  std::printf("model: %s\n", training.out.c_str());
  draw_curve(training.plot, history, choice.folder);
}

}  // namespace

void predict_pictures(const std::string& path, const std::vector<std::string>& pictures, std::int64_t count) {
  const models::NamedImageClassifier model = models::load_image_classifier(path);
  for (const std::string& picture : pictures) {
    const std::vector<float> p = model.probabilities(io::read_picture(picture));
    std::vector<std::size_t> order(p.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
    std::printf("%s: ", picture.c_str());
    for (std::size_t i = 0; i < std::min(order.size(), static_cast<std::size_t>(count)); ++i)
      std::printf("%s%s (%.1f %%)", i ? ", then " : "", printable(model.classes[order[i]]).c_str(), 100 * static_cast<double>(p[order[i]]));
    std::printf("\n");
  }
}

void evaluate_folder(const std::string& path, const std::string& folder_path) {
  const models::NamedImageClassifier model = models::load_image_classifier(path);
  const data::ImageFolder folder = open_folder(folder_path, model.net->options().size);
  require_classes(folder, folder_path, model.classes);
  print_matrix(*model.net, model.classes, as_set(folder, all_rows(folder), nullptr), folder_path.c_str());
}

void add_train_images(Command& train) {
  auto choice = std::make_shared<ImagesChoice>();
  ImagesChoice& c = *choice;
  Command command = train.command("images", "classes of pictures, from a folder with a folder for each class");
  command.last_counts();
  command.option("folder", c.folder, "FOLDER/class/picture.jpg (PNG too); or the same in FOLDER/train and FOLDER/val")
      .required()
      .type("FOLDER");
  command.option("--test", c.test, "the same, measured with the best weights at the end").check(not_empty()).type("FOLDER");
  std::vector<std::string> nets;
  for (const models::PictureNet& net : models::picture_nets()) nets.emplace_back(net.name);
  command.option("--net", c.net, "a published net instead of a small one").check(one_of(nets));
  command.option("--from", c.from, "with --net: its published weights (torchvision's, .pth or .safetensors), but those of the last layers")
      .check(not_empty())
      .type("FILE");
  command.option("--size", c.size, "pixels of each side, to which pictures are resized [64, of smaller pictures their own; --net: 224]")
      .check(between(4, 4096))
      .type("N");
  command.option("--width", c.width, "channels of the first stage; the next have twice as many")
      .check(between(1, 1024))
      .shows_default()
      .type("N");
  command.option("--stages", c.stages, "of the net; each halves the size").check(between(1, 6)).shows_default().type("N");
  command.option("--blocks", c.blocks, "residual blocks of a stage").check(between(1, 64)).shows_default().type("N");
  command.flag("!--no-flip", c.flip, "do not mirror pictures: of digits and texts");
  command.flag("!--no-augment", c.augment, "train on the pictures as they are");
  command.option("--workers", c.workers, "threads that change pictures ahead").check(between(0, 64)).shows_default().type("N");
  add_options(command, c.training, "pictures");
  command.runs([choice] { run_train_images(*choice); });
}

}  // namespace tegula::app
