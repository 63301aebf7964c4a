#include "tegula/data/object_labels.h"

#include <gtest/gtest.h>

#include <random>

#include "tegula/core/error.h"
#include "tests/io/files.h"

namespace tegula::data {
namespace {

const std::string kCoco =
    R"({"images": [{"id": 7, "file_name": "a.jpg", "width": 40, "height": 30}, {"id": 3, "file_name": "b.jpg", "width": 8, "height": 9}],
 "annotations": [{"image_id": 3, "category_id": 18, "bbox": [1, 2, 3.5, 4], "area": 9.25, "iscrowd": 1},
                 {"image_id": 7, "category_id": 1, "bbox": [0, 0, 2, 2], "segmentation": [[1, 2, 3]]}],
 "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}]})";

TEST(ObjectLabels, OfCoco) {
  const ObjectLabels labels = parse_coco(kCoco, "x.json");
  EXPECT_EQ(labels.names, (std::vector<std::string>{"person", "dog"}));
  ASSERT_EQ(labels.pictures.size(), 2u);
  EXPECT_EQ(labels.pictures[0].file, "a.jpg");
  EXPECT_EQ(labels.pictures[0].height, 30);
  ASSERT_EQ(labels.pictures[1].objects.size(), 1u);
  const LabelledObject& dog = labels.pictures[1].objects[0];
  EXPECT_EQ(dog.of_class, 1);
  EXPECT_EQ(dog.corners, (std::array<double, 4>{1, 2, 4.5, 6}));
  EXPECT_EQ(dog.area, 9.25);
  EXPECT_TRUE(dog.is_crowd);
  EXPECT_EQ(labels.pictures[0].objects[0].area, 4);
}

std::string without(std::string text, const std::string& part, const std::string& instead) {
  return text.replace(text.find(part), part.size(), instead);
}

TEST(ObjectLabels, MistakesInCocosAreNamed) {
  EXPECT_ERROR(parse_coco("[1]", "x.json"), "read_coco: got file x.json: no list categories");
  EXPECT_ERROR(parse_coco("{", "x.json"), "x.json");
  EXPECT_ERROR(parse_coco(without(kCoco, "\"image_id\": 3", "\"image_id\": 4"), "x.json"), "annotations[0].image_id = 4");
  EXPECT_ERROR(parse_coco(without(kCoco, "\"category_id\": 1,", "\"category_id\": 2,"), "x.json"), "annotations[1].category_id = 2");
  EXPECT_ERROR(parse_coco(without(kCoco, "[0, 0, 2, 2]", "[0, 0, 2]"), "x.json"), "annotations[1].bbox");
  EXPECT_ERROR(parse_coco(without(kCoco, "\"id\": 7", "\"id\": 3"), "x.json"), "an id that is there already");
  EXPECT_ERROR(parse_coco(without(kCoco, "\"width\": 40", "\"wide\": 40"), "x.json"), "images[0] without width");
  EXPECT_ERROR(read_coco("not/there.json"), "not/there.json");
}

TEST(ObjectLabels, BrokenFilesGiveErrors) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text = kCoco;
    for (int n = 0; n < 3; ++n) text[random() % text.size()] = static_cast<char>(random() % 96 + 32);
    if (i % 3 == 0) text.resize(random() % text.size());
    try {
      const ObjectLabels labels = parse_coco(text, "x.json");
      for (const auto& picture : labels.pictures)
        for (const auto& object : picture.objects) EXPECT_LT(object.of_class, static_cast<std::int64_t>(labels.names.size()));
    } catch (const Error&) {}
  }
}

TEST(ObjectLabels, OfYolo) {
  const auto objects = parse_yolo("1 0.5 0.5 0.25 0.5\r\n\n0 0.1 0.2 0.2 0.4", "a.txt", 2, 100, 40);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].corners, (std::array<double, 4>{15, 25, 25, 75}));
  EXPECT_EQ(objects[0].of_class, 1);
  EXPECT_EQ(objects[0].area, 500);
  EXPECT_TRUE(parse_yolo("", "a.txt", 2, 9, 9).empty());
  EXPECT_ERROR(parse_yolo("0 0.5 0.5 0.25 0.5\n2 0.5 0.5 0.25 0.5", "a.txt", 2, 9, 9), "file a.txt, line 2: 2 0.5");
  EXPECT_ERROR(parse_yolo("0 0.5 0.5 0.25", "a.txt", 2, 9, 9), "line 1");
  EXPECT_ERROR(parse_yolo("0 0.5 0.5 0.25 nan", "a.txt", 2, 9, 9), "from 0 to 1");
  EXPECT_ERROR(parse_yolo("0 0.5 0.5 0.25 1.5", "a.txt", 2, 9, 9), "from 0 to 1");
}

}  // namespace
}  // namespace tegula::data
