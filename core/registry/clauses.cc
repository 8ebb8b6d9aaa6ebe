#include "core/registry/clauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace berth::registry {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// The cells of one line of a table; none when the line is not of one.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  if (!line.starts_with('|')) return cells;
  line.remove_prefix(1);
  for (std::size_t bar; (bar = line.find('|')) != std::string_view::npos; line.remove_prefix(bar + 1)) {
    cells.push_back(trimmed(line.substr(0, bar)));
  }
  return cells;
}

// "META-003": upper-case letters, a dash, three digits.
bool is_clause_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || dash == 0 || text.size() != dash + 4) return false;
  const auto all = [](std::string_view part, auto of) { return std::all_of(part.begin(), part.end(), of); };
  return all(text.substr(0, dash), [](unsigned char c) { return std::isupper(c) != 0; }) &&
         all(text.substr(dash + 1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string without_marks(std::string_view markdown) {
  std::string text(markdown);
  std::erase(text, '`');
  return text;
}

}  // namespace

std::vector<Clause> parse_clauses(std::string_view contract) {
  std::vector<Clause> all;
  std::map<std::string_view, std::string_view> remedies;
  while (!contract.empty()) {
    const std::size_t end = std::min(contract.find('\n'), contract.size());
    const auto cells = cells_of(contract.substr(0, end));
    contract.remove_prefix(std::min(end + 1, contract.size()));
    if (cells.empty() || !is_clause_id(cells[0])) continue;
    if (cells.size() == 2) remedies.emplace(cells[0], cells[1]);
    if (cells.size() != 4) continue;
    all.push_back({std::string(cells[0]), std::string(cells[1]), std::string(cells[2]),
                   std::string(cells[3]), {}});
  }
  for (Clause& clause : all) clause.remedy = remedies[clause.id];
  return all;
}

const std::vector<Clause>& clauses() {
  static const std::vector<Clause> all = parse_clauses(embedded::contract_md());
  return all;
}

const Clause* find_clause(std::string_view id) {
  for (const Clause& clause : clauses()) {
    if (clause.id == id) return &clause;
  }
  return nullptr;
}

std::string explain(const Clause& clause) {
  return fmt::format("{}  {}\n\nwhy          {}\nenforced by  {}\nwhat to do   {}\n", clause.id,
                     without_marks(clause.text), without_marks(clause.why), clause.enforced_by,
                     without_marks(clause.remedy));
}

}  // namespace berth::registry
