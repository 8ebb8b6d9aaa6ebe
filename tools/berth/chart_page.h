// ChartPage: a page that draws a chart dictionary in any browser, without a network.
//
// The template is made at build time and lies beside the command, built or installed alike: with the
// chart library in it, about 700 KB. What a program wrote is put into it as data only.
#ifndef BERTH_TOOLS_BERTH_CHART_PAGE_H_
#define BERTH_TOOLS_BERTH_CHART_PAGE_H_

#include <boost/json/value.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace berth::cli {

class ChartPage {
 public:
  // kNotFound when this build has no template.
  static Result<ChartPage> load();
  // A template of one's own: it must have {{title}} and {{chart}}, in this order.
  static Result<ChartPage> from(std::string text);

  // The whole file. `chart` is a validated dictionary.
  std::string draw(const boost::json::value& chart, std::string_view title) const;

 private:
  ChartPage() = default;

  std::string head_;    // up to the title
  std::string middle_;  // up to the dictionary
  std::string tail_;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CHART_PAGE_H_
