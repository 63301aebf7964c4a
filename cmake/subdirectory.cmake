# add_subdirectory(tegula) brings the library alone and leaves the user's cache as it is. Run with
# cmake -D SOURCE=tests/consumer_subdirectory -D TEGULA_SOURCE=… -D BUILD=… -D COMPILER=… -P. The consumer is compiled, not linked: that takes as long
# as the library does.
file(REMOVE "${BUILD}/CMakeCache.txt")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER} -D TEGULA_SOURCE=${TEGULA_SOURCE}
                        -D TEGULA_CUDA=OFF -D TEGULA_MPI=OFF -D CMAKE_DISABLE_FIND_PACKAGE_GTest=ON -D CLI11_INCLUDE_DIR=OFF
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${BUILD}/CMakeCache.txt" cache)
foreach(line IN LISTS cache)
  if(line MATCHES "^CMAKE_BUILD_TYPE:[A-Z]+=(.+)$")
    message(FATAL_ERROR "the user's build type was set to ${CMAKE_MATCH_1}")
  endif()
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target help OUTPUT_VARIABLE targets COMMAND_ERROR_IS_FATAL ANY)
foreach(kind test_ tegula_cli bench_ example_ fuzz_)
  if(targets MATCHES "\n(${kind}[^:]*):")
    message(FATAL_ERROR "a target of Tegula's own is built: ${CMAKE_MATCH_1}")
  endif()
endforeach()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target "CMakeFiles/consumer.dir${TEGULA_SOURCE}/tests/consumer/main.cpp.o"
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE code)
if(code)
  message(FATAL_ERROR "the consumer does not compile:\n${output}")
endif()
file(READ "${BUILD}/tegula/cmake_install.cmake" install)
if(install MATCHES "file\\(INSTALL")
  message(FATAL_ERROR "installing the user's project installs Tegula")
endif()
file(STRINGS "${BUILD}/build.ninja" flags REGEX "FLAGS = ")
foreach(line IN LISTS flags)
  if(line MATCHES "-fPIC" AND NOT line MATCHES "-O2")
    message(FATAL_ERROR "without a build type the library is not optimised: ${line}")
  endif()
endforeach()
