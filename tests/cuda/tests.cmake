# The CUDA side on a machine that has no GPU: test_cuda over the driver of tests/cuda/driver/.
add_library(fake_cuda_driver SHARED cuda/driver/fake_driver.cpp)
target_include_directories(fake_cuda_driver SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_include_directories(fake_cuda_driver PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(fake_cuda_driver PRIVATE tegula_settings)
set(driver_dir "${PROJECT_BINARY_DIR}/tests/driver")
set_target_properties(fake_cuda_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY "${driver_dir}")
foreach(library cublasLt cudnn)
  add_library(fake_${library} SHARED cuda/driver/fake_libraries.cpp)
  target_include_directories(fake_${library} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(fake_${library} PRIVATE tegula_settings)
  set_target_properties(fake_${library} PROPERTIES OUTPUT_NAME ${library} LIBRARY_OUTPUT_DIRECTORY "${driver_dir}/libraries")
endforeach()
target_compile_definitions(fake_cublasLt PRIVATE TEGULA_FAKE_BLAS)
set_target_properties(fake_cublasLt PROPERTIES SOVERSION ${CUDAToolkit_VERSION_MAJOR})
set_target_properties(fake_cudnn PROPERTIES SOVERSION 9)

# In place of NVRTC: what keeps texts for scripts/every_kernel.sh, and what compiles them.
add_library(fake_nvrtc SHARED cuda/driver/fake_nvrtc.cpp)
target_include_directories(fake_nvrtc PRIVATE "${PROJECT_SOURCE_DIR}")
target_compile_definitions(fake_nvrtc PRIVATE TEGULA_NVRTC_MAJOR=${CUDAToolkit_VERSION_MAJOR})
target_link_libraries(fake_nvrtc PRIVATE tegula_settings)
set_target_properties(fake_nvrtc PROPERTIES OUTPUT_NAME nvrtc SOVERSION 13 LIBRARY_OUTPUT_DIRECTORY "${driver_dir}/compiler")
add_executable(compile_kernels cuda/driver/compile_kernels.cpp)
target_link_libraries(compile_kernels PRIVATE tegula_test_settings)
set_target_properties(compile_kernels PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
tegula_test(cuda.every_kernel LABEL unit COMMAND bash "${source_root}/scripts/every_kernel.sh" "${PROJECT_BINARY_DIR}" --sample)
set_tests_properties(cuda.every_kernel PROPERTIES SKIP_RETURN_CODE 77)

# fake_driver_test(name kind filter [VARIABLE=value…]): test_cuda's tests of `filter` over a driver of that kind.
function(fake_driver_test name kind filter)
  tegula_test(cuda.${name} LABEL unit TIMEOUT 120 COMMAND test_cuda --gtest_brief=1 --gtest_filter=${filter})
  set_property(TEST cuda.${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${driver_dir}" "TEGULA_FAKE_DRIVER=${kind}" ${ARGN})
endfunction()
fake_driver_test(driver_too_old old "Registry.*")
fake_driver_test(no_device none "Registry.*")
fake_driver_test(architecture_too_old sm_70 "Registry.*")
fake_driver_test(library_path_wrong sm_90 "Registry.*" TEGULA_CUDA_LIBRARY=missing.so)
fake_driver_test(library_of_other_version sm_90 "Registry.*" TEGULA_CUDA_LIBRARY=libcuda.so.1)
fake_driver_test(memory sm_90 "Registry.*:CudaMemory*:CudaLost.*:CudaHostTurn.*")
fake_driver_test(listing paper "CudaListing.*")

# A copy of the program in a folder without the library.
tegula_test(cuda.no_library LABEL unit TIMEOUT 120
            COMMAND sh -c "cp '$<TARGET_FILE:test_cuda>' . && ./test_cuda --gtest_brief=1 --gtest_filter=Registry.*")
set_property(TEST cuda.no_library APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${driver_dir}" TEGULA_FAKE_DRIVER=sm_90 TEGULA_TEST_NO_LIBRARY=1)

# tests/cuda/nvrtc_process_test.cpp starts it.
add_dependencies(test_cuda tegula_nvrtc)
target_compile_definitions(test_cuda PRIVATE "TEGULA_NVRTC=\"$<TARGET_FILE:tegula_nvrtc>\"")
