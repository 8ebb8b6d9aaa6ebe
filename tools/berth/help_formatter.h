// Help in lines of at most 80 columns.
#ifndef BERTH_TOOLS_BERTH_HELP_FORMATTER_H_
#define BERTH_TOOLS_BERTH_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace berth::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
};

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_HELP_FORMATTER_H_
