# berth_add_provider(NAME SOURCES a.cc ... MANIFEST m.json [TEXTS file ...] [LIBS lib ...]
#                    [OUTPUT_DIRECTORY dir] [INSTALL])
#
# Builds a provider as a loadable file named after the manifest's id: `<id>.so`.
#
#   MANIFEST          the manifest; it becomes two ELF notes in the file, and a header that lets
#                     BERTH_PROVIDER compare the class with what it claims
#   TEXTS             files the provider carries: "<name>_texts.h" has the text of a.sh as the array a_sh
#   LIBS              linked privately; static ones do not show among the exports
#   OUTPUT_DIRECTORY  where the file goes; default ${BERTH_PROVIDER_DIR} if set, else the binary folder
#   INSTALL           adds an install rule, to ${BERTH_INSTALL_PROVIDER_DIR} or lib/berth/providers
#
# Every target made so is listed in the global property BERTH_PROVIDER_TARGETS.
#
# Variables:
#   BERTH_INSPECT_COMMAND  a command (list) that is run on every provider after it was linked, with the
#                          file as its last argument: "berth;provider;inspect". Its failure fails the
#                          build. Empty: nothing is run. The installed package sets it when the
#                          command is installed beside it.

function(_berth_embed_manifest name manifest)
  if(TARGET berth_embed_manifest)
    set(embed berth_embed_manifest)
  else()
    set(embed BerthSDK::embed_manifest)
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set(extension c)
  else()
    set(extension cc)
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}_manifest")
  file(MAKE_DIRECTORY "${folder}")
  set(notes "${folder}/${name}_notes.${extension}")
  set(facts "${folder}/${name}_manifest.hpp")
  add_custom_command(OUTPUT "${notes}" "${facts}"
    COMMAND ${embed} "${manifest}" "${notes}" "${facts}"
    DEPENDS "${manifest}" ${embed}
    COMMENT "Embedding the manifest of ${name}"
    VERBATIM)
  target_sources(${name} PRIVATE "${notes}" "${facts}")
  target_include_directories(${name} PRIVATE "${folder}")
  target_compile_definitions(${name} PRIVATE "BERTH_MANIFEST_HEADER=\"${name}_manifest.hpp\"")
endfunction()

function(_berth_embed_texts name)
  set(header "${CMAKE_CURRENT_BINARY_DIR}/${name}_texts/${name}_texts.h")
  set(text "/* Made from the TEXTS of ${name}. */\n")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(symbol "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${symbol}" symbol)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(APPEND text "static const char ${symbol}[] = {${bytes}0x00};\n")
  endforeach()
  file(CONFIGURE OUTPUT "${header}" CONTENT "${text}" @ONLY)
  target_include_directories(${name} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${name}_texts")
endfunction()

function(berth_add_provider name)
  cmake_parse_arguments(ARG "INSTALL" "MANIFEST;OUTPUT_DIRECTORY" "SOURCES;TEXTS;LIBS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "berth_add_provider(${name}): unknown argument ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES OR NOT ARG_MANIFEST)
    message(FATAL_ERROR "berth_add_provider(${name}): SOURCES and MANIFEST are required")
  endif()
  get_filename_component(manifest "${ARG_MANIFEST}" ABSOLUTE)
  if(NOT EXISTS "${manifest}")
    message(FATAL_ERROR "berth_add_provider(${name}): there is no manifest ${manifest}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${manifest}")
  file(READ "${manifest}" text)
  string(JSON id ERROR_VARIABLE wrong GET "${text}" id)
  if(wrong)
    message(FATAL_ERROR "berth_add_provider(${name}): ${manifest} has no usable id: ${wrong}")
  endif()

  set(map "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/provider.map")
  add_library(${name} MODULE ${ARG_SOURCES})
  set_property(GLOBAL APPEND PROPERTY BERTH_PROVIDER_TARGETS ${name})
  _berth_embed_manifest(${name} "${manifest}")
  if(ARG_TEXTS)
    _berth_embed_texts(${name} ${ARG_TEXTS})
  endif()
  target_link_libraries(${name} PRIVATE BerthSDK::sdk ${ARG_LIBS})
  target_compile_definitions(${name} PRIVATE BERTH_PROVIDER_BUILD=1)
  if(NOT ARG_OUTPUT_DIRECTORY)
    if(BERTH_PROVIDER_DIR)
      set(ARG_OUTPUT_DIRECTORY "${BERTH_PROVIDER_DIR}")
    else()
      set(ARG_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    endif()
  endif()
  set_target_properties(${name} PROPERTIES
    PREFIX "" OUTPUT_NAME "${id}" SUFFIX ".so"
    LIBRARY_OUTPUT_DIRECTORY "${ARG_OUTPUT_DIRECTORY}"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    SKIP_BUILD_RPATH ON
    LINK_DEPENDS "${map}")
  # A file that is never unmapped, resolves everything when it is loaded, and shows one name.
  target_link_options(${name} PRIVATE
    "LINKER:--version-script=${map}"
    LINKER:-z,now LINKER:-z,relro LINKER:-z,nodelete LINKER:-z,noexecstack
    LINKER:--exclude-libs,ALL LINKER:-Bsymbolic-functions)
  # The runtime of a sanitizer is resolved by the program that loads the provider.
  if(NOT BERTH_SANITIZE)
    target_link_options(${name} PRIVATE LINKER:-z,defs)
  endif()
  if(BERTH_INSPECT_COMMAND)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${BERTH_INSPECT_COMMAND} "$<TARGET_FILE:${name}>"
      COMMENT "Inspecting ${id}.so" VERBATIM)
  endif()
  if(ARG_INSTALL)
    if(NOT BERTH_INSTALL_PROVIDER_DIR)
      set(BERTH_INSTALL_PROVIDER_DIR "lib/berth/providers")
    endif()
    install(TARGETS ${name} LIBRARY DESTINATION "${BERTH_INSTALL_PROVIDER_DIR}" COMPONENT provider)
  endif()
endfunction()
