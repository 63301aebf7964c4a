# The CUDA side on a machine that has no GPU: test_cuda over the driver of tests/cuda/driver/.
add_library(fake_cuda_driver SHARED cuda/driver/fake_driver.cpp cuda/driver/fake_fills.cpp)
target_include_directories(fake_cuda_driver SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_include_directories(fake_cuda_driver PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(fake_cuda_driver PRIVATE tegula_settings)
set(driver_dir "${PROJECT_BINARY_DIR}/tests/driver")
set_target_properties(fake_cuda_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY "${driver_dir}")
foreach(library cublasLt cudnn cufft)
  add_library(fake_${library} SHARED cuda/driver/fake_libraries.cpp)
  target_include_directories(fake_${library} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(fake_${library} PRIVATE tegula_settings)
  set_target_properties(fake_${library} PROPERTIES OUTPUT_NAME ${library} LIBRARY_OUTPUT_DIRECTORY "${driver_dir}/libraries")
endforeach()
target_compile_definitions(fake_cublasLt PRIVATE TEGULA_FAKE_BLAS)
set_target_properties(fake_cublasLt PROPERTIES SOVERSION ${CUDAToolkit_VERSION_MAJOR})
set_target_properties(fake_cudnn PROPERTIES SOVERSION 9)
set_target_properties(fake_cufft PROPERTIES SOVERSION 12)

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

# The CUDA machine with tests/cuda/driver/recorded_generate.cpp in the place of gpu::generate, for scripts/same_kernels.sh.
add_library(recorded_cuda MODULE EXCLUDE_FROM_ALL cuda/driver/recorded_generate.cpp $<TARGET_OBJECTS:tegula_cuda> $<TARGET_OBJECTS:tegula_base>)
target_include_directories(recorded_cuda PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(recorded_cuda PRIVATE tegula tegula_settings nlohmann_json::nlohmann_json CUDA::cuda_driver)
target_link_options(recorded_cuda PRIVATE "LINKER:-z,lazy" "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/tegula_cuda.map"
                    "LINKER:--wrap=_ZN6tegula3gpu8generateERKNS_4tile7ProgramERKNS0_14SpecialisationEi")
set_target_properties(recorded_cuda PROPERTIES OUTPUT_NAME tegula_cuda_recorded LIBRARY_OUTPUT_DIRECTORY "${driver_dir}"
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")

# fake_driver_test(name kind filter [VARIABLE=value…]): test_cuda's tests of `filter` over a driver of that kind.
function(fake_driver_test name kind filter)
  tegula_test(cuda.${name} LABEL unit TIMEOUT 600 COMMAND test_cuda --gtest_brief=1 --gtest_filter=${filter})
  set_property(TEST cuda.${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${driver_dir}" "TEGULA_FAKE_DRIVER=${kind}" ${ARGN})
endfunction()
fake_driver_test(driver_too_old old "Registry.*")
fake_driver_test(no_device none "Registry.*")
fake_driver_test(architecture_too_old sm_70 "Registry.*")
fake_driver_test(oldest_architecture sm_90 "Registry.*" TEGULA_FAKE_ARCHITECTURE=75)
fake_driver_test(library_path_wrong sm_90 "Registry.*" TEGULA_CUDA_LIBRARY=missing.so)
fake_driver_test(library_of_other_version sm_90 "Registry.*" TEGULA_CUDA_LIBRARY=libcuda.so.1)
fake_driver_test(memory sm_90 "Registry.*:CudaMemory*:CudaCopies.*:CudaQueues.*:CudaLost.*:CudaHostTurn.*:CudaTimeMarks.*")
fake_driver_test(listing paper "CudaListing.*")
fake_driver_test(tensor_maps paper "CudaTensorMaps.*")
fake_driver_test(early paper "CudaEarly.*")
fake_driver_test(raw_kernels paper "CudaRawKernels.*")
fake_driver_test(convolution_steps paper "CudaConvolutionSteps.*" "LD_LIBRARY_PATH=${driver_dir}:${driver_dir}/libraries" TEGULA_FAKE_DNN=engine)
fake_driver_test(attention_steps paper "CudaAttentionSteps.*" "LD_LIBRARY_PATH=${driver_dir}:${driver_dir}/libraries" TEGULA_FAKE_DNN=graphs)
fake_driver_test(timeline paper "CudaTimeline.*" "LD_LIBRARY_PATH=${driver_dir}:${driver_dir}/libraries")
fake_driver_test(kernel_index paper "CudaKernelIndex.*" "LD_LIBRARY_PATH=${driver_dir}:${driver_dir}/libraries:${driver_dir}/compiler"
                 TEGULA_KERNELS=kernels TEGULA_CACHE_DIR=cache TEGULA_COMPILERS=0)
fake_driver_test(plan_files paper "CudaPlanFiles.*" "LD_LIBRARY_PATH=${driver_dir}:${driver_dir}/libraries:${driver_dir}/compiler"
                 TEGULA_KERNELS=kernels TEGULA_CACHE_DIR=cache TEGULA_COMPILERS=0 TEGULA_FAKE_ALGORITHMS=3)
foreach(architecture 90 75)
  fake_driver_test(without_libraries_${architecture} paper "CudaWithoutLibraries.*" TEGULA_FAKE_ARCHITECTURE=${architecture}
                   TEGULA_WITHOUT=cublasLt,cudnn,cublas,cusolver,cufft)
endforeach()
fake_driver_test(peers two "CudaPeers.*:CudaCopies.*:CudaQueues.*:CudaMemory.*:CudaHostTurn.*:CudaTimeMarks.*")
fake_driver_test(nccl sm_90 "CudaNccl.*" "LD_LIBRARY_PATH=${driver_dir}:${nccl_dir}")
add_dependencies(test_cuda fake_nccl)
find_file(nccl_header nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(nccl_header)  # what is said of NCCL without its header is what that says
  add_library(nccl_interface OBJECT cuda/driver/nccl_interface.cpp)
  target_include_directories(nccl_interface SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_include_directories(nccl_interface PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(nccl_interface PRIVATE tegula_settings)
  add_dependencies(test_cuda nccl_interface)
endif()

# What build_kernel writes is compiled and run over the driver of the tests.
if(TARGET test_emulator)
  add_dependencies(test_emulator fake_cuda_driver)
  list(GET CUDAToolkit_INCLUDE_DIRS 0 cuda_include)  # some toolkits name several folders
  set_source_files_properties(emulator/kernel_code_test.cpp PROPERTIES COMPILE_DEFINITIONS
    "TEGULA_CUDA_INCLUDE=\"${cuda_include}\";TEGULA_DRIVER_FOLDER=\"${driver_dir}\"")
endif()

# A copy of the program in a folder without the library.
tegula_test(cuda.no_library LABEL unit TIMEOUT 600
            COMMAND sh -c "cp '$<TARGET_FILE:test_cuda>' . && ./test_cuda --gtest_brief=1 --gtest_filter=Registry.*")
set_property(TEST cuda.no_library APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${driver_dir}" TEGULA_FAKE_DRIVER=sm_90 TEGULA_TEST_NO_LIBRARY=1)

# tests/cuda/nvrtc_process_test.cpp starts it.
add_dependencies(test_cuda tegula_nvrtc)
target_compile_definitions(test_cuda PRIVATE "TEGULA_NVRTC=\"$<TARGET_FILE:tegula_nvrtc>\"")
