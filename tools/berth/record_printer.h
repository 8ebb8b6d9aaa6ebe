// Long lists on standard output, page by page: what is printed is not held.
#ifndef BERTH_TOOLS_BERTH_RECORD_PRINTER_H_
#define BERTH_TOOLS_BERTH_RECORD_PRINTER_H_

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "tools/berth/console.h"
#include "tools/berth/table.h"

namespace berth::cli {

enum class ListFormat { kTable, kJson, kJsonLines, kCsv };
// "jsonl", "csv", anything else is a table; with --json one document.
ListFormat list_format(bool json, const std::string& format);

// One list in one of the formats: begin, any number of adds and flushes, end.
class RecordPrinter {
 public:
  struct Columns {
    std::string json_name;  // of the array in the document
    std::vector<std::string> table;
    std::vector<std::string> csv;
  };
  RecordPrinter(Console& console, ListFormat format, Columns columns);

  ListFormat format() const { return format_; }
  // Adds one record; which of these is called must follow the format.
  void add_row(std::vector<std::string> cells);  // kTable and kCsv
  void add(const boost::json::object& record);   // kJson and kJsonLines

  // True once something stands on standard output, which an error must not run into.
  bool begun() const { return begun_; }

  // What was added since the last flush. Anything but kSuccess: print no more.
  Exit flush();
  // The rest, and what closes the list. `nothing` is said where a table would have no rows.
  Exit end(const std::string& nothing);

 private:
  Console& console_;
  ListFormat format_;
  Table table_;
  std::string text_;
  bool first_ = true;
  bool begun_ = false;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_RECORD_PRINTER_H_
