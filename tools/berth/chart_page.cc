#include "tools/berth/chart_page.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/json.h"
#include "core/os/fd.h"
#include "core/os/process.h"

namespace berth::cli {
namespace {

constexpr std::size_t kTemplateBytesMax = std::size_t{8} << 20;
constexpr std::string_view kTitleMark = "{{title}}";
constexpr std::string_view kChartMark = "{{chart}}";

// Text inside an element.
std::string to_html(std::string_view text) {
  std::string out;
  for (const char character : to_valid_utf8(text)) {
    switch (character) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '\0': break;
      default: out += character;
    }
  }
  return out;
}

// JSON inside a script element: the same value, without a character that could end the element.
std::string to_script_data(const boost::json::value& value) {
  std::string out;
  for (const char character : to_json_text(value)) {
    switch (character) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += character;
    }
  }
  return out;
}

}  // namespace

Result<ChartPage> ChartPage::load() {
  const auto path =
      (os::executable_folder() / "../share/berth/chart/page.html").lexically_normal();
  auto text = os::read_file(path, kTemplateBytesMax);
  if (!text) {
    return fail(text.error().with(
        "this berth was built without the page that draws charts (it needs node and npm)"));
  }
  auto page = from(std::move(*text));
  if (!page) return fail(page.error().with(fmt::format("'{}'", path.string())));
  return page;
}

Result<ChartPage> ChartPage::from(std::string text) {
  const std::size_t title = text.find(kTitleMark);
  const std::size_t chart =
      title == std::string::npos ? title : text.find(kChartMark, title + kTitleMark.size());
  if (chart == std::string::npos) {
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("is no template of a chart page: it lacks {} and {} in this order",
                            kTitleMark, kChartMark));
  }
  ChartPage page;
  page.head_ = text.substr(0, title);
  page.middle_ = text.substr(title + kTitleMark.size(), chart - title - kTitleMark.size());
  page.tail_ = text.substr(chart + kChartMark.size());
  return page;
}

std::string ChartPage::draw(const boost::json::value& chart, std::string_view title) const {
  return head_ + to_html(title) + middle_ + to_script_data(chart) + tail_;
}

}  // namespace berth::cli
