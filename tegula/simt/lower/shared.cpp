// Words that go through shared memory as a whole.

#include "tegula/simt/lower/lowering.h"
#include "tegula/tile/sort_order.h"

namespace tegula::gpu {

using simt::Expression;
using tile::Word;

namespace {

const simt::Type kInt = simt::computed(DType::i32);

std::size_t bytes_of(const tile::Type& type) { return type.pointer ? 8 : size_of(type.dtype); }
std::int64_t stride_of(const Shape& shape, int axis) {
  std::int64_t stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) stride *= shape[i];
  return stride;
}
/// The statement again and again, on one line.
simt::Loop on_one_line(const char* name, std::int64_t begin, std::int64_t end, simt::Statement statement) {
  simt::Loop loop{.name = name, .begin = begin, .end = end, .body = {}, .on_one_line = true};
  loop.body.push_back(std::move(statement));
  return loop;
}

}  // namespace

/// Elements of the type from a place of the scratch on.
void Lowering::let_shared(Name name, simt::Type type, std::size_t offset) {
  const Expression place = offset > 0 ? Expression("shared") + offset : Expression("shared");
  let(simt::pointer_to(type), name, simt::reinterpret(simt::pointer_to(type), place));
}

/// `name` is a tile in shared memory, row-major; everyone may read it afterwards.
void Lowering::to_shared(Id id, Name name) {
  const Shape& shape = a_.type(id).shape;
  const Spread own = spread(id);
  barrier();
  loops(own, shape, Step::Elements,
        [&] { assign(simt::element(name, linear(own, shape)), element(id, own), simt::all_of(inside(own, shape), acts(own))); });
  barrier();
}

void Lowering::from_shared(Id id, const Expression& expression) {
  const Shape& shape = a_.type(id).shape;
  const Spread own = spread(id);
  loops(own, shape, Step::Elements, [&] { assign(held(id, own), expression, inside(own, shape)); });
}

/// Tiles that are spread flat: one thread goes over a whole line.
void Lowering::reduce_shared(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  const tile::Type& source = a_.type(from);
  const int axis = static_cast<int>(self.attribute);
  const std::int64_t length = source.shape[axis], stride = stride_of(source.shape, axis);
  const bool best = self.word == Word::ArgReduce;
  const simt::Type type = best ? simt::placed(source.dtype) : simt::type_of(source);
  const simt::Operation op{.kind = self.kind, .dtype = source.dtype, .placed = best};
  use_shared(static_cast<std::size_t>(numel(source.shape)) * bytes_of(source));
  declare(id);
  const Spread own = spread(id);
  const char* const total = best ? "best" : "total";
  const auto line_of_thread = [&] {
    const Expression first = simt::element("tile", "start"), next = simt::element("tile", Expression("start") + "i" * Expression(stride));
    add(simt::Declare{.what = {total, type, {}}, .value = best ? simt::tuple(first, 0) : first});
    add(on_one_line("i", 1, length, simt::Assign{.target = total, .value = simt::fold(op, total, best ? simt::tuple(next, "i") : next)}));
    assign(held(id, own), best ? simt::member(total, "at") : total);
  };
  within({}, [&] {
    let_shared("tile", simt::type_of(source));
    to_shared(from, "tile");
    loops(own, self.type.shape, Step::Elements, [&] {
      const Expression index = linear(own, self.type.shape);
      let(kInt, "start", index / stride * (length * stride) + index % stride);
      within(inside(own, self.type.shape), line_of_thread);
    });
  });
}

void Lowering::scan(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  origin(id);
  const int axis = static_cast<int>(self.attribute);
  const std::int64_t count = numel(self.type.shape);
  use_shared(static_cast<std::size_t>(2 * count) * bytes_of(self.type));
  declare(id);
  within({}, [&] {
    let_shared("tile", simt::type_of(self.type));
    to_shared(from, "tile");
    add(simt::Scan{.name = "scanned",
                   .operation = operation_of(id),
                   .count = count,
                   .length = self.type.shape[axis],
                   .stride = stride_of(self.type.shape, axis)});
    from_shared(id, simt::element("scanned", linear(spread(id), self.type.shape)));
  });
}

void Lowering::sort(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  origin(id);
  const tile::Type& source = a_.type(from);
  const int axis = static_cast<int>(self.attribute);
  const std::int64_t count = numel(source.shape), keys = (count * static_cast<std::int64_t>(bytes_of(source)) + 15) / 16 * 16;
  const std::int64_t length = source.shape[axis], stride = stride_of(source.shape, axis);
  use_shared(static_cast<std::size_t>(keys + 8 * count));
  declare(id);
  within({}, [&] {
    let_shared("tile", simt::type_of(source));
    let_shared("order", kInt, static_cast<std::size_t>(keys));
    to_shared(from, "tile");
    add(simt::Sort{
        .name = "sorted", .count = count, .length = length, .stride = stride, .descending = tile::SortOrder::of(self).descending});
    const Expression index = linear(spread(id), self.type.shape), place = simt::element("sorted", index);
    if (self.word == Word::ArgSort) return from_shared(id, place);
    from_shared(id, simt::element("tile", index + simt::group(place - index / stride % length) * stride));
  });
}

void Lowering::dot(Id id) {
  const tile::Instruction& self = at(id);
  origin(id);
  const tile::Type &a = a_.type(self.operands[0]), &b = a_.type(self.operands[1]);
  const int rank = a.shape.rank();
  const std::int64_t inner = a.shape.back(), columns = b.shape.back();
  const simt::Type type = simt::type_of(self.type);
  use_shared(static_cast<std::size_t>(numel(a.shape) + numel(b.shape)) * bytes_of(a));
  declare(id);
  const Spread own = spread(id);
  const char* const fma = !is_float(self.type.dtype) ? nullptr : self.type.dtype == DType::f32 ? "fmaf" : "fma";
  within({}, [&] {
    let_shared("a", type);
    let(simt::pointer_to(type), "b", Expression("a") + numel(a.shape));
    to_shared(self.operands[0], "a");
    to_shared(self.operands[1], "b");
    loops(own, self.type.shape, Step::Elements, [&] {
      const Expression i = coordinate(rank - 2, own, self.type.shape), j = coordinate(rank - 1, own, self.type.shape);
      within(inside(own, self.type.shape), [&] {
        add(simt::Declare{.what = {"sum", type, {}}, .value = element(self.operands[2], own)});
        Expression in_a = i * inner + "m", in_b = "m" * Expression(columns) + j;
        if (rank == 3) {
          const Expression product = coordinate(0, own, self.type.shape);
          in_a = product * (a.shape[1] * inner) + std::move(in_a), in_b = product * (inner * columns) + std::move(in_b);
        }
        const Expression x = simt::element("a", std::move(in_a)), y = simt::element("b", std::move(in_b));
        add(on_one_line("m", 0, inner, simt::Assign{.target = "sum", .value = fma ? simt::call(fma, x, y, "sum") : x * y + "sum"}));
        assign(held(id, own), "sum");
      });
    });
  });
}

/// Converts registers between layouts that are linear (passes/convert_layouts.h).
void Lowering::change_layout(Id id, const LayoutChange& change) {
  const Id from = a_.resolve(at(id).operands[0]);
  const tile::Type &source = a_.type(from), &target = at(id).type;
  const Spread own = spread(from);
  Name held = variable(from);
  if (!has_registers(from) || source.shape.empty() || local_.contains(from)) {
    held = {"from", id};
    declare(held, simt::type_of(source), sizes(own, source.shape));
    loops(own, source.shape, Step::Elements, {from}, [&] { assign(simt::held(held, place(own)), element(from, own)); });
  }
  declare(id);
  add(simt::Convert{.source = {held, simt::type_of(source), sizes(own, source.shape)},
                    .target = {variable(id), simt::type_of(target), sizes(spread(id), target.shape)},
                    .from = change.from,
                    .to = change.to,
                    .bits = change.bits});
}

/// Each element is taken from its place of the line.
void Lowering::gather_along(Id id) {
  const tile::Instruction& self = at(id);
  origin(id);
  const tile::Type& source = a_.type(self.operands[0]);
  const Shape& shape = self.type.shape;
  const int axis = static_cast<int>(self.attribute);
  const Spread own = spread(id);
  use_shared(static_cast<std::size_t>(numel(source.shape)) * bytes_of(source));
  declare(id);
  within({}, [&] {
    let_shared("tile", simt::type_of(source));
    to_shared(self.operands[0], "tile");
    Expression line = 0;
    for (int k = 0; k < shape.rank(); ++k)
      if (k != axis) line = line + coordinate(k, own, shape) * stride_of(source.shape, k);
    loops(own, shape, Step::Elements, [&] {
      within(inside(own, shape), [&] {
        let(simt::computed(DType::i64), "place", element(self.operands[1], own));
        const Expression there = line + simt::cast(kInt, "place") * stride_of(source.shape, axis);
        const Expression in_line = simt::binary(simt::binary("place", ">=", 0), "&&", Expression("place") < source.shape[axis]);
        assign(held(id, own), simt::choose(in_line, simt::element("tile", there), simt::zero(source.dtype)));
      });
    });
  });
}

/// Counted in shared memory, by all threads at once: sums of integers are the same in any order.
void Lowering::histogram(Id id) {
  const tile::Instruction& self = at(id);
  origin(id);
  const Shape &shape = self.type.shape, &from = a_.type(self.operands[0]).shape;
  const Spread own = spread(id), source = spread(self.operands[0]);
  use_shared(static_cast<std::size_t>(numel(shape)) * bytes_of(self.type));
  declare(id);
  within({}, [&] {
    let_shared("bins", kInt);
    const Expression bin = simt::element("bins", linear(own, shape));
    barrier();
    loops(own, shape, Step::Elements, [&] { assign(bin, 0, simt::all_of(inside(own, shape), acts(own))); });
    barrier();
    loops(source, from, Step::Elements, [&] {
      const When asked = self.operands.size() > 1 ? When(box_element(a_.box(self.operands[1]), source, from)) : When();
      within(simt::all_of(asked, inside(source, from), acts(source)), [&] {
        let(simt::computed(DType::i64), "value", element(self.operands[0], source));
        add({simt::Atomic{.scope = tile::Scope::Cta,
                          .dtype = DType::i32,
                          .pointer = simt::group(Expression("bins") + simt::cast(kInt, "value")),
                          .value = 1,
                          .compared = {},
                          .target = {}},
             simt::binary(simt::binary("value", ">=", 0), "&&", Expression("value") < shape[0])});
      });
    });
    barrier();
    from_shared(id, bin);
  });
}

/// A tile that other threads hold under its new shape.
void Lowering::rearrange(Id id) {
  const tile::Instruction& self = at(id);
  const Id from = self.operands[0];
  origin(id);
  if (const auto change = decided_.changes.find(id); change != decided_.changes.end()) return change_layout(id, change->second);
  const tile::Type& source = a_.type(from);
  const Shape& shape = self.type.shape;
  const Spread own = spread(id);
  use_shared(static_cast<std::size_t>(numel(source.shape)) * bytes_of(source));
  Expression index = linear(own, shape);
  if (self.word == Word::Transpose) index = coordinate(1, own, shape) * shape[0] + coordinate(0, own, shape);
  if (self.word == Word::Broadcast) {
    index = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (source.shape[axis] != 1) index = index + coordinate(axis, own, shape) * stride_of(source.shape, axis);
    }
  }
  declare(id);
  within({}, [&] {
    let_shared("tile", simt::type_of(source));
    add(simt::Unused{"tile"});
    to_shared(from, "tile");
    from_shared(id, simt::element("tile", index));
  });
}

}  // namespace tegula::gpu
