#include "tools/berth/record_printer.h"

#include <utility>

#include "core/base/json.h"
#include "tools/berth/csv.h"

namespace berth::cli {

ListFormat list_format(bool json, const std::string& format) {
  if (json) return ListFormat::kJson;
  if (format == "jsonl") return ListFormat::kJsonLines;
  return format == "csv" ? ListFormat::kCsv : ListFormat::kTable;
}

RecordPrinter::RecordPrinter(Console& console, ListFormat format, Columns columns)
    : console_(console), format_(format), table_(std::move(columns.table)) {
  if (format_ == ListFormat::kCsv) text_ = csv_line(columns.csv);
  if (format_ == ListFormat::kJson) {
    text_ = "{\n  " + to_json_text(boost::json::value(columns.json_name)) + ": [";
  }
}

void RecordPrinter::add_row(std::vector<std::string> cells) {
  if (format_ == ListFormat::kCsv) {
    text_ += csv_line(cells);
  } else {
    table_.add(std::move(cells));
  }
}

void RecordPrinter::add(const boost::json::object& record) {
  if (format_ == ListFormat::kJson) text_ += first_ ? "\n    " : ",\n    ";
  text_ += to_json_text(record);
  if (format_ == ListFormat::kJsonLines) text_ += '\n';
  first_ = false;
}

Exit RecordPrinter::flush() {
  if (format_ == ListFormat::kTable && !table_.empty()) text_ = table_.take();
  const std::string text = std::exchange(text_, {});
  begun_ = begun_ || !text.empty();
  return text.empty() ? Exit::kSuccess : console_.print(text);
}

Exit RecordPrinter::end(const std::string& nothing) {
  if (format_ == ListFormat::kTable && table_.empty()) {
    console_.note(nothing);
    return Exit::kSuccess;
  }
  if (format_ == ListFormat::kJson) text_ += first_ ? "]\n}\n" : "\n  ]\n}\n";
  return flush();
}

}  // namespace berth::cli
