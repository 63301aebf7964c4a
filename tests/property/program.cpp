#include "tests/property/program.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace tegula::property {

std::uint64_t Random::next() {
  std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

bool Instruction::draws() const {
  constexpr std::string_view names[] = {"dropout", "normal", "uniform", "randint", "bernoulli", "shuffle", "loop_dropout"};
  return std::ranges::find(names, op) != std::end(names);
}

std::string to_string(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Instruction& one = program[i];
    text += "v" + std::to_string(i) + " = " + one.op;
    for (int input : one.inputs) text += " v" + std::to_string(input);
    if (one.is_leaf()) {
      text += " " + std::string(name(one.dtype)) + " (";
      for (int d = 0; d < one.shape.rank(); ++d) text += (d > 0 ? " " : "") + std::to_string(one.shape[d]);
      text += ") #" + std::to_string(one.seed);
    } else {
      text += " [";
      for (std::size_t k = 0; k < one.knobs.size(); ++k) text += (k > 0 ? " " : "") + std::to_string(one.knobs[k]);
      text += "]";
    }
    text += one.kept ? " *\n" : "\n";
  }
  return text;
}

Program parse(const std::string& text) {
  Program program;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    const auto fail = [&] { throw std::runtime_error("not an instruction: " + line); };
    Instruction one;
    if (word != "v" + std::to_string(program.size()) || !(words >> word) || word != "=" || !(words >> one.op)) fail();
    while (words >> word) {
      const auto numbers = [&](char end) {  // "(3" "4)" or "()"
        std::string list = word;
        while (list.back() != end && words >> word) list += " " + word;
        list = list.substr(1, list.size() - 2);
        std::istringstream parts(list);
        std::vector<std::int64_t> out;
        for (std::int64_t number; parts >> number;) out.push_back(number);
        return out;
      };
      if (word[0] == 'v' && word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1]))) {
        one.inputs.push_back(std::stoi(word.substr(1)));
        if (one.inputs.back() >= static_cast<int>(program.size())) fail();
      } else if (word[0] == '(') {
        const auto sizes = numbers(')');
        one.shape = Shape(std::span<const std::int64_t>(sizes));
      } else if (word[0] == '[') {
        const auto all = numbers(']');
        for (std::size_t k = 0; k < std::min(all.size(), one.knobs.size()); ++k) one.knobs[k] = static_cast<std::uint32_t>(all[k]);
      } else if (word[0] == '#') {
        one.seed = std::stoull(word.substr(1));
      } else if (word == "*") {
        one.kept = true;
      } else {
        const auto* found = std::find_if(std::begin(kAllDTypes), std::end(kAllDTypes), [&](DType dtype) { return name(dtype) == word; });
        if (found == std::end(kAllDTypes)) fail();
        one.dtype = *found;
      }
    }
    program.push_back(std::move(one));
  }
  return program;
}

Program without_dead(const Program& program) {
  std::vector<bool> live(program.size());
  for (std::size_t i = program.size(); i-- > 0;) {
    const Instruction& one = program[i];
    // A write counts while its Variable is looked at somewhere, which every Variable is at the end.
    if (one.kept || one.op == "write" || one.op == "look" || one.op == "gradients") live[i] = true;
    if (!live[i]) continue;
    for (int input : one.inputs) live[static_cast<std::size_t>(input)] = true;
  }
  std::vector<int> number(program.size(), -1);
  Program out;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (!live[i]) continue;
    number[i] = static_cast<int>(out.size());
    out.push_back(program[i]);
    for (int& input : out.back().inputs) input = number[static_cast<std::size_t>(input)];
  }
  return out;
}

std::vector<double> leaf_values(const Instruction& leaf) {
  Random random(leaf.seed * 31 + 17);
  const bool coarse = leaf.seed % 3 == 0;  // many ties, zeros among them
  std::vector<double> out(static_cast<std::size_t>(numel(leaf.shape)));
  for (double& x : out) {
    const double u = random.uniform();
    if (leaf.dtype == DType::boolean) x = u < 0.5;
    else if (!is_float(leaf.dtype)) x = std::floor(u * 12) - (is_unsigned(leaf.dtype) ? 0 : 4);
    else if (coarse || is_float8(leaf.dtype)) x = std::floor(u * 8 - 4) / 2;
    else x = std::round((u * 4 - 2) * 64) / 64;  // exact in every dtype
  }
  return out;
}

}  // namespace tegula::property
