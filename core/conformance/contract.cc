#include "core/conformance/contract.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace berth::conformance {

// Made from sdk/docs/CONTRACT.md by embed_contract.cmake.
std::string_view contract_page();

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(' ') - from + 1));
}

bool is_clause_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || dash < 2 || text.size() != dash + 4) return false;
  const auto upper = [](unsigned char c) { return std::isupper(c) != 0; };
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dash), upper) &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(dash) + 1, text.end(), digit);
}

// "| OP-001 | text | why | host |"
void take_row(std::string_view line, std::vector<Clause>& into) {
  std::vector<std::string> cells;
  line.remove_prefix(1);
  for (std::size_t bar; (bar = line.find('|')) != std::string_view::npos; line.remove_prefix(bar + 1))
    cells.push_back(trimmed(line.substr(0, bar)));
  if (cells.size() == 4 && is_clause_id(cells[0]))
    into.push_back({cells[0], cells[1], cells[2], cells[3]});
}

std::vector<Clause> parse(std::string_view page) {
  std::vector<Clause> out;
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    if (page.starts_with('|')) take_row(page.substr(0, end), out);
    page.remove_prefix(std::min(end + 1, page.size()));
  }
  return out;
}

}  // namespace

std::span<const Clause> all_clauses() {
  static const auto* const all = new std::vector<Clause>(parse(contract_page()));
  return *all;
}

const Clause* find_clause(std::string_view id) {
  for (const Clause& one : all_clauses())
    if (one.id == id) return &one;
  return nullptr;
}

bool is_testable(const Clause& clause) { return !clause.enforced_by.starts_with("no one"); }

}  // namespace berth::conformance
