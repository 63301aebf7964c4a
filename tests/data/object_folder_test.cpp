// Folders of pictures with labels in the three forms, folders of masks, labels of Pascal VOC, batches of unequal sizes.

#include "tegula/data/objects/object_folder.h"

#include <gtest/gtest.h>

#include <random>

#include "tegula/data/loader.h"
#include "tegula/data/objects/padded.h"
#include "tegula/data/objects/voc.h"
#include "tegula/io/png.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

using testing::TemporaryFolder;

void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  io::write_atomically(path, testing::bytes_of(text));
}
void write_gray(const std::string& path, std::int64_t height, std::int64_t width, int value) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  HostArray picture = HostArray::empty(u8, {height, width, 1});
  for (auto& byte : picture.values<std::uint8_t>()) byte = static_cast<std::uint8_t>(value);
  io::write_png(path, picture);
}
std::string voc_label(const std::string& file, const std::string& more = "") {
  return "<annotation>\n  <folder>x</folder><filename>" + file + R"(</filename>
  <size><width>40</width><height>20</height><depth>3</depth></size>
  <object><name>dog &amp; cat</name><pose>Left</pose><truncated>0</truncated><difficult>0</difficult>
    <bndbox><xmin>1</xmin><ymin>3</ymin><xmax>10</xmax><ymax>12.5</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></object>
)" + more +
         "</annotation>\n";
}
const std::string kDifficult =
    "<object><name>bird</name><difficult>1</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>";

TEST(Voc, ALabelIsRead) {
  const ObjectLabels labels = parse_voc(voc_label("a.jpg", kDifficult), "a.xml");
  EXPECT_EQ(labels.names, (std::vector<std::string>{"bird", "dog & cat"}));
  ASSERT_EQ(labels.pictures.size(), 1u);
  EXPECT_EQ(labels.pictures[0].file, "a.jpg");
  EXPECT_EQ(labels.pictures[0].width, 40);
  ASSERT_EQ(labels.pictures[0].objects.size(), 2u);
  EXPECT_EQ(labels.pictures[0].objects[0].corners, (std::array<double, 4>{0, 2, 10, 12.5}));
  EXPECT_EQ(labels.pictures[0].objects[0].of_class, 1);
  EXPECT_EQ(labels.pictures[0].objects[0].area, 10 * 10.5);
  EXPECT_FALSE(labels.pictures[0].objects[0].is_crowd);
  EXPECT_TRUE(labels.pictures[0].objects[1].is_crowd);
}

std::string replaced(std::string text, const std::string& part, const std::string& instead) {
  return text.replace(text.find(part), part.size(), instead);
}

TEST(Voc, MistakesAreNamed) {
  const std::string good = voc_label("a.jpg");
  EXPECT_ERROR(parse_voc("", "a.xml"), "read_voc: got file a.xml");
  EXPECT_ERROR(parse_voc("<html></html>", "a.xml"), "file a.xml, line 1: <html>, expected <annotation>");
  EXPECT_ERROR(parse_voc(replaced(good, "</size>", ""), "a.xml"), "file a.xml, line");
  EXPECT_ERROR(parse_voc(replaced(good, "<xmin>1</xmin>", "<xmin>one</xmin>"), "a.xml"), "line 5: <xmin> one, expected a number");
  EXPECT_ERROR(parse_voc(replaced(good, "<xmin>1</xmin>", ""), "a.xml"), "an object dog & cat without its box");
  EXPECT_ERROR(parse_voc(replaced(good, "<name>dog &amp; cat</name>", ""), "a.xml"), "an object without a name");
  EXPECT_ERROR(parse_voc(replaced(good, "<width>40", "<width>-40"), "a.xml"), "a number of pixels");
  EXPECT_ERROR(parse_voc("<!DOCTYPE a [<!ENTITY b \"c\">]><annotation>&b;</annotation>", "a.xml"), "a document type");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<annotation>";
  EXPECT_ERROR(parse_voc(deep, "a.xml"), "more than 32 elements");
  EXPECT_ERROR(parse_voc("<annotation>" + std::string(10'000, 'x') + "</annotation>", "a.xml"), "a field of more than 4096 bytes");
  const std::vector<std::string> none{"not/there.xml"};
  EXPECT_ERROR(read_voc(none), "not/there.xml");
}

TEST(Voc, BrokenFilesGiveErrors) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text = voc_label("a.jpg", kDifficult);
    for (int n = 0; n < 2; ++n) text[random() % text.size()] = static_cast<char>(random() % 96 + 32);
    if (i % 3 == 0) text.resize(random() % text.size());
    try {
      const ObjectLabels labels = parse_voc(text, "x.xml");
      for (const auto& object : labels.pictures.at(0).objects) EXPECT_LT(object.of_class, static_cast<std::int64_t>(labels.names.size()));
    } catch (const Error&) {}
  }
}

TEST(Voc, ColoursOfMasksAreClasses) {
  EXPECT_EQ(voc_colour(1), (std::array<std::uint8_t, 3>{128, 0, 0}));
  EXPECT_EQ(voc_colour(15), (std::array<std::uint8_t, 3>{192, 128, 128}));  // a person
  EXPECT_EQ(voc_class(224, 224, 192), 255);
  for (int c = 0; c < 256; ++c) {
    const auto colour = voc_colour(static_cast<std::uint8_t>(c));
    EXPECT_EQ(voc_class(colour[0], colour[1], colour[2]), c);
  }
  EXPECT_EQ(voc_class(1, 2, 3), -1);
}

TEST(ObjectFolder, TheThreeFormsGiveTheSameSamples) {
  const TemporaryFolder coco, voc, yolo;
  for (const TemporaryFolder* folder : {&coco, &voc, &yolo})
    write_gray(*folder / (folder == &voc ? "JPEGImages/a.png" : "images/a.png"), 20, 40, 255);
  write_gray(yolo / "images/b.png", 10, 10, 0);  // without a label
  write_text(coco / "annotations.json",
             R"({"images": [{"id": 1, "file_name": "a.png", "width": 40, "height": 20}], "categories": [{"id": 5, "name": "dog & cat"}],
 "annotations": [{"image_id": 1, "category_id": 5, "bbox": [0, 2, 10, 10.5]}, {"image_id": 1, "category_id": 5, "bbox": [0, 0, 9, 9], "iscrowd": 1}]})");
  write_text(voc / "Annotations/a.xml", voc_label("a.png"));
  write_text(yolo / "labels/a.txt", "0 0.125 0.3625 0.25 0.525\n");
  write_text(yolo / "classes.txt", "dog & cat\r\n");
  for (const TemporaryFolder* folder : {&coco, &voc, &yolo}) {
    const ObjectFolder set(folder->path(), {.colours = Colours::Gray, .size = 80});
    EXPECT_EQ(set.classes(), (std::vector<std::string>{"dog & cat"}));
    ASSERT_EQ(set.size(), folder == &yolo ? 2 : 1);
    const Sample sample = set.get(0);
    EXPECT_EQ(sample[0].shape, (Shape{1, 80, 80}));
    ASSERT_EQ(sample[1].shape, (Shape{1, 4}));
    const auto box = sample[1].values<float>();
    for (const auto& [at, value] : {std::pair(0, 0.0), std::pair(1, 24.0), std::pair(2, 20.0), std::pair(3, 45.0)})
      EXPECT_NEAR(box[static_cast<std::size_t>(at)], value, 1e-4) << at;
    EXPECT_EQ(sample[2].values<std::int64_t>()[0], 0);
  }
  const ObjectFolder set(yolo.path(), {.size = 16});
  EXPECT_EQ(set.get(1)[2].values<std::int64_t>()[0], -1);
}

TEST(ObjectFolder, MistakesAreNamed) {
  const TemporaryFolder folder;
  EXPECT_ERROR(ObjectFolder(folder / "none"), "none, which is no folder");
  EXPECT_ERROR(ObjectFolder(folder.path()), "without labels");
  write_gray(folder / "a.png", 4, 4, 9);
  EXPECT_ERROR(ObjectFolder(folder.path()), "without labels, expected labels of COCO (annotations.json), VOC (Annotations/*.xml) or YOLO");
  write_text(folder / "a.txt", "");
  EXPECT_ERROR(ObjectFolder(folder.path()), "without objects");
  write_text(folder / "a.txt", "1 0.5 0.5 1 1\n");
  EXPECT_EQ(ObjectFolder(folder.path()).classes(), (std::vector<std::string>{"0", "1"}));
  write_text(folder / "classes.txt", "dog\n");
  EXPECT_ERROR(ObjectFolder(folder.path()), "a.txt, line 1");
  EXPECT_ERROR(ObjectFolder(folder.path(), {.size = 0}), "size 0");
  write_text(folder / "b.xml", voc_label("c.png"));
  EXPECT_ERROR(ObjectFolder(folder.path()), "b.xml with the picture c.png, expected that file in");
  write_text(folder / "x.json",
             R"({"images": [{"id": 1, "file_name": "d.png", "width": 4, "height": 4}], "categories": [], "annotations": []})");
  EXPECT_ERROR(ObjectFolder(folder.path()), "x.json with the picture d.png");
  write_text(folder / "y.json", "{}");
  EXPECT_ERROR(ObjectFolder(folder.path()), "with 2 .json files, expected one, or annotations.json");
}

void write_mask(const std::string& path, const Shape& shape, const std::vector<std::uint8_t>& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  io::write_png(path, HostArray::from(std::span<const std::uint8_t>(bytes), shape));
}
std::vector<std::int64_t> mask_of(const MaskFolder& set) {
  const Sample sample = set.get(0);
  return {sample[1].values<std::int64_t>().begin(), sample[1].values<std::int64_t>().end()};
}

TEST(MaskFolder, GrayBinaryAndColouredMasksAreRead) {
  using Numbers = std::vector<std::int64_t>;
  const TemporaryFolder folder;
  write_gray(folder / "images/a.png", 2, 4, 100);
  write_mask(folder / "masks/a.png", {2, 4, 1}, {0, 255, 255, 0, 0, 0, 0, 255});
  EXPECT_FALSE(has_masks(folder / "images"));
  EXPECT_EQ(MaskFolder(folder.path()).classes().size(), 2u);
  EXPECT_EQ(mask_of(MaskFolder(folder.path(), {.size = 4})), (Numbers{-1, -1, -1, -1, 0, 1, 1, 0, 0, 0, 0, 1, -1, -1, -1, -1}));
  write_mask(folder / "masks/a.png", {2, 4, 1}, {0, 3, 255, 0, 0, 0, 0, 1});
  EXPECT_EQ(MaskFolder(folder.path()).classes().size(), 4u);
  EXPECT_EQ(mask_of(MaskFolder(folder.path(), {.size = 4})), (Numbers{-1, -1, -1, -1, 0, 3, -1, 0, 0, 0, 0, 1, -1, -1, -1, -1}));
  std::vector<std::uint8_t> colours(24, 0);
  colours[3] = 128;                                      // class 1
  colours[6] = 224, colours[7] = 224, colours[8] = 192;  // a border
  write_mask(folder / "masks/a.png", {2, 4, 3}, colours);
  write_text(folder / "classes.txt", "ground\nplane\nbike\n");
  EXPECT_EQ(MaskFolder(folder.path()).classes()[1], "plane");
  EXPECT_EQ(mask_of(MaskFolder(folder.path(), {.size = 4})), (Numbers{-1, -1, -1, -1, 0, 1, -1, 0, 0, 0, 0, 0, -1, -1, -1, -1}));
}

TEST(MaskFolder, MistakesAreNamed) {
  const TemporaryFolder folder;
  EXPECT_ERROR(MaskFolder(folder.path()), "expected images and masks in it, or JPEGImages and SegmentationClass");
  write_gray(folder / "masks/a.png", 2, 2, 5);
  EXPECT_ERROR(MaskFolder(folder.path()), "a.png without a picture");
  write_gray(folder / "images/a.png", 2, 3, 5);
  EXPECT_ERROR(MaskFolder(folder.path(), {.size = 0}), "size 0");
  EXPECT_ERROR(MaskFolder(folder.path()).get(0), "of (2, 2) pixels, expected (2, 3)");
  write_text(folder / "classes.txt", "one\n");
  EXPECT_ERROR(MaskFolder(folder.path()), "masks of 6 classes, expected at most the 1 of");
  write_mask(folder / "masks/a.png", {1, 1, 3}, {1, 2, 3});
  EXPECT_ERROR(MaskFolder(folder.path()), "with the colour (1, 2, 3), expected gray values, or the colours of Pascal VOC");
}

TEST(Padded, ImagesOfUnequalSizesBecomeABatchWithTheirSizes) {
  const auto image = [](std::int64_t h, std::int64_t w, float value) {
    const std::vector<float> pixels(static_cast<std::size_t>(2 * h * w), value);
    return HostArray::from(std::span<const float>(pixels), {2, h, w});
  };
  const std::vector<HostArray> images{image(2, 3, 1), image(3, 1, 2)};
  const PaddedImages out = padded(images);
  EXPECT_EQ(out.images.shape, (Shape{2, 2, 3, 3}));
  const auto sizes = out.sizes.values<std::int64_t>();
  EXPECT_EQ((std::vector<std::int64_t>(sizes.begin(), sizes.end())), (std::vector<std::int64_t>{2, 3, 3, 1}));
  const auto pixels = out.images.values<float>(), is_in = inside(out.sizes, 3, 3).values<float>();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t p = 0; p < 9; ++p) EXPECT_EQ(pixels[(2 * i + c) * 9 + p], is_in[i * 9 + p] * static_cast<float>(i + 1));
  EXPECT_EQ(padded(images, 4).images.shape, (Shape{2, 2, 4, 4}));
  EXPECT_ERROR(padded({}), "0 images");
  EXPECT_ERROR(padded(images, 0), "a multiple of 0");
  const std::vector<HostArray> mixed{image(2, 3, 1), HostArray::empty(f32, {1, 2, 2})};
  EXPECT_ERROR(padded(mixed), "f32(1, 2, 2), expected images f32 (C, H, W)");
  EXPECT_ERROR(inside(out.images, 3, 3), "i64 (N, 2)");
}

TEST(Padded, ASetOfUnequalSizesIsLoadedInBatches) {
  struct Unequal {
    std::int64_t size() const { return 3; }
    Sample get(std::int64_t i) const {
      Sample sample{HostArray::empty(f32, {1, i + 1, 2}), number(i), HostArray::empty(i64, {i + 1, 2})};
      for (float& pixel : sample[0].values<float>()) pixel = 1;
      for (std::int64_t& pixel : sample[2].values<std::int64_t>()) pixel = 5;
      return sample;
    }
  };
  Loader loader(padded(Unequal{}, 3, 4), {.batch = 3});
  const Batch batch = *loader.next();
  ASSERT_EQ(batch.tensors.size(), 4u);
  EXPECT_EQ(batch.x.shape(), (Shape{3, 1, 3, 4}));
  EXPECT_EQ(batch.y.to_host<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 2, 2, 3, 2}));
  EXPECT_EQ(batch.tensors[2].to_host<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2}));
  const auto mask = batch.tensors[3].to_host<std::int64_t>();
  EXPECT_EQ(std::count(mask.begin(), mask.end(), 5), 2 + 4 + 6);
  EXPECT_EQ(std::count(mask.begin(), mask.end(), -1), 36 - 12);
  EXPECT_ERROR(padded_to(Unequal{}.get(2), 2, 2), "of at most 2 x 2 pixels");
}

}  // namespace
}  // namespace tegula::data
