// A plain table for people: columns as wide as they need, two spaces between them.
#ifndef BERTH_TOOLS_BERTH_TABLE_H_
#define BERTH_TOOLS_BERTH_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace berth::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  // As many cells as the head has. Foreign text is made printable.
  void add(std::vector<std::string> cells);
  // True while no row was added.
  bool empty() const { return empty_; }
  // Everything that was added since the last take; the head comes with the first. A long table is
  // taken in pieces: columns may grow from one to the next, they never shrink.
  std::string take();

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
  bool empty_ = true;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_TABLE_H_
