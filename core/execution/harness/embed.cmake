# cmake -DOUTPUT=harness_bytes.cc -DFILES="a.py;b.cjs" -P embed.cmake
# Turns files into byte arrays of C++: the library carries its harnesses with it.
set(text "// Made by embed.cmake.\n#include \"core/execution/harness.h\"\n\nnamespace berth::harness {\nnamespace {\n")
set(accessors "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  string(MAKE_C_IDENTIFIER "${name}" symbol)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(APPEND text "constexpr unsigned char k_${symbol}[] = {${bytes}0x00};\n")
  string(APPEND accessors "std::string_view ${symbol}() {\n  return {reinterpret_cast<const char*>(k_${symbol}), sizeof(k_${symbol}) - 1};\n}\n")
endforeach()
string(APPEND text "}  // namespace\n\n${accessors}\n}  // namespace berth::harness\n")
file(WRITE "${OUTPUT}" "${text}")
