// The forward pass of a convolutional layer as the lectures write it (Kirk and Hwu, Programming Massively Parallel Processors, chapter 16), with edges where the
// slides assume that the image is a multiple of the tile; im2col, max pooling,
// gradients.
#include <float.h>

#define TILE_WIDTH 16
#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

// One block computes a tile of 16 x 16 of Y(n, m); one thread an element.
__global__ void ConvLayerForward_Basic(int C, int H, int W_in, int M, int K, int W_grid, const float* X, const float* W, float* Y) {
  const int H_out = H - K + 1, W_out = W_in - K + 1;
  const int n = blockIdx.x, m = blockIdx.y;
  const int h = blockIdx.z / W_grid * TILE_WIDTH + threadIdx.y;
  const int w = blockIdx.z % W_grid * TILE_WIDTH + threadIdx.x;
  if (h >= H_out || w >= W_out) return;
  float acc = 0.;
  for (int c = 0; c < C; c++)  // sum over all input channels
    for (int p = 0; p < K; p++)  // loop over KxK filter
      for (int q = 0; q < K; q++)
        acc += X[((n * C + c) * H + h + p) * W_in + w + q] * W[((m * C + c) * K + p) * K + q];
  Y[((n * M + m) * H_out + h) * W_out + w] = acc;
}

// The same with the block's part of the image and the filter in shared memory, whose size the launch says.
__global__ void ConvLayerForward_Shared(int C, int H, int W_in, int M, int K, int W_grid, const float* X, const float* W, float* Y) {
  const int H_out = H - K + 1, W_out = W_in - K + 1;
  const int X_tile_width = TILE_WIDTH + K - 1;
  extern __shared__ float shmem[];
  float* X_shared = &shmem[0];
  float* W_shared = &shmem[X_tile_width * X_tile_width];
  const int n = blockIdx.x, m = blockIdx.y;
  const int h0 = threadIdx.y, w0 = threadIdx.x;
  const int h_base = blockIdx.z / W_grid * TILE_WIDTH;  // vertical base out data index for the block
  const int w_base = blockIdx.z % W_grid * TILE_WIDTH;  // horizontal base out data index for the block
  const int h = h_base + h0, w = w_base + w0;
  float acc = 0.;
  for (int c = 0; c < C; c++) {
    if (h0 < K && w0 < K) W_shared[h0 * K + w0] = W[((m * C + c) * K + h0) * K + w0];  // load weights for W[m, c, ..]
    for (int i = h; i < h_base + X_tile_width; i += TILE_WIDTH)  // load tile from X[n, c, ...] into shared memory
      for (int j = w; j < w_base + X_tile_width; j += TILE_WIDTH)
        X_shared[(i - h_base) * X_tile_width + j - w_base] = i < H && j < W_in ? X[((n * C + c) * H + i) * W_in + j] : 0.f;
    __syncthreads();
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        acc += X_shared[(h0 + p) * X_tile_width + w0 + q] * W_shared[p * K + q];
    __syncthreads();
  }
  if (h < H_out && w < W_out) Y[((n * M + m) * H_out + h) * W_out + w] = acc;
}

// Its gradients: one thread sums what an element of the image, or of a filter, has to do with.
__global__ void ConvLayerBackward_Xgrad(int N, int C, int H, int W_in, int M, int K, const float* dE_dY, const float* W, float* dE_dX) {
  const int H_out = H - K + 1, W_out = W_in - K + 1;
  CUDA_KERNEL_LOOP(index, N * C * H * W_in) {
    const int w = index % W_in, h = index / W_in % H, c = index / (W_in * H) % C, n = index / (W_in * H * C);
    float sum = 0.f;
    for (int m = 0; m < M; m++)
      for (int p = 0; p < K; p++)
        for (int q = 0; q < K; q++)
          if (h - p >= 0 && h - p < H_out && w - q >= 0 && w - q < W_out)
            sum += dE_dY[((n * M + m) * H_out + h - p) * W_out + w - q] * W[((m * C + c) * K + p) * K + q];
    dE_dX[index] = sum;
  }
}

__global__ void ConvLayerBackward_Wgrad(int N, int C, int H, int W_in, int M, int K, const float* dE_dY, const float* X, float* dE_dW) {
  const int H_out = H - K + 1, W_out = W_in - K + 1;
  CUDA_KERNEL_LOOP(index, M * C * K * K) {
    const int q = index % K, p = index / K % K, c = index / (K * K) % C, m = index / (K * K * C);
    float sum = 0.f;
    for (int n = 0; n < N; n++)
      for (int h = 0; h < H_out; h++)
        for (int w = 0; w < W_out; w++)
          sum += dE_dY[((n * M + m) * H_out + h) * W_out + w] * X[((n * C + c) * H + h + p) * W_in + w + q];
    dE_dW[index] = sum;
  }
}

// With strides, padding and a bias, and the filters in constant memory, which the host fills ahead of the launch (cudaMemcpyToSymbol; here CudaLaunch::variables).
__constant__ float weight[1024];

__global__ void Convolution_kernel(int N, int C, int H, int W, int K, int kH, int kW, int sH, int sW, int pT, int pL, int P, int Q,
                                   const float* input, const float* bias, float* output) {
  const int output_index = blockIdx.x * blockDim.x + threadIdx.x;
  if (output_index >= N * K * P * Q) return;
  const int q = output_index % Q, p = output_index / Q % P, k = output_index / (Q * P) % K, n = output_index / (Q * P * K);
  float sum = 0.0f;
  for (int c = 0; c < C; c++) {
    for (int kh = 0; kh < kH; kh++) {
      int input_h_index = p * sH + kh - pT;
      if (input_h_index >= 0 && input_h_index < H) {
        for (int kw = 0; kw < kW; kw++) {
          int input_w_index = q * sW + kw - pL;
          if (input_w_index >= 0 && input_w_index < W) {
            int input_index = n * C * H * W + c * H * W + input_h_index * W + input_w_index;
            int weight_index = k * C * kH * kW + c * kH * kW + kh * kW + kw;
            sum += weight[weight_index] * input[input_index];
          }
        }
      }
    }
  }
  sum += bias[k];
  output[output_index] = sum;
}

// One thread gathers the K x K elements of one channel for one element of the output: a column of the expanded matrix (C K K, H_out W_out).
__global__ void unroll_Kernel(int C, int H, int W, int K, const float* X, float* X_unroll) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int H_out = H - K + 1, W_out = W - K + 1, W_unroll = H_out * W_out;
  if (t < C * W_unroll) {
    const int c = t / W_unroll, s = t % W_unroll;
    const int h_out = s / W_out, w_out = s % W_out;
    const int w_base = c * K * K;
    for (int p = 0; p < K; p++)
      for (int q = 0; q < K; q++)
        X_unroll[(w_base + p * K + q) * W_unroll + s] = X[(c * H + h_out + p) * W + w_out + q];
  }
}

// im2col as Caffe has it, with padding and stride.
template <typename Dtype>
__global__ void im2col_gpu_kernel(const int n, const Dtype* data_im,
    const int height, const int width, const int kernel_h, const int kernel_w,
    const int pad_h, const int pad_w, const int stride_h, const int stride_w,
    const int height_col, const int width_col, Dtype* data_col) {
  CUDA_KERNEL_LOOP(index, n) {
    const int h_index = index / width_col;
    const int h_col = h_index % height_col; const int w_col = index % width_col;
    const int c_im = h_index / height_col; const int c_col = c_im * kernel_h * kernel_w;
    const int h_offset = h_col * stride_h - pad_h;
    const int w_offset = w_col * stride_w - pad_w;
    Dtype* data_col_ptr = data_col;
    data_col_ptr += (c_col * height_col + h_col) * width_col + w_col;
    const Dtype* data_im_ptr = data_im;
    data_im_ptr += (c_im * height + h_offset) * width + w_offset;
    for (int i = 0; i < kernel_h; ++i) {
      for (int j = 0; j < kernel_w; ++j) {
        int h_im = h_offset + i, w_im = w_offset + j;
        *data_col_ptr = (h_im >= 0 && w_im >= 0 && h_im < height && w_im < width) ? data_im_ptr[i * width + j] : 0;
        data_col_ptr += height_col * width_col;
      }
    }
  }
}

template <typename Dtype>
__global__ void MaxPoolForward(const int nthreads,
    const Dtype * const bottom_data, const int num, const int channels,
    const int height, const int width, const int pooled_height,
    const int pooled_width, const int kernel_h, const int kernel_w,
    const int stride_h, const int stride_w, const int pad_h, const int pad_w,
    Dtype* const top_data, int* mask, Dtype* top_mask) {
  CUDA_KERNEL_LOOP(index, nthreads) {
    const int pw = index % pooled_width;
    const int ph = (index / pooled_width) % pooled_height;
    const int c = (index / pooled_width / pooled_height) % channels;
    const int n = index / pooled_width / pooled_height / channels;
    int hstart = ph * stride_h - pad_h; int wstart = pw * stride_w - pad_w;
    const int hend = min(hstart + kernel_h, height);
    const int wend = min(wstart + kernel_w, width);
    hstart = max(hstart, 0); wstart = max(wstart, 0);
    Dtype maxval = -FLT_MAX; int maxidx = -1;  // FLT_MAX --> max float
    const Dtype* const bottom_slice = bottom_data + (n * channels + c) * height * width;
    for (int h = hstart; h < hend; ++h) {
      for (int w = wstart; w < wend; ++w) {
        if (bottom_slice[h * width + w] > maxval) {
          maxidx = h * width + w;
          maxval = bottom_slice[maxidx];
        }
      }
    }
    top_data[index] = maxval;
    if (mask) {
      mask[index] = maxidx;
    } else {
      top_mask[index] = maxidx;
    }
  }
}

// Its gradient: windows overlap, so that threads add.
template <typename Dtype>
__global__ void MaxPoolBackward(const int nthreads, const Dtype* const top_diff, const int* const mask, const int plane,
    const int pooled_plane, Dtype* const bottom_diff) {
  CUDA_KERNEL_LOOP(index, nthreads) { atomicAdd(&bottom_diff[index / pooled_plane * plane + mask[index]], top_diff[index]); }
}
