// A kernel's arguments and head, and how a block finds its instance.

#include <set>

#include "tegula/simt/kernel/visit.h"
#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

constexpr std::size_t kUsualLength = 6000;  // of a text, in characters

std::string text(const Type& type) {
  std::string name;
  put(name, type);
  return name;
}

/// PTX with $0 for the result as an asm statement has it: %0, and %% for a %.
std::string assembly_text(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') out += "%%";
    else if (text[i] != '$') out += text[i];
    else if (i + 1 < text.size() && text[i + 1] == '$') out += '$', ++i;
    else out += '%';
  }
  return out;
}

std::string definition(const Assembly& function) {
  std::string operands, inputs;
  std::vector<std::string> constraints(1);
  for (const char letter : function.what.constraints)
    if (letter == ',') constraints.emplace_back();
    else if (letter != ' ') constraints.back() += letter;
  for (std::size_t i = 0; i < function.operands.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    operands += (i > 0 ? ", " : "") + text(computed(function.operands[i])) + " " + name;
    inputs += (i > 0 ? ", " : "") + quoted(constraints[i + 1]) + "(" + name + ")";
  }
  const std::string type = text(computed(function.result)), guard = "TEGULA_" + function.name;
  return "#ifndef " + guard + "\n#define " + guard + "\n__device__ inline " + type + " " + function.name + "(" + operands + ") {\n  " +
         type + " y;\n  asm(" + quoted(assembly_text(function.what.text)) + " : " + quoted(constraints[0]) + "(y) : " + inputs +
         ");\n  return y;\n}\n#endif\n";
}

/// The code by which a thread leaves an element for the host: simt/printed.h.
constexpr const char* kPrinting =
    "#ifndef TEGULA_PRINTING\n#define TEGULA_PRINTING\n"
    "struct PrintedElement { long long id[3]; long long bits; int word, index; };\n"
    "struct PrintBuffer { unsigned int count, room; PrintedElement elements[1]; };\n"
    "__device__ inline void leave_printed(PrintBuffer* to, int word, long long id0, long long id1, long long id2, int index, long long "
    "bits) {\n"
    "  if (!to) return;\n"
    "  const unsigned int place = atomicAdd(&to->count, 1u);\n"
    "  if (place >= to->room) return;\n"
    "  PrintedElement& one = to->elements[place];\n"
    "  one.id[0] = id0, one.id[1] = id1, one.id[2] = id2, one.bits = bits, one.word = word, one.index = index;\n"
    "}\n#endif\n";

class Head {
 public:
  Head(const Kernel& kernel, const std::string& name) : k_(kernel), name_(name) {}

  std::string text() {
    s_.reserve(kUsualLength);
    for (const Assembly& function : k_.assembly) s_ += definition(function);
    if (k_.groups) products();
    if (!k_.prints.empty()) s_ += kPrinting;
    arguments();
    function();
    if (k_.lets_next_begin) s_ += "  let_next_begin();\n";
    simt::put(s_, k_.entry, 1);
    memory();
    threads();
    simt::put(s_, k_.begin, 1);
    instance();
    for (const KernelParameter& parameter : k_.parameters) variable(parameter);
    simt::put(s_, k_.body, 1);
    if (k_.walkers > 0 || k_.stays) s_ += k_.many_sets ? "  }\n  }\n" : "  }\n";
    simt::put(s_, k_.end, 1);
    put("}\n");
    return std::move(s_);
  }

 private:
  void products() {
    std::set<std::string> said;
    for_each_statement(k_.body, [&](const Statement& statement) {
      if (const auto* product = statement.as<MultiplyTile>(); product && said.insert(group_product_name(*product)).second)
        s_ += group_product(*product);
    });
  }
  void arguments() {
    put("// ", k_.program, ": tile ", k_.rows, " x ", k_.columns, ", ", k_.row_threads, " x ", k_.column_threads, " threads");
    if (k_.cluster > 1) put(" in each of ", k_.cluster, " blocks");
    put(", vectors of ", k_.vector, "\nstruct Arguments_", name_, " {\n");
    for (const KernelParameter& parameter : k_.parameters) field(parameter);
    put("};\n");
    if (k_.many_sets) put("struct Set_", name_, " {\n  long long first_instance;\n  long long grid[3];\n  Arguments_", name_, " a;\n};\n");
  }
  void function() {
    put("extern \"C\" __global__ void __launch_bounds__(", k_.threads());
    if (k_.resident > 0) put(", ", k_.resident);
    put(") ");
    if (k_.cluster > 1) put("__cluster_dims__(", k_.cluster, ", 1, 1) ");
    if (k_.many_sets) put(name_, "(const Set_", name_, "* sets, int count, Failure* failure");
    else {
      put(name_, "(const Arguments_", name_, " a, ");
      for (std::size_t i = 0; i < k_.maps.size(); ++i) put("const __grid_constant__ TensorMap map", i, ", ");
      put("long long g0, long long g1, long long g2, Failure* failure");
    }
    if (k_.guarded) put(", const Failure* guards, int guard_count");
    put(k_.prints.empty() ? ") {\n" : ", PrintBuffer* printed) {\n");
  }
  void memory() {
    if (k_.shared_bytes() > 0) put("  TEGULA_SHARED;\n");
    if (k_.part_bytes > 0) put("  constexpr int parts = ", k_.parts_begin(), ";  // of reductions, in shared\n");
    if (k_.ring_bytes > 0) put("  unsigned char* const ring = shared + ", k_.ring_begin(), ";  // what is fetched ahead\n");
    if (k_.tile_bytes > 0)
      put("  unsigned char* const tiles = ", k_.groups ? "at_tile_line(shared + " : "shared + ", k_.tiles_begin(), k_.groups ? ")" : "",
          ";  // that tensor cores read\n");
    if (k_.staged_bytes > 0) put("  constexpr int held = ", k_.staged_begin(), ";  // of rows\n");
  }
  void threads() {
    if (k_.cluster > 1) put("  const int block = cluster_rank();\n");
    if (k_.groups) {
      put("  const int tr = static_cast<int>(threadIdx.x) / 32 * 16 + static_cast<int>(threadIdx.x) % 32 / 4");
      if (k_.rows_apart > 0) put(" + block * ", k_.row_threads_apart());
      put(", tc = static_cast<int>(threadIdx.x) % 4");
      if (k_.columns_apart > 0) put(" + block * ", k_.column_threads_apart());
      put(";\n  (void)tr, (void)tc, (void)failure;\n");
      return;
    }
    if (k_.column_warps > 1) {
      put("  const int tr = static_cast<int>(threadIdx.x) / ", 32 * k_.column_warps,
          " * 8 + static_cast<int>(threadIdx.x) % 32 / 4, tc = ", "static_cast<int>(threadIdx.x) / 32 % ", k_.column_warps,
          " * 4 + static_cast<int>(threadIdx.x) % 4;\n  (void)tr, (void)tc, (void)failure;\n");
      return;
    }
    put("  const int tr = static_cast<int>(threadIdx.x) / ", k_.column_threads, ", tc = ");
    if (k_.cluster > 1) put("block * ", k_.column_threads, " + ");
    put("static_cast<int>(threadIdx.x) % ", k_.column_threads, ";\n  (void)tr, (void)tc, (void)failure;\n");
  }
  void instance() {
    const auto place = [&](const char* name) {
      put("  const long long ", name, " = blockIdx.x");
      if (k_.cluster > 1) put(" / ", k_.cluster);
      put(";\n");
    };
    if (k_.walkers > 0) {
      // Every block goes over all instances in order and keeps to its own places.
      put("  const unsigned int walkers = gridDim.x < ", k_.walkers, "u ? gridDim.x : ", k_.walkers,
          "u;\n  if (blockIdx.x >= walkers) return;\n");
      put("  const unsigned int owners = walkers * blockDim.x, owner = blockIdx.x * blockDim.x + threadIdx.x;\n");
      if (k_.many_sets) {
        put("  for (int set = 0; set < count; ++set) {\n  const auto& a = sets[set].a;\n");
        put("  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];\n");
      }
      put("  for (long long instance = 0; instance < g0 * g1 * g2; ++instance) {\n");
    } else if (k_.many_sets) {
      put("  // The last set that begins at or before this instance.\n");
      place("place");
      put("  int set = 0;\n");
      put("  for (int low = 0, high = count; low < high;) {\n    const int middle = (low + high) / 2;\n");
      put("    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;\n    else high = middle;\n  }\n");
      put("  const auto& a = sets[set].a;\n  const long long instance = place - sets[set].first_instance;\n");
      put("  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];\n");
    } else if (k_.stays) {
      const std::string each = k_.cluster > 1 ? " / " + std::to_string(k_.cluster) : "";
      put("  for (long long instance = blockIdx.x", each, "; instance < g0 * g1 * g2; instance += gridDim.x", each, ") {\n");
    } else {
      place("instance");
    }
    if (k_.one_axis) {
      put("  const long long id0 = instance, id1 = 0, id2 = 0;\n");
    } else {
      put("  const long long id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * "
          "g1);\n");
    }
    put("  (void)id0, (void)id1, (void)id2;\n");
  }

  void field(const KernelParameter& parameter) {
    const tile::Parameter& given = parameter.declared;
    if (given.pointer) put("  ", pointer_to(stored(given.dtype)));
    else put(is_float(given.dtype) ? "  double" : "  long long");
    put(" ", parameter.name, ";\n");
  }
  void variable(const KernelParameter& parameter) {
    const tile::Parameter& given = parameter.declared;
    const Type type = given.pointer ? pointer_to(stored(given.dtype)) : computed(given.dtype);
    if (given.pointer) {
      const char* const hints[] = {"", "lasting(", "passing("};
      const bool hinted = parameter.hint != KernelParameter::Hint::None;
      put("  ", type, " const ", parameter.name, " = ", hints[static_cast<std::size_t>(parameter.hint)], "a.", parameter.name,
          hinted ? ");\n" : ";\n");
    } else if (given.dtype == DType::boolean) {
      put("  const bool ", parameter.name, " = a.", parameter.name, " != 0;\n");
    } else {
      put("  const ", type, " ", parameter.name, " = static_cast<", type, ">(a.", parameter.name, ");\n");
    }
  }

  template <class... P>
  void put(const P&... parts) {
    (simt::put(s_, parts), ...);
  }

  const Kernel& k_;
  const std::string& name_;
  std::string s_;
};

}  // namespace

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter == '\n' ? "\\n" : std::string(1, letter);
  }
  return out + "\"";
}

std::string print(const Kernel& kernel, const std::string& name) { return Head(kernel, name).text(); }

}  // namespace tegula::simt
