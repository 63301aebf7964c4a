// Parts of the pretended driver that only kernels of a user's own, or tiles of tensors, ask for. "paper" takes them and does nothing.

#include <cuda.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr, unsigned short, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr, unsigned, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
/// Variables are 256 bytes of one's own.
CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr* at, std::size_t* bytes, CUmodule, const char*) {
  static unsigned char memory[256];
  return *at = reinterpret_cast<CUdeviceptr>(memory), *bytes = sizeof memory, CUDA_SUCCESS;
}
/// Refuses, as the real one does, rows that do not begin at multiples of 16 bytes, and boxes whose rows have other bytes than the swizzle. TEGULA_FAKE_MAPS:
/// "listed" lists them on stderr, "refused" takes none.
CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t axes, void* address, const cuuint64_t* sizes,
                                        const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  const char* const wish = std::getenv("TEGULA_FAKE_MAPS");
  if (wish && std::strcmp(wish, "refused") == 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t kMostSize = cuuint64_t{1} << 32, kMostStride = cuuint64_t{1} << 40;
  const cuuint64_t size = type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? 1 : 2, pitch = cuuint64_t{16} << swizzle;  // none, 32, 64, 128 bytes
  if (axes != 2 || strides[0] % 16 != 0 || strides[0] >= kMostStride || reinterpret_cast<cuuint64_t>(address) % 16 != 0 ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return CUDA_ERROR_INVALID_VALUE;
  for (int axis = 0; axis < 2; ++axis)
    if (sizes[axis] == 0 || sizes[axis] > kMostSize || box[axis] == 0 || box[axis] > 256 || steps[axis] != 1)
      return CUDA_ERROR_INVALID_VALUE;
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || box[0] * size != pitch) return CUDA_ERROR_INVALID_VALUE;
  if (wish && std::strcmp(wish, "listed") == 0)
    std::fprintf(stderr, "map of %llu x %llu elements of %llu bytes, rows of %llu bytes, boxes of %u x %u\n",
                 static_cast<unsigned long long>(sizes[1]), static_cast<unsigned long long>(sizes[0]),
                 static_cast<unsigned long long>(size), static_cast<unsigned long long>(strides[0]), box[1], box[0]);
  map->opaque[0] = reinterpret_cast<cuuint64_t>(address);
  return CUDA_SUCCESS;
}

}  // extern "C"
