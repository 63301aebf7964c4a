# A build without a preset, as somebody makes who only wants the library: it must configure, take warnings for warnings, and compile at -O3.
# One source is compiled, the one that GCC 12 has warned of. Run with cmake -D SOURCE=… -D BUILD=… -D COMPILER=… -P.
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${COMPILER}
                        -D TEGULA_TESTS=OFF -D TEGULA_BENCH=OFF -D TEGULA_CUDA=OFF -D TEGULA_FEW_UNITS=OFF
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
load_cache(${BUILD} READ_WITH_PREFIX built_ TEGULA_WERROR)
if(built_TEGULA_WERROR)
  message(FATAL_ERROR "warnings are errors for everybody: TEGULA_WERROR=${built_TEGULA_WERROR}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target CMakeFiles/tegula.dir/tegula/cpu/executor/executor_gather.cpp.o
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
if(code OR output MATCHES "warning:")
  message(FATAL_ERROR "code ${code}\n${output}")
endif()
