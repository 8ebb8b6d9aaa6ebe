#include "core/execution/harness.h"

#include <cstddef>

namespace berth::harness {
namespace {

// A Python string literal on one line.
std::string python_literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '\'') out += '\\';
    out += c;
  }
  return out += '\'';
}

void replace_once(std::string& text, std::string_view what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
}

}  // namespace

std::string python_harness() {
  std::string text(berth_run_py());
  replace_once(text, "\"@BERTH_REPORT@\"", python_literal(berth_report_py()));
  replace_once(text, "\"@BERTH_FIGURES@\"", python_literal(berth_figures_py()));
  return text;
}

}  // namespace berth::harness
