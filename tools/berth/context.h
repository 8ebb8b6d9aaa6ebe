// What every command works with. `main` makes it and owns it.
#ifndef BERTH_TOOLS_BERTH_CONTEXT_H_
#define BERTH_TOOLS_BERTH_CONTEXT_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "core/lifecycle/cancellation.h"
#include "tools/berth/console.h"
#include "tools/berth/failure.h"
#include "tools/berth/options.h"
#include "tools/berth/paths.h"

namespace berth::cli {

struct Context {
  boost::asio::any_io_executor executor;  // of the one event loop
  Console& console;
  EnvironmentLookup environment;
  CommonOptions common;
  // Rises with SIGINT, SIGTERM, SIGHUP and SIGQUIT; interrupted_by says which came first.
  Cancellation& cancellation;
  const int& interrupted_by;  // 0: none
  // Called once everything that may block is read: before that, a signal just ends the process.
  std::function<void()> watch_signals;
};

// Prints a document for --json, indented, with a newline at its end.
Exit print_json(Console& console, const boost::json::value& document);

// The {"error": {...}} document of --json, indented, with a newline at its end.
std::string error_document(const Error& error, int exit);

// Says a failure: in words on standard error, and with --json also as {"error": {...}} on standard
// output. Returns the code to end with.
int report(const Context& context, const Failure& failure);
// The same for a command with codes of its own.
int report(const Context& context, const Error& error, int exit);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_CONTEXT_H_
