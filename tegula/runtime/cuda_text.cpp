#include "tegula/runtime/cuda_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "tegula/core/error.h"
#include "tegula/runtime/cuda_halves.cuh.h"
#include "tegula/runtime/cuda_tokens.h"

namespace tegula::runtime {
namespace {

using namespace tokens;

CudaParameter parameter_of(Part part, const std::map<std::string, std::string>& types) {
  CudaParameter parameter;
  // The name is the last word, where that is no word of the type.
  static const std::set<std::string_view> kWords{"const", "volatile", "restrict", "__restrict__", "__restrict", "int",    "long",
                                                 "short", "char",     "unsigned", "signed",       "float",      "double", "bool"};
  for (std::size_t i = 0; i < part.size(); ++i)  // float x[]: a pointer
    if (part[i].text == "[") {
      part.resize(i);
      if (!part.empty()) parameter.name = part.back().text, part.pop_back();
      part.push_back({"*", 0, 0});
      break;
    }
  for (std::size_t i = 0; i < part.size(); ++i)  // = a default
    if (part[i].text == "=") part.resize(i);
  if (parameter.name.empty() && part.size() > 1 && is_name(part.back().text.front()) && !kWords.contains(part.back().text))
    parameter.name = part.back().text, part.pop_back();
  parameter.type = text_of(part);
  std::vector<std::string> words;
  bool constant = false, behind_star = false;
  for (const Token& token : part) {
    if (token.text == "*") {
      if (parameter.pointer) constant = false, words = {"*"};  // a pointer to pointers
      parameter.pointer = behind_star = true;
    } else if (token.text == "const") {
      constant = constant || !behind_star;
    } else if (!kWords.contains(token.text) || is_number_word(token.text) || token.text == "long") {
      for (std::string& word : words_of({token}, types)) words.push_back(std::move(word));
    }
  }
  parameter.writable = parameter.pointer && !constant;
  const std::optional<CNumber> number = parameter.pointer ? element_of(words) : number_of(words);
  if (number) parameter.dtype = number->dtype, parameter.bytes = number->bytes, parameter.is_unsigned = number->is_unsigned;
  return parameter;
}

/// The position of a named kernel in the text.
struct Found {
  std::size_t qualifier = 0, name = 0;  // the tokens __global__ and its name
  std::optional<std::size_t> parameters_of_template;  // the token <
};

std::string base_of(const std::string& name) { return name.substr(0, name.find('<')); }

/// All kernels that the text defines or declares.
std::vector<Found> kernels_of(std::span<const Token> tokens) {
  std::vector<Found> all;
  std::optional<std::size_t> pending;  // the < of a template header that is not followed by ; or } yet
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == "template" && i + 1 < tokens.size() && tokens[i + 1].text == "<") {
      pending = i + 1;
      i = behind_bracket(tokens, i + 1) - 1;
    } else if (tokens[i].text == ";" || tokens[i].text == "}" || tokens[i].text == "{") {
      pending.reset();
    } else if (tokens[i].text == "__global__") {
      std::size_t k = i + 1;
      while (k + 1 < tokens.size() && tokens[k + 1].text != "(") ++k;
      if (k + 1 < tokens.size() && tokens[k].text == "__launch_bounds__") {
        k = behind_bracket(tokens, k + 1);
        while (k + 1 < tokens.size() && tokens[k + 1].text != "(") ++k;
      }
      if (k + 1 < tokens.size()) all.push_back({i, k, pending});
    }
  }
  return all;
}

Error refused(const std::string& name, std::string got, std::string expected, std::string advice, const Line& where) {
  return Error(
      {.op = "cuda_kernel " + name, .got = std::move(got), .expected = std::move(expected), .advice = std::move(advice), .where = where});
}

struct Located {
  std::vector<Token> tokens;
  Found found;
  std::map<std::string, std::string>
      types;  // names that stand for others: of the template's parameters, and what typedef, using and #define give
};

Located locate(const CudaText& text, const std::string& name, const Line& where) {
  Located out{.tokens = tokens_of(text.text), .found = {}, .types = {}};
  out.types = names_of_types(text.text, out.tokens);
  std::string base = base_of(name), names;
  if (const std::size_t at = base.rfind("::"); at != std::string::npos) base.erase(0, at + 2);
  std::optional<Found> found;
  for (const Found& kernel : kernels_of(out.tokens)) {
    const std::string_view here = out.tokens[kernel.name].text;
    if (names.find(here) == std::string::npos) names += (names.empty() ? "" : ", ") + std::string(here);
    if (here != base) continue;
    // A declaration ahead of the definition is the same kernel; another list of parameters is another one.
    const auto list_of = [&](const Found& one) {
      return parts_of(std::span(out.tokens).subspan(one.name + 2, behind_bracket(out.tokens, one.name + 1) - one.name - 3)).size();
    };
    if (found && list_of(*found) != list_of(kernel))
      throw refused(name, "several kernels of that name in " + text.file, "one", "call one of them something else", where);
    found = kernel;
  }
  if (!found) {
    throw refused(name, names.empty() ? "a text without a __global__ function" : "a text with the kernels " + names,
                  "a kernel of the name " + base, "", where);
  }
  out.found = *found;
  const bool arguments = name.find('<') != std::string::npos;
  if (arguments != found->parameters_of_template.has_value())
    throw refused(name, arguments ? "template arguments for a kernel that is no template" : "a template without its arguments",
                  arguments ? base : base + "<float>, or what else its parameters are", "", where);
  if (!arguments) return out;
  const std::string list = name.substr(name.find('<') + 1, name.rfind('>') - name.find('<') - 1);
  const std::vector<Token> list_tokens = tokens_of(list);
  const std::size_t open = *found->parameters_of_template;
  const std::vector<Part> parameters = parts_of(std::span(out.tokens).subspan(open + 1, behind_bracket(out.tokens, open) - open - 2)),
                          given = parts_of(list_tokens);
  for (std::size_t i = 0; i < parameters.size() && i < given.size(); ++i)
    if (parameters[i].size() > 1 && (parameters[i][0].text == "typename" || parameters[i][0].text == "class"))
      out.types[std::string(parameters[i][1].text)] = text_of(given[i]);
  return out;
}

/// Includes that kernels' compilers have no use for, as empty lines.
std::string without_includes(std::string text) {
  static constexpr std::array<std::string_view, 28> kHeaders{"cuda_fp16.h",    "cuda_fp16.hpp",
                                                             "cuda_bf16.h",    "cuda_bf16.hpp",
                                                             "cuda_runtime.h", "cuda_runtime_api.h",
                                                             "cuda.h",         "device_launch_parameters.h",
                                                             "stdio.h",        "stdlib.h",
                                                             "stdint.h",       "stddef.h",
                                                             "math.h",         "float.h",
                                                             "limits.h",       "string.h",
                                                             "assert.h",       "cstdio",
                                                             "cstdlib",        "cstdint",
                                                             "cstddef",        "cmath",
                                                             "cfloat",         "climits",
                                                             "cstring",        "cassert",
                                                             "iostream",       "vector_types.h"};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t hash = text.find_first_not_of(" \t", at);
    if (hash < end && text[hash] == '#') {
      const std::size_t open = text.find_first_of("<\"", hash),
                        close = open == std::string::npos ? open : text.find_first_of(">\"", open + 1);
      const std::size_t word = text.find_first_not_of(" \t", hash + 1);
      if (word < end && text.compare(word, 7, "include") == 0 && close < end &&
          std::ranges::find(kHeaders, std::string_view(text).substr(open + 1, close - open - 1)) != kHeaders.end())
        std::fill(text.begin() + static_cast<std::ptrdiff_t>(hash), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
    at = end + 1;
  }
  return text;
}

/// The words for halves, if the text uses any; else empty.
std::string halves_for(const std::string& text) {
  static constexpr std::string_view kSigns[] = {"cuda_fp16.h", "cuda_bf16.h", "__half", "__nv_bfloat16"};
  const bool wanted = std::ranges::any_of(kSigns, [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
  return wanted ? gpu::kHalves : "";
}

std::string line_directive(const CudaText& text) { return "#line 1 \"" + text.file + "\"\n"; }

}  // namespace

CudaSignature signature_of(const CudaText& text, const std::string& name, const Line& where) {
  const Located located = locate(text, name, where);
  const auto& [tokens, found, types] = located;
  CudaSignature signature{.name = base_of(name), .parameters = {}, .is_template = found.parameters_of_template.has_value()};
  signature.line = tokens[found.name].line;
  for (std::size_t i = found.qualifier; i < found.name; ++i)
    if (tokens[i].text == "__launch_bounds__") {
      const std::size_t end = behind_bracket(tokens, i + 1) - 1;
      signature.bounds = text.text.substr(tokens[i].begin, tokens[end].begin + 1 - tokens[i].begin);
    }
  const std::size_t open = found.name + 1, close = behind_bracket(tokens, open);
  for (const Part& part : parts_of(std::span(tokens).subspan(open + 1, close - open - 2))) {
    if (part.size() == 1 && part[0].text == "void") continue;
    CudaParameter parameter = parameter_of(part, types);
    if (!parameter.pointer && !parameter.dtype) {
      throw refused(name,
                    "the parameter " + std::to_string(signature.parameters.size()) + ", `" + text_of(part) + "`, in line " +
                        std::to_string(signature.line) + " of " + text.file,
                    "a pointer, or a number of C++: bool, an integer, float or double", "pass its parts one by one", where);
    }
    signature.parameters.push_back(std::move(parameter));
  }
  return signature;
}

std::optional<CudaVariable> variable_of(const CudaText& text, const std::string& name) {
  const std::vector<Token> tokens = tokens_of(text.text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text != "__constant__" && tokens[i].text != "__device__" && tokens[i].text != "__managed__") continue;
    CudaVariable variable;
    Part type;
    for (std::size_t k = i + 1; k + 1 < tokens.size() && tokens[k].text != ";" && tokens[k].text != "{" && tokens[k].text != "("; ++k) {
      const std::string_view next = tokens[k + 1].text;
      if (tokens[k].text == name && (next == "[" || next == ";" || next == "," || next == "=" || next == "{")) {
        variable.type = text_of(type), variable.begin = tokens[k].begin;
        const std::vector<std::string> words = words_of(type, names_of_types(text.text, tokens));
        if (const std::optional<CNumber> number = element_of(words)) variable.dtype = number->dtype;
        return variable;
      }
      if (tokens[k].text == "const" || tokens[k].text == "constexpr") variable.is_const = true;
      else if (tokens[k].text == "[") k = behind_bracket(tokens, k) - 1;
      else if (tokens[k].text != "static" && tokens[k].text != "extern" && !tokens[k].text.starts_with("__") && next != "[" &&
               next != "," && tokens[k].text != ",")
        type.push_back(tokens[k]);
    }
  }
  return {};
}

std::vector<CudaSetting> settings_of(const CudaKernel& kernel) {
  std::vector<CudaSetting> all;
  const std::size_t parameters = signature_of({kernel.text, kernel.file}, kernel.name, {}).parameters.size();
  for (std::size_t i = parameters; i < kernel.arguments.size(); ++i) {
    const auto begin = static_cast<std::size_t>(kernel.arguments[i].bits);
    std::size_t end = begin;
    while (end < kernel.text.size() && is_name(kernel.text[end])) ++end;
    all.push_back({kernel.text.substr(begin, end - begin), static_cast<std::size_t>(kernel.arguments[i].tensor)});
  }
  return all;
}

EmulatedText text_for_emulator(const CudaText& source) {
  EmulatedText out{.text = without_includes(source.text), .shared = {}};
  const std::vector<Token> tokens = tokens_of(out.text);
  std::vector<std::pair<std::size_t, std::string>> changes;  // offset of a word __shared__ -> its replacement
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text != "__shared__") continue;
    const bool is_extern = (i > 0 && tokens[i - 1].text == "extern") || (i + 1 < tokens.size() && tokens[i + 1].text == "extern");
    const bool is_static = (i > 0 && tokens[i - 1].text == "static") || (i + 1 < tokens.size() && tokens[i + 1].text == "static");
    if (is_extern || is_static) changes.emplace_back(tokens[i].begin, "");
    std::vector<std::string> type;
    for (std::size_t k = i + 1; k < tokens.size() && tokens[k].text != ";"; ++k) {
      const std::string_view next = k + 1 < tokens.size() ? tokens[k + 1].text : ";";
      if (tokens[k].text == "(" || tokens[k].text == "[") {
        k = behind_bracket(tokens, k) - 1;
        continue;
      }
      if (!is_name(tokens[k].text.front())) continue;
      if (next == "[" || next == ";" || next == "," || next == "=") {
        const std::optional<CNumber> number = element_of(type);
        out.shared.push_back({std::string(tokens[k].text), number ? static_cast<std::size_t>(number->bytes) : 4, is_extern});
      } else if (tokens[k].text != "volatile" && tokens[k].text != "extern" && tokens[k].text != "static" &&
                 tokens[k].text != "__align__") {
        type.emplace_back(tokens[k].text);
      }
    }
  }
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    out.text.replace(change->first, std::string_view("__shared__").size(), change->second);
  out.text = halves_for(source.text) + line_directive(source) + out.text;
  return out;
}

NvrtcText text_for_nvrtc(const CudaText& source, const std::string& name, const Line& where) {
  const CudaSignature signature = signature_of(source, name, where);
  const CudaText plain{without_includes(source.text), source.file};
  const Located located = locate(plain, name, where);
  const auto& [tokens, found, types] = located;
  std::string text = plain.text;
  const auto is_kernel = [&](const Found& one) { return tokens[one.name].text == tokens[found.name].text; };
  const std::string types_of_c =
      "#ifdef __CUDACC_RTC__\ntypedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short "
      "uint16_t;\n"
      "typedef int int32_t; typedef unsigned int uint32_t; typedef long long int64_t; typedef unsigned long long uint64_t; typedef "
      "unsigned int uint;\n"
      "#ifndef FLT_MAX\n#define FLT_MAX 3.402823466e+38F\n#define FLT_MIN 1.175494351e-38F\n#define FLT_EPSILON 1.192092896e-07F\n"
      "#define DBL_MAX 1.7976931348623157e+308\n#define DBL_EPSILON 2.2204460492503131e-16\n#define INT_MAX 2147483647\n#define INT_MIN "
      "(-2147483647 - 1)\n#define UINT_MAX 0xffffffffu\n"
      "#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n#define M_PI "
      "3.14159265358979323846\n#endif\n#endif\n";
  const std::vector<Found> kernels = kernels_of(tokens);
  std::string entry = signature.name;
  if (const std::size_t at = entry.rfind("::"); at != std::string::npos) entry.erase(0, at + 2);
  std::string behind;
  if (!signature.is_template) {
    // A name that can be looked for. Ahead of the word that makes it a kernel, so that lines stay where they are.
    for (auto kernel = kernels.rbegin(); kernel != kernels.rend(); ++kernel) {
      if (!is_kernel(*kernel)) continue;
      std::size_t first = kernel->qualifier;
      for (std::size_t i = first > 0 ? first - 1 : first; i < kernel->name; ++i)
        if (tokens[i].text == "static")
          text.replace(tokens[i].begin, tokens[i].text.size(), tokens[i].text.size(), ' '), first = std::min(first, i);
      text.insert(tokens[first].begin, "extern \"C\" ");
    }
  } else {
    for (auto kernel = kernels.rbegin(); kernel != kernels.rend(); ++kernel) {
      if (!is_kernel(*kernel)) continue;
      if (!signature.bounds.empty())
        if (const std::size_t at = text.find(signature.bounds, tokens[kernel->qualifier].begin); at != std::string::npos)
          text.replace(at, signature.bounds.size(), std::string(signature.bounds.size(), ' '));
      text.replace(tokens[kernel->qualifier].begin, std::string_view("__global__").size(), "__device__");
    }
    entry += "_entry";
    std::string list, call;
    for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
      std::string type;
      for (const Token& token : tokens_of(signature.parameters[i].type)) {
        const auto given = types.find(std::string(token.text));
        type += (type.empty() ? "" : " ") + (given == types.end() ? std::string(token.text) : given->second);
      }
      list += (i > 0 ? ", " : "") + type + " tegula_" + std::to_string(i);
      call += (i > 0 ? ", tegula_" : "tegula_") + std::to_string(i);
    }
    behind = "\n#line 1 \"the entry of " + entry + "\"\nextern \"C\" __global__ void " + signature.bounds + " " + entry + "(" + list +
             ") { " + name + "(" + call + "); }\n";
  }
  return {types_of_c + halves_for(source.text) + line_directive(source) + text + behind, entry};
}

}  // namespace tegula::runtime
