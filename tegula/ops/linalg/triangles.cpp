#include "tegula/ops/linalg/triangles.h"

#include "tegula/graph/frame.h"
#include "tegula/ops/linalg/matrix_op.h"
#include "tegula/ops/linalg/shapes.h"

namespace tegula {
Tensor triangular_solve(Arg t, Arg b, const TriangularOptions& options) {
  const In frame("triangular_solve", t.loc);
  const ops::System system = ops::system_of("triangular_solve", t, b);
  const ops::MatrixOp::Form form{
      .routine = runtime::Routine::TriangularSolve, .upper = options.upper, .transposed = options.transposed, .unit = options.unit};
  return system.back(ops::matrix_routine(form, {system.a, system.b}, t.loc)[0]);
}

}  // namespace tegula
