// berth: runs programs in sandboxes, and keeps the books of it. This file makes the object graph
// and the one event loop; each command has a file of its own.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/run_loop.h"
#include "core/conformance/child.h"
#include "core/store/sqlite/memory.h"
#include "tools/berth/command_line.h"
#include "tools/berth/commands.h"
#include "tools/berth/console.h"
#include "tools/berth/context.h"
#include "tools/berth/interruptions.h"

namespace berth::cli {
namespace {

struct Dispatch {
  Context& context;
  Task<int> operator()(RunOptions& options) { return run_program(context, std::move(options)); }
  Task<int> operator()(ProviderListOptions& options) { return list_providers(context, options); }
  Task<int> operator()(ProviderInspectOptions& options) {
    return inspect_provider(context, std::move(options));
  }
  Task<int> operator()(ProviderExplainOptions& options) {
    return explain_clause(context, std::move(options));
  }
  Task<int> operator()(ProviderNewOptions& options) {
    return new_provider(context, std::move(options));
  }
  Task<int> operator()(ProviderWatchOptions& options) {
    return watch_provider(context, std::move(options));
  }
  Task<int> operator()(IntentsOptions& options) { return show_intents(context, std::move(options)); }
  Task<int> operator()(SessionRetireOptions& options) {
    return retire_session(context, std::move(options));
  }
  Task<int> operator()(ReconcileOptions& options) {
    return reconcile_intents(context, std::move(options));
  }
  Task<int> operator()(DrainOptions& options) {
    return drain_providers(context, std::move(options));
  }
  Task<int> operator()(ProviderCompareOptions& options) {
    return compare_providers(context, std::move(options));
  }
  Task<int> operator()(ReceiptsOptions& options) {
    return show_receipts(context, std::move(options));
  }
  Task<int> operator()(DoctorOptions& options) { return examine(context, std::move(options)); }
  Task<int> operator()(VersionOptions& options) { return show_version(context, options); }
  Task<int> operator()(DocumentPutOptions& options) {
    return put_document(context, std::move(options));
  }
  Task<int> operator()(DocumentListOptions& options) {
    return list_documents(context, std::move(options));
  }
  Task<int> operator()(DocumentShowOptions& options) {
    return show_document(context, std::move(options));
  }
  Task<int> operator()(DocumentRevisionsOptions& options) {
    return list_revisions(context, std::move(options));
  }
  Task<int> operator()(DocumentRunOptions& options) {
    return run_document(context, std::move(options));
  }
  Task<int> operator()(CreditsGrantOptions& options) {
    return grant_credits(context, std::move(options));
  }
  Task<int> operator()(CreditsBalanceOptions& options) {
    return show_balance(context, std::move(options));
  }
  Task<int> operator()(CreditsStatementOptions& options) {
    return show_statement(context, std::move(options));
  }
  Task<int> operator()(ConformanceListOptions& options) {
    return list_conformance(context, std::move(options));
  }
  Task<int> operator()(ConformanceRunOptions& options) {
    return run_conformance(context, std::move(options));
  }
  Task<int> operator()(ConformanceFuzzOptions& options) {
    return fuzz_conformance(context, std::move(options));
  }
  Task<int> operator()(ConformanceExplainOptions& options) {
    return explain_conformance(context, std::move(options));
  }
  Task<int> operator()(ConformanceCompareOptions& options) {
    return compare_conformance(context, std::move(options));
  }
  Task<int> operator()(TemplatesStatusOptions& options) { return show_templates(context, options); }
  Task<int> operator()(TemplatesStopOptions& options) { return stop_templates(context, options); }
};

int run_command(Invocation invocation, Console& console, const EnvironmentLookup& environment) {
  boost::asio::io_context loop(1);
  Cancellation cancellation;
  Interruptions interruptions(loop.get_executor(), cancellation, [&console] {
    console.note("still waiting until the sandbox is confirmed gone; this is bounded, and what "
                 "is not settled by then is kept for 'berth reconcile'");
  });
  Context context{loop.get_executor(), console,
                  environment,         invocation.common,
                  cancellation,        interruptions.first_signal(),
                  [&interruptions] { interruptions.start(); }};
  const bool reads_input = std::holds_alternative<RunOptions>(invocation.command) ||
                           std::holds_alternative<DocumentPutOptions>(invocation.command);
  if (!reads_input) context.watch_signals();
  int exit = to_int(Exit::kInternal);
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::visit(Dispatch{context}, invocation.command),
                        [&](std::exception_ptr exception, int code) {
                          thrown = exception;
                          exit = code;
                          interruptions.stop();
                        });
  run_loop(loop);
  if (thrown) std::rethrow_exception(thrown);
  return exit;
}

int run_line(int argc, char** argv) {
  const EnvironmentLookup environment = [](const char* name) { return std::getenv(name); };
  Console console(environment);
  const WallTime now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  try {
    ParsedLine line = parse_command_line(argc, argv, now);
    if (line.invocation) return run_command(std::move(*line.invocation), console, environment);
    if (!line.out.empty()) {
      const Exit printed = console.print(line.out);
      if (printed != Exit::kSuccess) return to_int(printed);
    }
    console.raw_error(line.err);
    return line.exit;
  } catch (const std::exception& exception) {
    const Error error(ErrorKind::kInternal,
                      std::string("a fault of berth itself: ") + exception.what());
    console.error(error.message());
    if (wants_json(argc, argv))
      (void)console.print(error_document(error, to_int(Exit::kInternal)));
    return to_int(Exit::kInternal);
  }
}

}  // namespace
}  // namespace berth::cli

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == berth::conformance::kChildArgument)
    return berth::conformance::serve_as_child();
  std::signal(SIGPIPE, SIG_IGN);
  (void)berth::sqlite::keep_spare_memory();
  berth::cli::take_standard_descriptors();
  return berth::cli::run_line(argc, argv);
}
