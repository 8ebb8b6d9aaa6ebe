// A plain table for people: columns as wide as they need, two spaces between them.
#ifndef BERTH_TOOLS_BERTH_TABLE_H_
#define BERTH_TOOLS_BERTH_TABLE_H_

#include <string>
#include <vector>

namespace berth::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> head) : rows_{std::move(head)} {}
  // As many cells as the head has. Foreign text is made printable.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.size() == 1; }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_TABLE_H_
