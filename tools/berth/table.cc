#include "tools/berth/table.h"

#include <algorithm>

#include "tools/berth/console.h"

namespace berth::cli {
namespace {

// Code points, which is what most terminals give one column each.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    cell = printable(cell);
    std::replace(cell.begin(), cell.end(), '\n', ' ');
    std::replace(cell.begin(), cell.end(), '\t', ' ');
    if (cell.empty()) cell = "-";
  }
  rows_.push_back(std::move(cells));
  empty_ = false;
}

std::string Table::take() {
  for (const auto& row : rows_) {
    widths_.resize(std::max(widths_.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], columns(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths_[i] - columns(row[i]) + 2, ' ');
    }
    out += '\n';
  }
  rows_.clear();
  return out;
}

}  // namespace berth::cli
