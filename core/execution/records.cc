#include "core/execution/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <charconv>
#include <map>
#include <utility>

#include "core/base/json.h"
#include "core/execution/chart.h"

namespace berth {
namespace {

namespace json = boost::json;

constexpr std::size_t kHeaderBytesMax = std::size_t{6} << 20;
constexpr std::size_t kNoteBytesMax = 2048;
constexpr std::size_t kNameBytesMax = 512;
constexpr std::size_t kValueBytesMax = 64 * 1024;
constexpr std::size_t kTracebackBytesMax = 256 * 1024;
constexpr std::size_t kDepthMax = 24;

struct Record {
  std::string_view kind;
  std::string_view header;
  std::string_view blob;
};

// At most `bytes_max` bytes, cut between characters. JSON's own reader has checked the UTF-8.
std::string bounded(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return std::string(text.substr(0, end));
}

class RecordReader {
 public:
  explicit RecordReader(std::string_view file) : rest_(file), size_(file.size()) {}

  std::size_t offset() const { return size_ - rest_.size(); }
  bool at_end() const { return rest_.empty(); }

  Result<std::string_view> line(std::size_t bytes_max) {
    const std::size_t end = rest_.substr(0, bytes_max).find('\n');
    if (end == std::string_view::npos) return broken("a line has no end");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  Result<Record> record() {
    BERTH_TRY(const std::string_view head, line(64));
    const std::size_t first = head.find(' ');
    const std::size_t second = first == head.npos ? head.npos : head.find(' ', first + 1);
    if (second == head.npos) return broken("a record does not begin with kind and sizes");
    Record record;
    record.kind = head.substr(0, first);
    BERTH_TRY(const std::size_t header,
              size(head.substr(first + 1, second - first - 1), kHeaderBytesMax));
    BERTH_TRY(const std::size_t blob, size(head.substr(second + 1), kFigureBytesMax));
    BERTH_TRY(record.header, block(header));
    BERTH_TRY(record.blob, block(blob));
    return record;
  }

 private:
  static tl::unexpected<Error> broken(std::string message) {
    return fail(ErrorKind::kCorrupt, std::move(message));
  }

  static Result<std::size_t> size(std::string_view digits, std::size_t most) {
    std::size_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) {
      return broken("a size is not a number");
    }
    if (value > most) return broken(fmt::format("a record has {} bytes, at most {} are read", value, most));
    return value;
  }

  Result<std::string_view> block(std::size_t bytes) {
    if (rest_.size() < bytes + 1 || rest_[bytes] != '\n') return broken("a record is cut off");
    const std::string_view text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes + 1);
    return text;
  }

  std::string_view rest_;
  std::size_t size_;
};

class Collector {
 public:
  // An error spoils this record alone.
  Status take(const Record& record) {
    const JsonBounds bounds{kHeaderBytesMax, kDepthMax};
    BERTH_TRY(const json::value header, parse_json(record.header, bounds));
    if (!header.is_object()) return fail(ErrorKind::kCorrupt, "a record is not an object");
    const json::object& object = header.get_object();
    if (record.kind == "result") return take_result(object);
    if (record.kind == "chart") return take_chart(header, record.header.size());
    if (record.kind == "figure") return take_figure(object, record.blob);
    if (record.kind == "error") return take_error(object);
    if (record.kind == "note") return take_note(object);
    if (record.kind == "end") {
      records_.complete = true;
      return {};
    }
    return fail(ErrorKind::kCorrupt, "a record is of no known kind");
  }

  void note(std::string text) {
    if (records_.notes.size() < kNotesMax) records_.notes.push_back(std::move(text));
  }

  ProgramRecords finish() {
    for (auto& [place, chart] : figures_) records_.charts.push_back(std::move(chart));
    return std::move(records_);
  }

 private:
  Status take_result(const json::object& object) {
    ResultValue value;
    BERTH_TRY(value.name, json_string(object, "name", "result"));
    if (value.name != "result" && value.name != "results" && value.name != "return") {
      return fail(ErrorKind::kCorrupt, "a result has no known name");
    }
    BERTH_TRY(const std::string text, json_string(object, "text", "result"));
    BERTH_TRY(value.truncated, json_bool(object, "truncated", "result"));
    value.text = bounded(text, kResultTextMax);
    value.truncated = value.truncated || value.text.size() < text.size();
    if (const json::value* plain = object.if_contains("json")) value.json = *plain;
    records_.result = std::move(value);
    return {};
  }

  Status take_chart(const json::value& header, std::size_t bytes) {
    if (bytes > kChartBytesMax) {
      note(fmt::format("chart is too large: {} bytes as JSON, at most {} are kept", bytes, kChartBytesMax));
      return {};
    }
    Result<json::value> checked = validate_chart(header);
    if (!checked) {
      note("chart was not used: " + checked.error().message());
      return {};
    }
    Chart chart;
    chart.format = Chart::Format::kInteractive;
    chart.data = std::move(*checked);
    if (!records_.charts.empty()) records_.charts.clear();
    records_.charts.push_back(std::move(chart));
    return {};
  }

  Status take_figure(const json::object& object, std::string_view blob) {
    BERTH_TRY(const std::int64_t order, json_int(object, "order", "figure"));
    BERTH_TRY(const std::int64_t part, json_int(object, "part", "figure"));
    BERTH_TRY(const std::string label, json_string(object, "label", "figure"));
    BERTH_TRY(const PngSize size, png_size(blob));
    const std::pair<std::int64_t, std::int64_t> place(order, part);
    const auto known = figures_.find(place);
    const std::size_t before = known == figures_.end() ? 0 : known->second.png.size();
    if (figure_bytes_ - before + blob.size() > kFiguresBytesMax) {
      return fail(ErrorKind::kLimit, "the figures together are too large");
    }
    if (known == figures_.end() && figures_.size() >= kFiguresMax) {
      return fail(ErrorKind::kLimit, "there are too many figures");
    }
    figure_bytes_ += blob.size() - before;
    Chart& chart = figures_[place];
    chart.format = Chart::Format::kPng;
    chart.png.assign(blob);
    chart.width = size.width;
    chart.height = size.height;
    chart.label = bounded(label, kNameBytesMax);
    return {};
  }

  Status take_error(const json::object& object) {
    ProgramError error;
    BERTH_TRY(const std::string name, json_string(object, "name", "error"));
    BERTH_TRY(const std::string value, json_string(object, "value", "error"));
    BERTH_TRY(const std::string traceback, json_string(object, "traceback", "error"));
    error.name = bounded(name, kNameBytesMax);
    error.value = bounded(value, kValueBytesMax);
    error.traceback = bounded(traceback, kTracebackBytesMax);
    records_.error = std::move(error);
    return {};
  }

  Status take_note(const json::object& object) {
    BERTH_TRY(const std::string text, json_string(object, "text", "note"));
    note(bounded(text, kNoteBytesMax));
    return {};
  }

  ProgramRecords records_;
  std::map<std::pair<std::int64_t, std::int64_t>, Chart> figures_;
  std::size_t figure_bytes_ = 0;
};

}  // namespace

ProgramRecords read_records(std::string_view file, std::string_view nonce) {
  Collector collector;
  if (file.empty()) {
    collector.note("what the program left could not be written: its file system may be full");
    return collector.finish();
  }
  RecordReader reader(file);
  const auto stop = [&](const std::string& why) {
    collector.note(fmt::format("what the program left is not read beyond byte {}: {}", reader.offset(), why));
    return collector.finish();
  };
  const Result<std::string_view> first = reader.line(256);
  if (!first || *first != "berth-result 1 " + std::string(nonce)) {
    return stop("it does not belong to this run");
  }
  // Every record takes at least five bytes, so the loop is bounded by the file's own bound.
  while (!reader.at_end()) {
    const Result<Record> record = reader.record();
    if (!record) return stop(record.error().message());
    const Status taken = collector.take(*record);
    if (!taken) collector.note("a part of what the program left is not used: " + taken.error().message());
  }
  return collector.finish();
}

}  // namespace berth
