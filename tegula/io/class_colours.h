#pragma once
// The colours of classes in pictures.

#include <array>
#include <cstdint>

namespace tegula::io {

using Colour = std::array<std::uint8_t, 3>;

/// One of twelve, that are easy to tell apart; any number is a class.
inline const Colour& class_colour(std::int64_t of_class) {
  static constexpr std::array<Colour, 12> kColours{{{230, 25, 75},
                                                    {60, 180, 75},
                                                    {255, 225, 25},
                                                    {0, 130, 200},
                                                    {245, 130, 48},
                                                    {145, 30, 180},
                                                    {70, 240, 240},
                                                    {240, 50, 230},
                                                    {210, 245, 60},
                                                    {250, 190, 212},
                                                    {0, 128, 128},
                                                    {170, 110, 40}}};
  return kColours[static_cast<std::uint64_t>(of_class) % kColours.size()];
}

}  // namespace tegula::io
