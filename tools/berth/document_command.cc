// berth document: programs that are kept revision by revision, and run by their ids alone.
#include "core/execution/documents.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "tools/berth/commands.h"
#include "tools/berth/host.h"
#include "tools/berth/program_source.h"
#include "tools/berth/record_printer.h"
#include "tools/berth/record_source.h"
#include "tools/berth/run_execution.h"
#include "tools/berth/run_observer.h"
#include "tools/berth/run_report.h"

namespace berth::cli {
namespace {

constexpr std::size_t kDocumentsPage = 500;

Failure document_failure(Error error) {
  Exit exit = Exit::kInternal;
  switch (error.kind()) {
    case ErrorKind::kInvalidArgument:
    case ErrorKind::kNotFound:
    case ErrorKind::kLimit:
      exit = Exit::kInput;
      break;
    case ErrorKind::kConflict:
    case ErrorKind::kRefused:
      exit = Exit::kRefused;
      break;
    case ErrorKind::kUnavailable:
      exit = Exit::kProvider;
      break;
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
      exit = Exit::kInfrastructure;
      break;
    case ErrorKind::kCorrupt:
    case ErrorKind::kIo:
    case ErrorKind::kUnknownOutcome:
      exit = Exit::kState;
      break;
    case ErrorKind::kInternal:
      break;
  }
  return {exit, std::move(error)};
}

template <class Options>
DocumentPlace place_of(const Options& options) {
  return {chosen_owner(options.owner), chosen_session(options.session), options.id};
}

// Opens the host, works with it, closes it.
Task<int> with_host(Context& context, std::function<Task<Tried<Exit>>(Host&)> work) {
  auto host = Host::open(context);
  if (!host) co_return report(context, host.error());
  auto done = co_await work(**host);
  co_await (*host)->close();
  if (!done) co_return report(context, done.error());
  co_return to_int(*done);
}

// The same with the store alone, for what only looks.
Task<int> with_records(Context& context, std::function<Task<Tried<Exit>>(Store&)> work) {
  auto records = RecordSource::open(context);
  if (!records) co_return report(context, records.error());
  auto done = co_await work((*records)->store());
  co_await (*records)->close();
  if (!done) co_return report(context, done.error());
  co_return to_int(*done);
}

std::string language_word(const DocumentRevision& revision) {
  const auto language = language_of_file(revision.title);
  return language ? std::string(to_string(*language)) : "other";
}

// ---- put

Tried<PutDocument> read_put(const DocumentPutOptions& options) {
  PutDocument put;
  put.owner = chosen_owner(options.owner);
  put.session = chosen_session(options.session);
  put.document_id = options.id;
  put.title = options.title;
  if (!put.title && options.id.empty()) {
    if (options.file == "-")
      return failed(Exit::kUsage,
                    Error(ErrorKind::kInvalidArgument,
                          "a new document from standard input needs --title, such as chart.py"));
    put.title = std::filesystem::path(options.file).filename();
  }
  auto code = read_text_of(options.file, kDocumentCodeBytesMax);
  if (!code) return failed(Exit::kInput, std::move(code).error());
  put.code = std::move(*code);
  return put;
}

Task<Tried<Exit>> put_on(Context& context, Host& host, PutDocument put) {
  auto result = co_await berth::put_document(host.store(), std::move(put), wall_now());
  if (!result) co_return tl::unexpected<Failure>(document_failure(std::move(result).error()));
  const DocumentRevision& revision = result->revision;
  if (context.common.json) {
    boost::json::object document = berth::to_json(revision);
    document["unchanged"] = result->unchanged;
    co_return print_json(context.console, document);
  }
  context.console.note(fmt::format("'{}' {} revision {} of document {}", revision.title,
                                   result->unchanged ? "is already" : "is now", revision.number,
                                   revision.document_id));
  co_return context.console.print(fmt::format("{} {}\n", revision.document_id, revision.id));
}

// ---- list, revisions

Task<Tried<Exit>> list_on(Context& context, Store& store, const DocumentListOptions& options) {
  RecordPrinter printer(context.console, list_format(context.common.json, {}),
                        {"documents", {"DOCUMENT", "REVISIONS", "LANGUAGE", "SAVED", "TITLE"}, {}});
  DocumentFilter filter;
  filter.owner = chosen_owner(options.owner);
  filter.session = chosen_session(options.session);
  filter.count_max = kDocumentsPage;
  // Ends with the documents, of which a session has a bounded number.
  for (;;) {
    auto page = co_await berth::list_documents(store, filter);
    if (!page) co_return tl::unexpected<Failure>(document_failure(std::move(page).error()));
    for (const DocumentSummary& summary : *page) {
      const DocumentRevision& latest = summary.latest;
      if (printer.format() == ListFormat::kJson) {
        boost::json::object row = berth::to_json(latest);
        row["document_created_at"] = to_rfc3339(summary.document.created_at);
        printer.add(row);
      } else {
        printer.add_row({latest.document_id, std::to_string(latest.number), language_word(latest),
                         to_rfc3339(latest.created_at), latest.title});
      }
    }
    if (page->size() < kDocumentsPage) break;
    filter.after_id = page->back().document.id;
  }
  co_return printer.end("there are no documents");
}

Task<Tried<Exit>> revisions_on(Context& context, Store& store,
                               const DocumentRevisionsOptions& options) {
  RecordPrinter printer(context.console, list_format(context.common.json, {}),
                        {"revisions", {"NUMBER", "REVISION", "SAVED", "BYTES", "TITLE"}, {}});
  std::uint32_t after = 0;
  // Ends with the revisions, of which a document has a bounded number.
  for (;;) {
    auto page = co_await berth::list_revisions(store, place_of(options), after, kDocumentsPage);
    if (!page) co_return tl::unexpected<Failure>(document_failure(std::move(page).error()));
    for (const DocumentRevision& revision : *page) {
      if (printer.format() == ListFormat::kJson) {
        printer.add(berth::to_json(revision));
      } else {
        printer.add_row({std::to_string(revision.number), revision.id,
                         to_rfc3339(revision.created_at), std::to_string(revision.bytes),
                         revision.title});
      }
    }
    if (page->size() < kDocumentsPage) break;
    after = page->back().number;
  }
  co_return printer.end("there are no revisions");
}

// ---- show

boost::json::value run_json(const std::optional<RecordedRun>& run) {
  if (!run) return nullptr;
  boost::json::object out;
  out["call"] = run->run.key.call;
  out["at"] = to_rfc3339(run->run.at);
  out["intent"] = run->intent;
  out["state"] = to_string(run->state);
  out["receipt"] = nullptr;
  if (run->receipt) out["receipt"] = berth::to_json(*run->receipt);
  out["result"] = nullptr;
  if (run->result) out["result"] = berth::to_json(*run->result);
  return out;
}

Exit print_run(Console& console, const DocumentRevision& revision,
               const std::optional<RecordedRun>& run) {
  if (!run) {
    console.note(fmt::format("revision {} of '{}' was never run", revision.number, revision.title));
    return Exit::kFinding;
  }
  console.note(
      fmt::format("revision {} of '{}' ran {} as call '{}': {}", revision.number, revision.title,
                  to_rfc3339(run->run.at), run->run.key.call,
                  run->receipt ? to_string(run->receipt->settlement) : to_string(run->state)));
  if (!run->result) {
    console.note("no result of it is kept");
    return Exit::kSuccess;
  }
  std::string message = run->result->message;
  if (!message.empty() && !message.ends_with('\n')) message += '\n';
  return console.print(message);
}

Task<Tried<Exit>> show_on(Context& context, Store& store, const DocumentShowOptions& options) {
  const DocumentPlace place = place_of(options);
  auto revision = co_await berth::read_revision(store, place, options.revision);
  if (!revision) co_return tl::unexpected<Failure>(document_failure(std::move(revision).error()));
  std::optional<RecordedRun> run;
  if (options.run) {
    auto latest = co_await berth::latest_run(store, place, revision->id);
    if (!latest) co_return tl::unexpected<Failure>(document_failure(std::move(latest).error()));
    run = std::move(*latest);
  }
  if (context.common.json) {
    boost::json::object document = berth::to_json(*revision);
    add_code(document, revision->code);
    if (options.run) document["run"] = run_json(run);
    const Exit printed = print_json(context.console, document);
    if (printed != Exit::kSuccess) co_return printed;
    co_return options.run && !run ? Exit::kFinding : Exit::kSuccess;
  }
  if (options.run) co_return print_run(context.console, *revision, run);
  co_return context.console.print(revision->code);
}

// ---- run

Task<Tried<DocumentExecution>> run_on(Context& context, Host& host,
                                      const DocumentRunOptions& options, RunObserver& observer) {
  RunDocument run;
  run.place = {chosen_owner(options.run.owner), chosen_session(options.run.session), options.id};
  run.revision_id = options.revision;
  run.settings = request_settings(options.run, host.settings());
  DocumentPolicy policy;
  policy.enabled = host.settings().run_documents;
  // What the command line's own failure was, which an Error alone does not tell.
  std::optional<Failure> refused;
  struct Executor {
    Context& context;
    Host& host;
    const std::string& provider;
    RunObserver& observer;
    std::optional<Failure>& refused;
    Task<Result<ExecutionResult>> run(ExecutionRequest request) {
      auto result = co_await execute_on(host, context, provider, std::move(request), observer);
      if (result) co_return std::move(*result);
      refused = result.error();
      co_return fail(result.error().error);
    }
  } executor{context, host, options.run.provider, observer, refused};
  DocumentExecutor execute = [&executor](ExecutionRequest request) {
    return executor.run(std::move(request));
  };
  auto ran = co_await berth::run_document(host.store(), policy, std::move(run), std::move(execute),
                                          context.cancellation, wall_now());
  if (ran) co_return std::move(*ran);
  if (refused) co_return tl::unexpected<Failure>(std::move(*refused));
  co_return tl::unexpected<Failure>(document_failure(std::move(ran).error()));
}

}  // namespace

Task<int> put_document(Context& context, DocumentPutOptions options) {
  auto put = read_put(options);
  if (!put) co_return report(context, put.error());
  context.watch_signals();
  std::function<Task<Tried<Exit>>(Host&)> work = [&context, &put](Host& host) {
    return put_on(context, host, std::move(*put));
  };
  co_return co_await with_host(context, std::move(work));
}

Task<int> list_documents(Context& context, DocumentListOptions options) {
  std::function<Task<Tried<Exit>>(Store&)> work = [&context, &options](Store& store) {
    return list_on(context, store, options);
  };
  co_return co_await with_records(context, std::move(work));
}

Task<int> show_document(Context& context, DocumentShowOptions options) {
  std::function<Task<Tried<Exit>>(Store&)> work = [&context, &options](Store& store) {
    return show_on(context, store, options);
  };
  co_return co_await with_records(context, std::move(work));
}

Task<int> list_revisions(Context& context, DocumentRevisionsOptions options) {
  std::function<Task<Tried<Exit>>(Store&)> work = [&context, &options](Store& store) {
    return revisions_on(context, store, options);
  };
  co_return co_await with_records(context, std::move(work));
}

Task<int> run_document(Context& context, DocumentRunOptions options) {
  auto settings = read_settings(context);
  if (!settings) co_return report(context, settings.error());
  const Status saving = check_output(options.run);
  if (!saving) co_return report(context, {Exit::kOutput, saving.error()});
  auto host = Host::open(context, keeping_of(options.run, *settings, context));
  if (!host) co_return report(context, host.error());
  RunObserver observer(context, options.run.quiet);
  auto ran = co_await run_on(context, **host, options, observer);
  co_await observer.finish();
  co_await (*host)->close();
  if (!ran) co_return report(context, ran.error());
  const std::string title = std::filesystem::path(ran->revision.title).stem();
  co_return report_run(context, options.run, title, ran->result, observer.output_failure(),
                       document_members(*ran));
}

}  // namespace berth::cli
