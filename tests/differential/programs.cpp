// Programs: public functions one after another, and loops.

#include <algorithm>

#include "tests/differential/registry.h"

namespace differential {
namespace {

/// Attributes: "steps", each {"op", "in": which values it takes, "a": its attributes}; values are the inputs, then what steps give. "outputs": which are results.
Tensors program(const Registry& r, const Tensors& x, const Attributes& a) {
  Tensors values = x;
  for (const auto& step : a.at("steps")) {
    Tensors in;
    for (const auto& i : step.at("in")) in.push_back(values.at(i.get<std::size_t>()));
    const Tensors made = r.at(step.at("op").get<std::string>())(in, step.at("a"));
    values.insert(values.end(), made.begin(), made.end());
  }
  Tensors out;
  for (const auto& i : a.at("outputs")) out.push_back(values.at(i.get<std::size_t>()));
  return out;
}

struct Loop {
  Tensors start, xs;
  ScanBody body;
};

/// The body of this name. x: the values carried at the start, the stacks, then the values that all steps read.
Loop loop_named(const std::string& name, const Tensors& x) {
  if (name == "rnn") {  // h (R, H), x (T, R, F), w (F, H), u (H, H)
    return {{x[0]}, {x[1]}, [=](const Tensors& carry, const Tensors& now) {
              const Tensor h = tanh(matmul(now[0], x[2]) + matmul(carry[0], x[3]));
              return Scanned{{h}, {h}};
            }};
  }
  if (name == "fading_sum") {  // c (R, F), x (T, R, F)
    return {{x[0]}, {x[1]}, [](const Tensors& carry, const Tensors& now) {
              const Tensor c = carry[0] * 0.5 + now[0];
              return Scanned{{c}, {c * c, sum(c)}};
            }};
  }
  if (name == "swap") {  // a, b (R, F), x (T, R, F)
    return {{x[0], x[1]}, {x[2]}, [](const Tensors& carry, const Tensors& now) {
              return Scanned{{carry[1], sin(carry[0]) + now[0]}, {carry[0] * carry[1]}};
            }};
  }
  if (name == "table") {  // i () i64, h (F), x (T, F), table (T, F)
    return {{x[0], x[1]}, {x[2]}, [=](const Tensors& carry, const Tensors& now) {
              const Tensor row = reshape(dynamic_slice(x[3], carry[0], 1, 0), {x[3].size(1)});
              const Tensor h = tanh(carry[1] * 0.3 + row * now[0]);
              return Scanned{{carry[0] + 1, h}, {h}};
            }};
  }
  if (name == "buffer") {  // i () i64, h (F), buffer (T, F), x (T, F)
    return {{x[0], x[1], x[2]}, {x[3]}, [](const Tensors& carry, const Tensors& now) {
              const Tensor h = tanh(carry[1] + now[0]);
              const Tensor buffer = update_slice(carry[2], reshape(h, {1, h.size(0)}), carry[0], 0);
              return Scanned{{carry[0] + 1, h, buffer}, {sum(buffer * buffer)}};
            }};
  }
  if (name == "nested") {  // s (F), x (T, R, F)
    return {{x[0]}, {x[1]}, [](const Tensors& carry, const Tensors& now) {
              const ScanBody rows = [](const Tensors& inner, const Tensors& row) {
                const Tensor s = sin(inner[0]) + row[0] * 0.5;
                return Scanned{{s}, {s * row[0]}};
              };
              const Scanned all = scan(rows, {carry[0]}, {now[0]});
              return Scanned{{all.carry[0]}, {all.ys[0]}};
            }};
  }
  if (name == "beside") {  // c (F), x (T, R, F), w (F, H): the carried value passes through
    return {{x[0]}, {x[1]}, [=](const Tensors& carry, const Tensors& now) {
              return Scanned{{carry[0]}, {softmax(matmul(now[0], x[2]), -1), now[0] + carry[0]}};
            }};
  }
  if (name == "memory") {  // h (R, F), x (T, R, F), keys (M, F), values (M, F)
    return {{x[0]}, {x[1]}, [=](const Tensors& carry, const Tensors& now) {
              const Tensor seen = matmul(softmax(matmul(carry[0], transpose(x[2])), -1), x[3]);
              const Tensor h = tanh(seen + now[0]);
              return Scanned{{h}, {seen}};
            }};
  }
  throw std::runtime_error("no loop " + name);
}

/// The loop written without scan.
Scanned by_hand(const Loop& loop, bool reverse) {
  const std::int64_t length = loop.xs[0].size(0);
  Tensors carry = loop.start;
  std::vector<Tensors> all;
  for (std::int64_t k = 0; k < length; ++k) {
    Tensors now;
    for (const Tensor& x : loop.xs) now.push_back(select(x, 0, reverse ? length - 1 - k : k));
    Scanned step = loop.body(carry, now);
    carry = step.carry;
    all.resize(step.ys.size());
    for (std::size_t y = 0; y < step.ys.size(); ++y) all[y].push_back(step.ys[y]);
  }
  Scanned out{carry, {}};
  for (Tensors& ys : all) {
    if (reverse) std::reverse(ys.begin(), ys.end());
    out.ys.push_back(stack(ys, 0));
  }
  return out;
}

Tensors loop(const Tensors& x, const Attributes& a) {
  const Loop loop = loop_named(a.at("body").get<std::string>(), x);
  const std::string how = a.at("how").get<std::string>();
  const bool reverse = flag(a, "reverse");
  const Scanned all = how == "by hand"  ? by_hand(loop, reverse)
                      : how == "chunks" ? scan_in_chunks(loop.body, loop.start, loop.xs, {.reverse = reverse})
                                        : scan(loop.body, loop.start, loop.xs, {.reverse = reverse});
  Tensors out = all.carry;
  out.insert(out.end(), all.ys.begin(), all.ys.end());
  return out;
}

}  // namespace

void add_programs(Registry& r) {
  r["loop"] = loop;
  r["solve"] = [](const Tensors& x, const Attributes&) { return Tensors{solve(x[0], x[1])}; };
  r["inverse"] = [](const Tensors& x, const Attributes&) { return Tensors{inverse(x[0])}; };
  for (const char* const family : {"attention", "loop", "place", "image", "linear", "wide"})
    r[std::string("program.") + family] = [&r](const Tensors& x, const Attributes& a) { return program(r, x, a); };
}

}  // namespace differential
