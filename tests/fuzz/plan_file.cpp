// The reader of plan files on arbitrary findings, heads and changes of the plan's text, with the digests that belong to them: it returns a function, or throws
// tegula::Error, and nothing else. The function is not called: a plan is as powerful as a program.
//
// The first byte of the input names the kind of the rest: 'f' the findings (JSON), 'h' the machine that the plan is for (JSON), 'c' a piece of machine code, anything
// else changes of the text, three bytes each: the place (two), and the letter.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "tegula/core/error.h"
#include "tegula/core/json.h"
#include "tegula/core/warning.h"
#include "tegula/formats/findings_json.h"
#include "tegula/tegula.h"

namespace {

using namespace tegula;

constexpr const char* kBody = "tegula.plan.json";

struct Plan {
  // In memory, where a file is written at once.
  std::string path =
      std::string(std::filesystem::exists("/dev/shm") ? "/dev/shm/" : "") + "tegula-fuzz-" + std::to_string(getpid()) + ".plan";
  io::Safetensors file;
  std::string text;
  Plan() {
    set_warning_handler([](const std::string&, const std::string&) {});
    nn::LSTM lstm(3, 2);
    save_plan(path, [&](const Tensor& x) { return take(lstm(x).output, tensor<std::int64_t>({1, 0}), 1); }, ones({2, 4, 3}));
    file = io::read_safetensors(path);
    for (const auto& [name, array] : file.tensors)
      if (name == kBody) text.assign(static_cast<const char*>(array.buffer->data()), array.bytes());
  }
  ~Plan() { std::remove(path.c_str()); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
};

void write(const Plan& plan, std::string_view text, const io::NamedArrays& more, std::string_view made_for) {
  io::Safetensors other = plan.file;
  for (auto& [name, array] : other.tensors)
    if (name == kBody) array = formats::bytes_array(text);
  for (const auto& one : more) other.tensors.push_back(one);
  auto& entry = other.metadata.at("tegula.plan");
  auto head = parse_json(entry, "fuzz", "head");
  head["digest"] = formats::digest(text);
  entry = head.dump();
  if (!made_for.empty()) {
    const std::string written = head["made_for"].dump();
    entry.replace(entry.find(written), written.size(), made_for);
  }
  io::write_safetensors(plan.path, other.tensors, other.metadata);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Plan plan;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view rest = input.substr(std::min<std::size_t>(1, size));
  std::string text = plan.text;
  io::NamedArrays more;
  std::string_view made_for;
  const char kind = input.empty() ? '\0' : input[0];
  if (kind == 'f' || kind == 'c') {
    constexpr std::string_view kNone = "\"findings\":{\"choices\":[],\"code\":[]}";
    const std::size_t at = text.find(kNone);
    if (at == std::string::npos) std::abort();
    const std::string_view code = kind == 'c' ? rest : "code";
    const std::string one = "{\"choices\":[],\"code\":[{\"kernels\":[\"k\"],\"digest\":" + std::to_string(formats::digest(code)) + "}]}";
    text.replace(at, kNone.size(), "\"findings\":" + (kind == 'c' ? one : std::string(rest)));
    more = {{"tegula.plan.code.0", formats::bytes_array(code)}};
  } else if (kind == 'h') {
    made_for = rest;
  } else {
    const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(rest[i])); };
    for (std::size_t i = 0; i + 2 < rest.size(); i += 3) text[(byte(i) | byte(i + 1) << 8) % text.size()] = rest[i + 2];
  }
  try {
    write(plan, text, more, made_for);
  } catch (const Error&) { return 0; }  // metadata that no file holds
  try {
    load_plan(plan.path);
  } catch (const Error& error) {
    if (error.report().op.empty()) std::abort();
  }
  return 0;
}
