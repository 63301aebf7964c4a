// Text of kernels, as plain_fold.cpp puts it together: each region is a constant of its own (cmake/EmbedCuda.cmake).
// @NAME@ stands for what that file fills in.

/// A thread for each piece of `folded`.
#pragma region Fold
struct alignas(sizeof(Element) * PIECE) Piece { Element e[PIECE]; };
extern "C" __global__ void __launch_bounds__(256) fold(const Element* plain, Element* folded) {
  const Index item = Index(blockIdx.x) * 256 + threadIdx.x;
  if (item >= PIECES) return;
  const Index u = item % (ROW / PIECE) * PIECE, a = item / (ROW / PIECE) % FOLD_H;
  const Index pixel = item / (ROW / PIECE) / FOLD_H, j = pixel % TO_W, i = pixel / TO_W % TO_H;
  const Index k = pixel / TO_W / TO_H / N, n = pixel / TO_W / TO_H % N;
  const Index h = i * FOLD_H + a - LOW_H;
  Piece piece;
#pragma unroll
  for (int e = 0; e < PIECE; ++e) {
    const Index c = (u + e) % C, v = j * FOLD_W + (u + e) / C - LOW_W - k * STEP;
    const bool inside = u + e < FOLD_W * C && h >= 0 && h < H && v >= 0 && v < W;
    piece.e[e] = inside ? plain[@PLAIN@] : Element(0);
  }
  *(Piece*)(folded + item * PIECE) = piece;
}
#pragma endregion

/// A thread for each element of `plain`.
#pragma region Unfold
extern "C" __global__ void __launch_bounds__(256) unfold(const Element* folded, Element* plain) {
  @COORDINATES@
  Sum sum = 0;
#pragma unroll
  for (int k = 0; k < COPIES; ++k) {
    const Index x = v + k * STEP, pixel = ((k * N + n) * TO_H + h / FOLD_H) * TO_W + x / FOLD_W;
    sum += load(folded + (pixel * FOLD_H + h % FOLD_H) * ROW + x % FOLD_W * C + c);
  }
  store(plain + @PLAIN@, sum);
}
#pragma endregion
