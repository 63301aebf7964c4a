#pragma once
// A cubin's figures for its kernels: registers and stack, from the ELF section .nv.info (the numbers that cuobjdump prints).

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

struct CubinFigures {
  int registers = 0;
  int local_bytes = 0;
};

inline std::map<std::string, CubinFigures> cubin_figures(const void* image) {
  const auto* bytes = static_cast<const char*>(image);
  const auto read = [&](auto& value, std::size_t at) { std::memcpy(&value, bytes + at, sizeof value); };
  struct Section {
    std::uint32_t name, type;
    std::uint64_t flags, address, offset, size;
    std::uint32_t link, info;
    std::uint64_t alignment, entry;
  };
  struct Symbol {
    std::uint32_t name;
    unsigned char info, other;
    std::uint16_t section;
    std::uint64_t value, size;
  };
  std::map<std::string, CubinFigures> found;
  if (std::memcmp(bytes, "\177ELF", 4) != 0) return found;
  std::uint64_t table = 0;
  std::uint16_t count = 0, names = 0;
  read(table, 0x28);
  read(count, 0x3c);
  read(names, 0x3e);
  const auto section = [&](std::size_t i) {
    Section s{};
    read(s, table + i * sizeof(Section));
    return s;
  };
  const auto named = [&](std::string_view name) {
    for (std::size_t i = 0; i < count; ++i) {
      if (bytes + section(names).offset + section(i).name == name) return section(i);
    }
    return Section{};
  };
  const Section symbols = named(".symtab"), info = named(".nv.info");
  const auto name_of = [&](std::uint32_t index) {
    Symbol symbol{};
    read(symbol, symbols.offset + index * sizeof symbol);
    return std::string(bytes + section(symbols.link).offset + symbol.name);
  };
  for (std::uint64_t at = info.offset; at + 4 <= info.offset + info.size;) {
    std::uint8_t format = 0, attribute = 0;
    std::uint16_t size = 0;
    read(format, at);
    read(attribute, at + 1);
    read(size, at + 2);
    at += 4;
    if (format != 4) continue;  // the value was in the place of the size
    std::uint32_t symbol = 0, value = 0;
    if (size >= 8) read(symbol, at), read(value, at + 4);
    if (attribute == 0x2f) found[name_of(symbol)].registers = static_cast<int>(value);
    if (attribute == 0x11) found[name_of(symbol)].local_bytes = static_cast<int>(value);
    at += size;
  }
  return found;
}
