# What a user's program and shared library carry of Tegula. Run with cmake -D FOLDER=… -P behind the build of tests/consumer:
# a program links no library of which nothing that is linked in uses a function, and a shared library exports no function of Tegula's own.
function(output_of result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

output_of(needed readelf -d "${FOLDER}/consumer")
if(needed MATCHES "NEEDED[^\n]*libzip[^\n]*")  # used by one source, which is compiled alone
  message(FATAL_ERROR "a program that sums two numbers needs ${CMAKE_MATCH_0}")
endif()
# Functions of the headers are compiled into the user's own objects and follow the user's own visibility; what lies in the archive is hidden.
output_of(exported nm -D --defined-only "${FOLDER}/libplugin.so")
if(NOT exported MATCHES " T sum_of_ones")
  message(FATAL_ERROR "the plugin's own function is hidden")
endif()
string(REGEX MATCHALL " [TDBR] _ZN?K?6tegula[^\n]*" own "${exported}")
if(own)
  list(LENGTH own count)
  list(GET own 0 first)
  message(FATAL_ERROR "a shared library exports ${count} functions of Tegula's, such as${first}")
endif()
