#include "core/execution/chart.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>

namespace berth {
namespace {

namespace json = boost::json;

constexpr std::size_t kElementsMax = 10'000;

bool is_number(const json::value& value) { return value.is_number() && !value.is_bool(); }
bool is_measure(const json::value& value) { return is_number(value) || value.is_null(); }
bool is_position(const json::value& value) { return is_measure(value) || value.is_string(); }

tl::unexpected<Error> bad_chart(std::string message) {
  return fail(ErrorKind::kInvalidArgument, std::move(message));
}

// Copies an optional text field; anything but text or null is an error.
Status copy_text(const json::object& from, std::string_view key, std::string_view where,
                 json::object& to) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_string()) return bad_chart(fmt::format("{}{} is not text", where, key));
  to[key] = *value;
  return {};
}

Status require_text(const json::object& from, std::string_view key, std::string_view where,
                    json::object& to) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr || value->is_null()) return bad_chart(fmt::format("{}{} is missing", where, key));
  return copy_text(from, key, where, to);
}

Result<json::value> checked_series(const json::object& series, const std::string& where) {
  json::object out;
  BERTH_CHECK_OK(require_text(series, "label", where + ".", out));
  const json::value* points = series.if_contains("points");
  if (points == nullptr || !points->is_array()) return bad_chart(where + ".points is not a list");
  json::array kept;
  kept.reserve(points->get_array().size());
  for (const json::value& point : points->get_array()) {
    const json::array* pair = point.if_array();
    if (pair == nullptr || pair->size() != 2) {
      return bad_chart(fmt::format("{}.points[{}] is not a pair", where, kept.size()));
    }
    if (!is_position((*pair)[0]) || !is_measure((*pair)[1])) {
      return bad_chart(fmt::format("{}.points[{}] is not [number or text, number]", where, kept.size()));
    }
    kept.push_back(point);
  }
  out["points"] = std::move(kept);
  return json::value(std::move(out));
}

Result<json::value> checked_bar(const json::object& bar, const std::string& where) {
  json::object out;
  BERTH_CHECK_OK(copy_text(bar, "group", where + ".", out));
  BERTH_CHECK_OK(require_text(bar, "label", where + ".", out));
  const json::value* value = bar.if_contains("value");
  if (value == nullptr || !is_measure(*value)) return bad_chart(where + ".value is not a number");
  out["value"] = *value;
  return json::value(std::move(out));
}

Status check_scale(const json::object& chart, json::object& out) {
  const json::value* scale = chart.if_contains("x_scale");
  if (scale == nullptr) return {};
  if (!scale->is_null() && *scale != json::value("datetime")) {
    return bad_chart("x_scale is neither \"datetime\" nor None");
  }
  out["x_scale"] = *scale;
  return {};
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = (value << 8) | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

}  // namespace

Result<json::value> validate_chart(const json::value& value) {
  const json::object* chart = value.if_object();
  if (chart == nullptr) return bad_chart("it is not a dictionary");
  const json::value* type = chart->if_contains("type");
  if (type == nullptr || !type->is_string()) return bad_chart("type is missing");
  const std::string kind(type->get_string());
  if (kind != "line" && kind != "scatter" && kind != "bar") {
    return bad_chart(fmt::format("type \"{}\" is none of line, scatter and bar", kind.substr(0, 40)));
  }
  json::object out;
  out["type"] = kind;
  for (const char* key : {"title", "x_label", "y_label"}) {
    BERTH_CHECK_OK(copy_text(*chart, key, "", out));
  }
  if (kind != "bar") BERTH_CHECK_OK(check_scale(*chart, out));
  const json::value* elements = chart->if_contains("elements");
  if (elements == nullptr || !elements->is_array()) return bad_chart("elements is not a list");
  if (elements->get_array().size() > kElementsMax) {
    return bad_chart(fmt::format("elements has more than {} entries", kElementsMax));
  }
  json::array kept;
  for (const json::value& element : elements->get_array()) {
    const std::string where = fmt::format("elements[{}]", kept.size());
    const json::object* object = element.if_object();
    if (object == nullptr) return bad_chart(where + " is not a dictionary");
    BERTH_TRY(json::value checked,
              kind == "bar" ? checked_bar(*object, where) : checked_series(*object, where));
    kept.push_back(std::move(checked));
  }
  out["elements"] = std::move(kept);
  return json::value(std::move(out));
}

Result<PngSize> png_size(std::string_view file) {
  constexpr std::string_view kStart("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  constexpr std::string_view kEnd("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
  constexpr std::size_t kLeast = 8 + 25 + 12;
  if (file.size() < kLeast || file.substr(0, kStart.size()) != kStart ||
      file.substr(file.size() - kEnd.size()) != kEnd) {
    return bad_chart("it is not a whole PNG file");
  }
  const PngSize size{big_endian(file, 16), big_endian(file, 20)};
  constexpr std::uint32_t kSideMax = 65'535;
  if (size.width == 0 || size.height == 0 || size.width > kSideMax || size.height > kSideMax) {
    return bad_chart(fmt::format("it claims {} x {} pixels", size.width, size.height));
  }
  return size;
}

}  // namespace berth
