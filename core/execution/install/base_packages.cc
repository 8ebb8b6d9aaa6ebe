#include "core/execution/install/base_packages.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace berth::install {
namespace {

constexpr std::array<std::string_view, 5> kBasePackages = {"matplotlib", "pandas", "numpy", "sympy",
                                                           "yfinance"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// `name` at `at` is a module that the statement before it on its line imports.
bool is_imported(std::string_view code, std::size_t at, std::string_view name) {
  const std::size_t end = at + name.size();
  if (end < code.size() && is_word(code[end])) return false;
  if (at == 0 || (code[at - 1] != ' ' && code[at - 1] != '\t' && code[at - 1] != ',')) return false;
  const std::size_t line = code.find_last_of("\r\n", at) + 1;
  const std::string_view before = code.substr(line, at - line);
  return has_word(before, "import") || has_word(before, "from");
}

}  // namespace

bool is_base_package(std::string_view name) {
  return std::find(kBasePackages.begin(), kBasePackages.end(), name) != kBasePackages.end();
}

std::vector<std::string> imported_base_packages(std::string_view code) {
  std::vector<std::string> found;
  for (const std::string_view name : kBasePackages) {
    for (std::size_t at = code.find(name); at != code.npos; at = code.find(name, at + 1)) {
      if (!is_imported(code, at, name)) continue;
      found.emplace_back(name);
      break;
    }
  }
  return found;
}

}  // namespace berth::install
