#include "core/execution/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <utility>

#include "core/base/json.h"
#include "core/execution/base64.h"
#include "core/execution/output.h"

namespace berth {
namespace {

namespace json = boost::json;

json::value or_null(const std::optional<int>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::object stream_json(const OutputText& stream) {
  return {{"bytes", stream.bytes},
          {"truncated", stream.truncated},
          {"omitted_bytes", stream.omitted_bytes}};
}

json::value error_json(const std::optional<ProgramError>& error) {
  if (!error) return nullptr;
  return json::object{
      {"name", error->name}, {"value", error->value}, {"traceback", error->traceback}};
}

// Everything but chart, receipt, failure, intent and replayed.
json::object own_json(const ExecutionResult& result) {
  json::array charts;
  for (const Chart& chart : result.charts) charts.push_back(to_json(chart));
  json::array notes;
  for (const std::string& note : result.notes) notes.emplace_back(note);
  json::object timings;
  for (const auto& [phase, microseconds] : result.timings_us) timings[phase] = microseconds;
  json::object own = {{"version", 1},
          {"status", to_string(result.status)},
          {"message", result.message},
          {"stdout", result.stdout_text.text},
          {"stderr", result.stderr_text.text},
          {"streams", json::object{{"stdout", stream_json(result.stdout_text)},
                                   {"stderr", stream_json(result.stderr_text)}}},
          {"result", result.result ? json::value(to_json(*result.result)) : json::value(nullptr)},
          {"charts", std::move(charts)},
          {"error", error_json(result.error)},
          {"notes", std::move(notes)},
          {"exit_code", or_null(result.exit_code)},
          {"signal", or_null(result.signal)},
          {"cause", to_string(result.cause)},
          {"timings", std::move(timings)}};
  if (result.simulated) own["simulated"] = true;
  return own;
}

// ---- reading back

using Object = json::object;

Result<OutputText> read_stream(const Object& document, std::string_view name) {
  OutputText stream;
  BERTH_TRY(stream.text, json_string(document, name, "result"));
  BERTH_TRY(const Object* streams, json_object(document, "streams", "result"));
  BERTH_TRY(const Object* counts, json_object(*streams, name, "result.streams"));
  BERTH_TRY(const std::int64_t bytes, json_int(*counts, "bytes", name));
  BERTH_TRY(const std::int64_t omitted, json_int(*counts, "omitted_bytes", name));
  BERTH_TRY(stream.truncated, json_bool(*counts, "truncated", name));
  stream.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  stream.omitted_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(omitted, 0));
  return stream;
}

Result<Chart> read_chart(const json::value& value) {
  const Object* object = value.if_object();
  if (object == nullptr) return fail(ErrorKind::kCorrupt, "a chart is not an object");
  Chart chart;
  BERTH_TRY(const std::string format, json_string(*object, "format", "chart"));
  if (format == "interactive") {
    BERTH_TRY(const Object* data, json_object(*object, "data", "chart"));
    chart.format = Chart::Format::kInteractive;
    chart.data = *data;
    return chart;
  }
  BERTH_TRY(const std::string base64, json_string(*object, "base64", "chart"));
  BERTH_TRY(chart.png, from_base64(base64));
  BERTH_TRY(chart.label, json_string(*object, "label", "chart"));
  BERTH_TRY(const std::int64_t width, json_int(*object, "width", "chart"));
  BERTH_TRY(const std::int64_t height, json_int(*object, "height", "chart"));
  chart.width = static_cast<std::uint32_t>(width);
  chart.height = static_cast<std::uint32_t>(height);
  return chart;
}

Status read_lists(const Object& document, ExecutionResult& result) {
  BERTH_TRY(const json::array* charts, json_array(document, "charts", "result"));
  for (const json::value& value : *charts) {
    BERTH_TRY(Chart chart, read_chart(value));
    result.charts.push_back(std::move(chart));
  }
  BERTH_TRY(const json::array* notes, json_array(document, "notes", "result"));
  for (const json::value& note : *notes) {
    if (note.is_string()) result.notes.emplace_back(note.get_string());
  }
  BERTH_TRY(const Object* timings, json_object(document, "timings", "result"));
  for (const auto& [phase, value] : *timings) {
    if (value.is_int64()) result.timings_us.emplace_back(phase, value.get_int64());
  }
  return {};
}

Status read_values(const Object& document, ExecutionResult& result) {
  const json::value* value = document.if_contains("result");
  if (value != nullptr && value->is_object()) {
    ResultValue read;
    const Object& object = value->get_object();
    BERTH_TRY(read.name, json_string(object, "name", "result.result"));
    BERTH_TRY(read.text, json_string(object, "text", "result.result"));
    BERTH_TRY(read.truncated, json_bool(object, "truncated", "result.result"));
    if (const json::value* plain = object.if_contains("json")) read.json = *plain;
    result.result = std::move(read);
  }
  const json::value* error = document.if_contains("error");
  if (error != nullptr && error->is_object()) {
    ProgramError read;
    const Object& object = error->get_object();
    BERTH_TRY(read.name, json_string(object, "name", "result.error"));
    BERTH_TRY(read.value, json_string(object, "value", "result.error"));
    BERTH_TRY(read.traceback, json_string(object, "traceback", "result.error"));
    result.error = std::move(read);
  }
  return {};
}

std::optional<int> read_int(const Object& document, std::string_view key) {
  const json::value* value = document.if_contains(key);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return static_cast<int>(value->get_int64());
}

constexpr std::array kStatuses = {ExecutionStatus::kCompleted, ExecutionStatus::kFailed,
                                  ExecutionStatus::kCancelled,
                                  ExecutionStatus::kInfrastructureError};
constexpr std::array kCauses = {Cause::kUnknown, Cause::kExited, Cause::kSignalled, Cause::kOom,
                                Cause::kWall,    Cause::kCpu,    Cause::kOutput,    Cause::kDisk,
                                Cause::kCancelled, Cause::kLost};

// Halves what is kept of a stream.
void shorten(OutputText& stream) {
  KeptOutput kept(std::max<std::size_t>(stream.text.size() / 2, 1024));
  kept.append(stream.text);
  OutputText shorter = kept.text();
  stream.omitted_bytes = std::min(stream.bytes, stream.omitted_bytes + shorter.omitted_bytes);
  stream.truncated = stream.truncated || shorter.truncated;
  stream.text = std::move(shorter.text);
}

}  // namespace

std::string_view to_string(ExecutionStatus status) {
  switch (status) {
    case ExecutionStatus::kCompleted: return "completed";
    case ExecutionStatus::kFailed: return "failed";
    case ExecutionStatus::kCancelled: return "cancelled";
    case ExecutionStatus::kInfrastructureError: return "infrastructure_error";
  }
  return "infrastructure_error";
}

std::string_view to_string(ExecutionFailure::Kind kind) {
  switch (kind) {
    case ExecutionFailure::Kind::kInvalidRequest: return "invalid_request";
    case ExecutionFailure::Kind::kRefused: return "refused";
    case ExecutionFailure::Kind::kUncertain: return "uncertain";
    case ExecutionFailure::Kind::kDeadline: return "deadline";
    case ExecutionFailure::Kind::kInfrastructure: return "infrastructure";
    case ExecutionFailure::Kind::kCancelled: return "cancelled";
  }
  return "infrastructure";
}

json::object to_json(const Chart& chart) {
  if (chart.format == Chart::Format::kInteractive) {
    return {{"format", "interactive"}, {"data", chart.data}};
  }
  return {{"format", "png"},
          {"base64", to_base64(chart.png)},
          {"width", chart.width},
          {"height", chart.height},
          {"label", chart.label}};
}

json::object to_json(const ResultValue& value) {
  json::object out{{"name", value.name}, {"text", value.text}, {"truncated", value.truncated}};
  if (value.json) out["json"] = *value.json;
  return out;
}

json::object to_json(const ExecutionResult& result) {
  json::object out = own_json(result);
  const Chart* chart = result.chart();
  out["chart"] = chart == nullptr ? json::value(nullptr) : json::value(to_json(*chart));
  out["failure"] = nullptr;
  if (result.failure) {
    out["failure"] = json::object{{"kind", to_string(result.failure->kind)},
                                  {"message", to_valid_utf8(result.failure->message)}};
  }
  out["intent"] = result.intent.empty() ? json::value(nullptr) : json::value(result.intent);
  out["receipt"] = result.receipt ? json::value(to_json(*result.receipt)) : json::value(nullptr);
  out["replayed"] = result.replayed;
  return out;
}

Result<ExecutionResult> execution_result_from_json(std::string_view text) {
  BERTH_TRY(const json::value value, parse_json(text, {std::size_t{64} << 20, 64}));
  if (!value.is_object()) return fail(ErrorKind::kCorrupt, "the result document is not an object");
  const Object& document = value.get_object();
  BERTH_TRY(const std::int64_t version, json_int(document, "version", "result"));
  if (version != 1) {
    return fail(ErrorKind::kCorrupt, fmt::format("the result document has version {}", version));
  }
  ExecutionResult result;
  BERTH_TRY(const std::string status, json_string(document, "status", "result"));
  for (const ExecutionStatus known : kStatuses) {
    if (to_string(known) == status) result.status = known;
  }
  BERTH_TRY(const std::string cause, json_string(document, "cause", "result"));
  for (const Cause known : kCauses) {
    if (to_string(known) == cause) result.cause = known;
  }
  BERTH_TRY(result.message, json_string(document, "message", "result"));
  BERTH_TRY(result.stdout_text, read_stream(document, "stdout"));
  BERTH_TRY(result.stderr_text, read_stream(document, "stderr"));
  BERTH_CHECK_OK(read_values(document, result));
  BERTH_CHECK_OK(read_lists(document, result));
  result.exit_code = read_int(document, "exit_code");
  result.signal = read_int(document, "signal");
  const json::value* simulated = document.if_contains("simulated");
  result.simulated = simulated != nullptr && simulated->is_bool() && simulated->get_bool();
  return result;
}

std::string bounded_document(ExecutionResult& result) {
  std::string text = to_json_text(own_json(result));
  bool noted = false;
  // Each turn removes a chart or halves the streams, so it ends.
  while (text.size() > kDocumentBytesMax) {
    if (!result.charts.empty()) {
      result.charts.pop_back();
      if (!noted) result.notes.emplace_back("charts were left out: the whole result is too large");
      noted = true;
    } else if (result.result && result.result->json) {
      result.result->json.reset();
    } else {
      shorten(result.stdout_text);
      shorten(result.stderr_text);
      result.message = abridge(result.message, result.message.size() / 2);
    }
    text = to_json_text(own_json(result));
  }
  return text;
}

}  // namespace berth
