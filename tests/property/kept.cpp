#include "tests/property/kept.h"

namespace tegula::property {

std::vector<Kept> kept_programs() {
  return {
      {"the first element of a mean, subtracted from what it is the mean of", R"(
v0 = input f64 (5 2) #4
v1 = mean v0 [1 1 0 0]
v2 = select v1 [0 0 0 0]
v3 = sub v0 v2 [0 0 0 0] *
)"},
      {"a result that took the place of an operand of a sum over an axis of one", R"(
v0 = input f64 (1 32 32) #5
v1 = input f64 (32 32) #4
v2 = matmul v1 v1 [0 0 0 0]
v3 = sin v0 [0 0 0 0]
v4 = cos v0 [0 0 0 0]
v5 = sum v4 [1 1 0 0]
v6 = mul v5 v2 [0 0 0 0]
v7 = reshape v3 [1 0 0 0]
v8 = matmul v6 v7 [0 0 0 0] *
)"},
      {"a Variable that is written late, and a step behind it", R"(
v0 = variable f64 (8 8) #2
v1 = input f64 (8 8) #4
v2 = input f64 (8) #7
v3 = matmul v1 v1 [0 0 0 0]
v4 = write v0 v3 [1 0 0 0]
v5 = read v0
v6 = matmul v5 v1 [0 0 0 0]
v7 = sigmoid v6 [0 0 0 0]
v8 = mul v5 v7 [0 0 0 0]
v9 = matmul v8 v1 [0 0 0 0]
v10 = cross_entropy v9 v2 [0 0 0 0] *
)"},
      {"numbers of a loop within a loop, in half, and its second gradient", R"(
v0 = input f64 () #106
v1 = input bf16 () #926
v2 = loop_gates v1 v0 [0 6 0 10] *
v3 = gradients v1 [2 0 0 0]
)"},
      {"a Variable that begins with a tensor is not that tensor", R"(
v0 = input f64 () #308
v1 = variable v0 f64 () #0
v2 = neg v0 [0 0 0 0] *
v3 = read v1 [0 0 0 0] *
v4 = gradients v0 [0 0 0 0]
)"},
      {"a written Variable is a leaf: nothing flows to what was written", R"(
v0 = input f64 () #373
v1 = variable f64 () #546
v2 = write v1 v0 [0 0 0 0]
v3 = input f64 () #4
v4 = add v0 v3 [0 0 0 0] *
v5 = read v1 [0 0 0 0] *
v6 = gradients v0 [0 0 0 0]
)"},
      {"a function under checkpoint through which no gradient flows", R"(
v0 = input f64 () #870
v1 = input f64 () #219
v2 = one_hot v1 [0 0 0 0] *
v3 = add v1 v0 [0 0 0 0] *
v4 = gradients v1 [0 0 0 0]
)"},
      {"equal elements less their mean are zero, however often the elements are computed", R"(
v0 = input f64 (2 1) #830
v1 = cummax v0 [0 0 0 0] *
v2 = gelu v1 [0 0 0 0]
v3 = batch_norm v2 [0 0 0 0]
v4 = sum v3 [0 0 0 0] *
v5 = gradients v1 [0 0 0 0]
)"},
      {"a sum across rows that is awaited, not read, by what lies in its group", R"(
v0 = input f64 (1 1) #94
v1 = input f64 (1 1) #159
v2 = min v1 [1 51 25 0]
v3 = maximum v2 v0 [0 0 0 0] *
v4 = gradients v1 [0 0 0 0]
)"},
      {"an average over windows that reach outside", R"(
v0 = input f64 (3) #1
v1 = case:avg_pool2d/2 v0 [0 0 0 0] *
v2 = gradients v0 [2 0 0 0]
)"},
      {"the maximum of what is made of a sum, kept while a Variable stays", R"(
v0 = input f32 () #661
v1 = case:norm_3/2 v0 [0 0 0 0]
v2 = atan2 v1 v0 [0 0 0 0]
v3 = case:norm_inf v2 [0 0 0 0]
v4 = input f64 () #11
v5 = add v3 v4 [0 0 0 0] *
v6 = gradients v0 [0 0 0 0]
)"},
      {"a table made of what stays, written over row by row in a loop", R"(
v0 = variable f32 (2 3) #898
v1 = variable f32 (3 1 1) #528
v2 = read v0
v3 = tril v2 [53 61 36 10]
v4 = prod v3 [17 57 54 50]
v5 = read v1
v6 = loop_fill v5 v4 [27 22 43 0] *
v7 = gradients v0 v1 [1 0 0 0]
)"},
      {"slices written over a view of a product of weights", R"(
v0 = weight f32 (4 4) #2
v1 = input f32 (3) #4
v2 = matmul v0 v0 [0 0 0 0]
v3 = write_slice v2 v1 [0 0 2 1] *
v4 = weight f64 (3 4 6) #3
v5 = sum v4 [1 1 0 0]
v6 = write_slice v5 v1 [0 3 1 3] *
v7 = write_places v5 v1 [0 0 5 1] *
)"},
      {"a slice written over a stack of stacks whose rows the gradient reads", R"(
v0 = input f64 (7) #969
v1 = input f64 () #10
v2 = loop v0 v1 [0 54 0 0]
v3 = input f64 () #14
v4 = write_slice v2 v3 [0 0 0 0] *
v5 = gradients v0 [0 0 0 0]
)"},
      {"one repetition of what a loop gives is a tensor of its own", R"(
v0 = input f64 () #67
v1 = loop_product v0 v0 [0 0 62 0]
v2 = repeat v1 [0 0 0 0] *
v3 = gradients v0 v2 [2 0 0 0]
)"},
      {"the gradient by a number, a gradient of sign, through its cast", R"(
v0 = input f32 () #978
v1 = sign v0 [0 0 0 0] *
v2 = gradient v1 v0 [0 0 0 0] *
v3 = input f64 (3) #8
v4 = mul v2 v3 [0 0 0 0] *
v5 = gradients v2 v0 [1 0 0 0]
)"},
      {"the gradient by a number in half", R"(
v0 = input f16 () #978
v1 = sign v0 [0 0 0 0] *
v2 = gradient v1 v0 [1 0 0 0] *
v3 = add v2 v0 [0 0 0 0] *
v4 = gradients v2 v0 [1 0 0 0]
)"},
      {"a smallest element under checkpoint is found among those that are computed again", R"(
v0 = input f64 (3) #978
v1 = input f64 () #115
v2 = input f64 (3 2) #5
v3 = shuffle v0 [0 0 0 0] *
v4 = neg v2 [0 0 0 0]
v5 = uniform v4 [0 0 0 0]
v6 = add v1 v5 [0 0 0 0]
v7 = centred v6 [0 0 0 0]
v8 = min v7 [41 51 0 0] *
v9 = gradients v5 [0 0 0 0]
)"},
      {"a choice under checkpoint that no result is in, and the second gradient by the result", R"(
v0 = input f64 () #2
v1 = add v0 v0 [0 0 0 0] *
v2 = input f64 () #6
v3 = input f64 () #77
v4 = relu_gradient v0 v3 [0 0 0 0]
v5 = input f64 () #9
v6 = neg v5 [0 0 0 0] *
v7 = neg v2 [0 0 0 0] *
v8 = tanh v4 [0 0 0 0] *
v9 = gradients v3 v8 [2 0 0 0]
)"},
  };
}

}  // namespace tegula::property
