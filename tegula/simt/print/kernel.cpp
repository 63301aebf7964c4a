// A kernel's arguments and head, and how a block finds its instance.

#include "tegula/simt/print/print.h"

namespace tegula::simt {

namespace {

std::string declaration(const KernelParameter& parameter) {
  const tile::Parameter& given = parameter.declared;
  if (given.pointer) return name_of(pointer_to(stored(given.dtype))) + " " + parameter.name + ";";
  return (is_float(given.dtype) ? "double " : "long long ") + parameter.name + ";";
}

std::string variable(const KernelParameter& parameter) {
  const tile::Parameter& given = parameter.declared;
  const std::string place = "a." + parameter.name;
  if (given.pointer) {
    const char* const hints[] = {"", "lasting", "passing"};
    const std::string hint = hints[static_cast<std::size_t>(parameter.hint)];
    return name_of(pointer_to(stored(given.dtype))) + " const " + parameter.name + " = " + (hint.empty() ? place : hint + "(" + place + ")") + ";";
  }
  const std::string type = name_of(computed(given.dtype));
  if (given.dtype == DType::boolean) return "const bool " + parameter.name + " = " + place + " != 0;";
  return "const " + type + " " + parameter.name + " = static_cast<" + type + ">(" + place + ");";
}

class Head {
 public:
  Head(const Kernel& kernel, const std::string& name) : k_(kernel), name_(name) {}

  std::string text() {
    arguments();
    function();
    if (k_.lets_next_begin) s_ += "  let_next_begin();\n";
    s_ += print(k_.entry, 1);
    memory();
    threads();
    instance();
    for (const KernelParameter& parameter : k_.parameters) put("  ", variable(parameter), "\n");
    s_ += print(k_.body, 1);
    if (k_.walkers > 0) s_ += k_.many_sets ? "  }\n  }\n" : "  }\n";
    s_ += "}\n";
    return std::move(s_);
  }

 private:
  void arguments() {
    put("// ", k_.program, ": tile ", std::to_string(k_.rows), " x ", std::to_string(k_.columns), ", ", std::to_string(k_.row_threads), " x ",
        std::to_string(k_.column_threads), " threads", k_.cluster > 1 ? " in each of " + std::to_string(k_.cluster) + " blocks" : "",
            ", vectors of ", std::to_string(k_.vector), "\n");
    put("struct Arguments_", name_, " {\n");
    for (const KernelParameter& parameter : k_.parameters) put("  ", declaration(parameter), "\n");
    s_ += "};\n";
    if (k_.many_sets) put("struct Set_", name_, " {\n  long long first_instance;\n  long long grid[3];\n  Arguments_", name_, " a;\n};\n");
  }
  void function() {
    put("extern \"C\" __global__ void __launch_bounds__(", std::to_string(k_.threads()), k_.resident > 0 ? ", " + std::to_string(k_.resident) : "",
        ") ", k_.cluster > 1 ? "__cluster_dims__(" + std::to_string(k_.cluster) + ", 1, 1) " : "", name_);
    s_ += k_.many_sets ? "(const Set_" + name_ + "* sets, int count, Failure* failure"
                      : "(const Arguments_" + name_ + " a, long long g0, long long g1, long long g2, Failure* failure";
    s_ += k_.guarded ? ", const Failure* guards, int guard_count) {\n" : ") {\n";
  }
  void memory() {
    if (k_.shared_bytes() > 0) s_ += "  TEGULA_SHARED;\n";
    if (k_.part_bytes > 0) put("  constexpr int parts = ", std::to_string(k_.parts_begin()), ";  // of reductions, in shared\n");
    if (k_.ring_bytes > 0) put("  unsigned char* const ring = shared + ", std::to_string(k_.ring_begin()), ";  // what is fetched ahead\n");
    if (k_.staged_bytes > 0) put("  constexpr int held = ", std::to_string(k_.staged_begin()), ";  // of rows\n");
  }
  void threads() {
    if (k_.cluster > 1) s_ += "  const int block = cluster_rank();\n";
    const std::string columns = std::to_string(k_.column_threads);
    put("  const int tr = static_cast<int>(threadIdx.x) / ", columns, ", tc = ", k_.cluster > 1 ? "block * " + columns + " + " : "",
        "static_cast<int>(threadIdx.x) % ", columns, ";\n  (void)tr, (void)tc, (void)failure;\n");
  }
  void instance() {
    const std::string blocks = k_.cluster > 1 ? " / " + std::to_string(k_.cluster) : "";
    if (k_.walkers > 0) {
      // Every block goes over all instances in order and keeps to its own places.
      const std::string most = std::to_string(k_.walkers);
      put("  const unsigned int walkers = gridDim.x < ", most, "u ? gridDim.x : ", most, "u;\n  if (blockIdx.x >= walkers) return;\n");
      s_ += "  const unsigned int owners = walkers * blockDim.x, owner = blockIdx.x * blockDim.x + threadIdx.x;\n";
      if (k_.many_sets) {
        s_ += "  for (int set = 0; set < count; ++set) {\n  const auto& a = sets[set].a;\n";
        s_ += "  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];\n";
      }
      s_ += "  for (long long instance = 0; instance < g0 * g1 * g2; ++instance) {\n";
    } else if (k_.many_sets) {
      s_ += "  // The last set that begins at or before this instance.\n";
      put("  const long long place = blockIdx.x", blocks, ";\n  int set = 0;\n");
      s_ += "  for (int low = 0, high = count; low < high;) {\n    const int middle = (low + high) / 2;\n";
      s_ += "    if (sets[middle].first_instance <= place) set = middle, low = middle + 1;\n    else high = middle;\n  }\n";
      s_ += "  const auto& a = sets[set].a;\n  const long long instance = place - sets[set].first_instance;\n";
      s_ += "  const long long g0 = sets[set].grid[0], g1 = sets[set].grid[1], g2 = sets[set].grid[2];\n";
    } else {
      put("  const long long instance = blockIdx.x", blocks, ";\n");
    }
    if (k_.one_axis) {
      s_ += "  const long long id0 = instance, id1 = 0, id2 = 0;\n";
    } else {
      s_ += "  const long long id0 = remainder_of(instance, g0), id1 = remainder_of(divided(instance, g0), g1), id2 = divided(instance, g0 * "
           "g1);\n";
    }
    s_ += "  (void)id0, (void)id1, (void)id2;\n";
  }

  template <class... P>
  void put(const P&... parts) {
    (s_.append(parts), ...);
  }

  const Kernel& k_;
  const std::string& name_;
  std::string s_;
};

}  // namespace

std::string print(const Kernel& kernel, const std::string& name) { return Head(kernel, name).text(); }

}  // namespace tegula::simt
