# Compiler flags and helper functions shared by every target of this project.

# With what sanitizers add to the code, g++ warns of what cannot be (its manual advises against the two together): a
# vector of three that grows by one "is out of the bounds [0, 12]". The preset dev judges the same sources.
set(BERTH_WARNINGS_END -Werror)
if(BERTH_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(BERTH_WARNINGS_END)
endif()

add_library(berth_flags INTERFACE)
target_compile_options(berth_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow ${BERTH_WARNINGS_END}
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  -fstack-protector-strong)

# Coroutine frames of g++ 12 provoke false reports of these two under optimisation.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(berth_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized -Wno-mismatched-new-delete>
    # At -O3 it also mistakes `"text" + std::string` for an overlapping copy.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Wno-restrict>)
endif()

# Several sources as one unit: for a build that is made seldom and whole, three times cheaper. What a source
# forgets to include shows in the others. A type of an unnamed namespace is no fault in what is no header.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(berth_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

add_library(berth_sanitizer_options OBJECT "${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.c")
target_link_libraries(berth_sanitizer_options PRIVATE berth_flags)
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer)
  string(REPLACE "fuzzer-no-link," "" _berth_link_sanitize "${BERTH_SANITIZE}")
  add_link_options(-fsanitize=${_berth_link_sanitize})
  if(BERTH_SANITIZE MATCHES "undefined")
    # A finding ends the process, or no test would notice it. Of the checks, those stay out that make a unit of
    # Asio's templates twice as dear to compile (17.6 s of processor time; 9.9 s without, 8.8 s of address alone),
    # where another one sees most of what they would: AddressSanitizer null, object-size and a wrong vptr's
    # memory; x86-64 reads what is not aligned.
    add_compile_options(-fno-sanitize=vptr,null,object-size,alignment -fno-sanitize-recover=undefined)
  endif()
  # ThreadSanitizer does not follow fences; Asio's locks order the same things, so it can do without.
  if(BERTH_SANITIZE MATCHES "thread")
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  # Static programs (BERTH_STATIC) are built without sanitizers.
  set(_berth_static "$<BOOL:$<TARGET_PROPERTY:BERTH_STATIC>>")
  set(_berth_program "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
  link_libraries(
    "$<$<AND:${_berth_program},$<NOT:${_berth_static}>>:$<TARGET_OBJECTS:berth_sanitizer_options>>")
endif()

# What proves nothing in this build or on this machine, for a reason that stands where this is called. ctest lists it as
# disabled, and tools/test counts it as not run.
function(berth_test_not_run name)
  add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" -E false)
  set_tests_properties(${name} PROPERTIES DISABLED TRUE)
endfunction()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND NOT BERTH_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()

# berth_embed(target HEADER core/a.h NAMESPACE berth::a FILES file ...): the target carries the bytes of the
# files with it, and defines what HEADER declares: a `std::string_view a_py();` for a file a.py.
set(BERTH_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed.cmake")
function(berth_embed target)
  cmake_parse_arguments(ARG "" "HEADER;NAMESPACE" "FILES" ${ARGN})
  set(files)
  foreach(file IN LISTS ARG_FILES)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND files "${file}")
  endforeach()
  string(REPLACE "::" "_" part "${ARG_NAMESPACE}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${part}.cc")
  string(REPLACE ";" "$<SEMICOLON>" argument "${files}")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${ARG_HEADER}"
            "-DNAMESPACE=${ARG_NAMESPACE}" "-DFILES=${argument}" -P "${BERTH_EMBED_SCRIPT}"
    DEPENDS ${files} "${BERTH_EMBED_SCRIPT}"
    COMMENT "Embedding the files of ${target}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# A GoogleTest binary named after its module: berth_test(lifecycle_test SOURCES a_test.cc LIBS berth_lifecycle).
# Each of its tests is a process of its own; TOGETHER: all are one, where they share what is dear to set up, or where
# each is over long before a process has begun.
function(berth_test name)
  cmake_parse_arguments(ARG "TOGETHER" "TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(ARG_TOGETHER AND NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  elseif(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE berth_flags ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(ARG_TOGETHER)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# A fuzzer: berth_fuzz(json_fuzz SOURCES json_fuzz.cc LIBS berth_base CORPUS corpus/json [SECONDS 10]).
# In the preset `fuzz` it is a libFuzzer binary whose test runs for BERTH_FUZZ_SECONDS from the corpus. In
# every other build the same source replays the corpus and then runs for SECONDS on what chance makes of it.
set(BERTH_FUZZ_SECONDS 600 CACHE STRING "How long each fuzzer of the preset fuzz runs.")
function(berth_fuzz name)
  cmake_parse_arguments(ARG "" "CORPUS;SECONDS" "SOURCES;LIBS" ${ARGN})
  set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS}")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE berth_flags ${ARG_LIBS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  if(BERTH_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    # New inputs go to the build folder; the corpus of the source tree is only read.
    file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz/${name}.found")
    set(arguments -max_total_time=${BERTH_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048 -max_len=65536
      "${CMAKE_BINARY_DIR}/fuzz/${name}.found" "${corpus}")
    if(NOT TARGET berth_fuzzers)
      add_custom_target(berth_fuzzers)
    endif()
    add_dependencies(berth_fuzzers ${name})
  else()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/fuzz/mutate.cc")
    set(arguments "${corpus}")
    if(ARG_SECONDS)
      list(PREPEND arguments -seconds=${ARG_SECONDS})
    endif()
  endif()
  add_test(NAME fuzz.${name} COMMAND ${name} ${arguments} WORKING_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  math(EXPR timeout "${BERTH_FUZZ_SECONDS} + 300")
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT ${timeout} LABELS fuzz)
endfunction()
