#pragma once
// Labels of Pascal VOC: an XML file for each picture (Everingham et al., "The Pascal visual object classes challenge", 2010), read by Expat.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/data/object_labels.h"

namespace tegula::data {

/// The pictures of these files in their order, classes by the alphabet. A box <xmin> … <ymax> counts pixels from 1 and holds its last one: 1, 1, 4, 2 has the corners 0, 0,
/// 4, 2. An object that is marked <difficult> counts as a crowd: neither for nor against a detector. Needs Expat. Throws Error without it, naming the file and the line for
/// XML that is damaged or no <annotation>, for an object without name or box, and boxes that are no numbers.
ObjectLabels read_voc(std::span<const std::string> paths);
/// The same of one picture from memory. `name` stands for the file in messages.
ObjectLabels parse_voc(std::string_view xml, std::string_view name);

/// The class of a pixel of VOC's masks from its colour: the number whose bits are dealt out to red, green and blue from the highest on; 255, the border around objects, is
/// (224, 224, 192). -1 for a colour that is none of the 256.
std::int64_t voc_class(std::uint8_t red, std::uint8_t green, std::uint8_t blue);
/// The colour of a class, the other way round.
std::array<std::uint8_t, 3> voc_colour(std::uint8_t of_class);

}  // namespace tegula::data
