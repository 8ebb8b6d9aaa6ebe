#include "tools/berth/csv.h"

namespace berth::cli {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char character : text) {
    if (character == '"') out += '"';
    out += character;
  }
  return out + "\"";
}

}  // namespace

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  bool first = true;
  for (const std::string& field : fields) {
    line += (first ? "" : ",") + csv_field(field);
    first = false;
  }
  return line + "\r\n";
}

}  // namespace berth::cli
