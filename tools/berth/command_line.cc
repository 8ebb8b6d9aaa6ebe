// The commands and their options. Long because they are all here, a short function each.
#include "tools/berth/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tools/berth/context.h"
#include "tools/berth/help_formatter.h"
#include "tools/berth/help_texts.h"
#include "tools/berth/values.h"

namespace berth::cli {
namespace {

// What a chosen subcommand turns into, after everything has been parsed.
struct Draft {
  CommonOptions common;
  std::optional<CommandOptions> command;
  WallTime now;
};

template <class T, class Parse>
CLI::Option* add_value(CLI::App& app, const std::string& name, T& into, Parse parse,
                       const std::string& description) {
  return app.add_option_function<std::string>(
      name,
      [&into, parse, name](const std::string& text) {
        auto value = parse(text);
        if (!value) throw CLI::ValidationError(name, value.error().message());
        into = *value;
      },
      description);
}

void add_choice(CLI::App& app, const std::string& name, std::string& into,
                const std::vector<std::string>& choices, const std::string& description) {
  const auto parse = [choices](const std::string& text) -> Result<std::string> {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
    return fail(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is not {}", text.substr(0, 64), fmt::join(choices, " or ")));
  };
  add_value(app, name, into, parse, description)->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

void add_common(CLI::App& app, Draft& draft) {
  app.add_flag("--json", draft.common.json, "print one JSON document on standard output");
  app.add_option("--state-dir", draft.common.state_dir,
                 "where intents, receipts and provider state live (default: $BERTH_STATE_DIR, "
                 "else $XDG_STATE_HOME/berth, else ~/.local/state/berth)")
      ->type_name("DIR");
  app.add_option("--config", draft.common.config,
                 "the host's configuration (default: $XDG_CONFIG_HOME/berth/config.json, "
                 "else ~/.config/berth/config.json; it may be missing)")
      ->type_name("FILE");
}

// A subcommand whose options live in `options`, which must outlive the parse.
template <class Options>
CLI::App& add_command(CLI::App& parent, Draft& draft, Options& options, const std::string& name,
                      const std::string& description, std::string_view footer) {
  CLI::App& app = *parent.add_subcommand(name, description);
  app.footer(std::string(footer));
  app.set_help_flag("-h,--help", "this text");
  add_common(app, draft);
  app.callback([&draft, &options] { draft.command = options; });
  return app;
}

void add_text(CLI::App& app, const std::string& name, std::string& into,
                  const std::string& type, const std::string& description) {
  // An empty text is a script's unset variable, never a wish for the default.
  const auto given = [](const std::string& text) -> Result<std::string> {
    if (text.empty()) return fail(ErrorKind::kInvalidArgument, "the value is empty");
    return text;
  };
  add_value(app, name, into, given, description)->type_name(type);
}

// The name of somebody or something that is recorded.
CLI::Option* add_name(CLI::App& app, const std::string& name, std::string& into,
                      const std::string& type, const std::string& description) {
  return add_value(app, name, into, parse_name, description)->type_name(type);
}

void add_run_limits(CLI::App& app, RunOptions& options) {
  add_value(
      app, "--timeout", options.timeout, parse_duration,
      "end the program after this long, such as 30, 1.5s or 2m (default: only the deadline of the "
      "whole call, 5 minutes)")
      ->type_name("DURATION");
  add_value(app, "--memory", options.limits.memory_bytes, parse_size,
            "memory and swap of the sandbox, such as 512M")
      ->type_name("SIZE");
  add_value(app, "--cpus", options.limits.cpu_millis, parse_cpus, "CPUs, such as 0.5 or 2")
      ->type_name("NUMBER");
  add_value(app, "--processes", options.limits.processes, parse_count,
            "processes and threads together")
      ->type_name("COUNT");
  add_value(app, "--disk", options.limits.disk_bytes, parse_size,
            "everything the program may write, such as 1G")
      ->type_name("SIZE");
  add_choice(app, "--network", options.network, {"none", "open"},
             "none: nothing but loopback (the default); open: what the provider's sandboxes can "
             "reach, refused where it has no such thing");
}

// Who runs it, for what it counts, and where its charts go.
void add_run_place(CLI::App& app, RunOptions& options) {
  add_text(app, "--output", options.output, "DIR",
               "where charts are saved, as TITLE-1.png and so on; made when missing (default: the "
               "current folder; with --json or --stream charts are saved only when this is given)");
  app.add_flag("--open", options.open,
               "show the first saved chart with the desktop's own program; with --json or --stream "
               "this saves charts too");
  app.add_flag("--replace", options.replace,
               "replace charts of the same name; otherwise the next free number is taken");
  add_run_limits(app, options);
  add_name(app, "--provider", options.provider, "ID",
               "which provider, for this once (default: the one that berth.json selects, else the "
               "configuration's, else local)");
  add_name(app, "--owner", options.owner, "NAME",
               "who pays and may look (default: your user name)");
  add_name(app, "--session", options.session, "NAME", "default: cli");
  add_name(app, "--call", options.call, "ID",
               "one run for ever: the same call again gives the recorded answer, free (default: "
               "a new random one)");
  add_name(app, "--turn", options.turn, "ID", "what debits are rounded over (default: the call)");
  app.add_flag("--quiet", options.quiet, "say nothing on standard error but errors");
  app.add_flag("--no-templates", options.no_templates,
               "use and start no keeper: load the provider for this run alone");
}

void add_run(CLI::App& parent, Draft& draft, RunOptions& options) {
  CLI::App& app = add_command(parent, draft, options, "run",
                              "Run a Python or JavaScript program in a sandbox", kRunFooter);
  app.add_option("FILE", options.file, "the program; - reads it from standard input")->required();
  add_choice(app, "--language", options.language, {"python", "javascript"},
             "default: by the name's ending: .py; .js .mjs .cjs; else python");
  add_text(app, "--title", options.title, "TEXT",
               "what the call is called, also in the names of saved charts (default: FILE's name)");
  app.add_option("--file", options.input_files,
                 "a file the program finds in its work folder, under the same name; may be given "
                 "several times")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_choice(app, "--stream", options.stream, {"json"},
             "JSON Lines on standard output while it runs, one event a line: started, stage, stdout, "
             "stderr, chart, result, finished");
  app.get_option("--stream")->excludes(app.get_option("--json"));
  add_run_place(app, options);
}

struct ProviderCommands {
  ProviderListOptions list;
  ProviderInspectOptions inspect;
  ProviderCompareOptions compare;
  ProviderExplainOptions explain;
  ProviderNewOptions create;
  ProviderWatchOptions watch;
};

void add_provider(CLI::App& parent, Draft& draft, ProviderCommands& options) {
  CLI::App& group = *parent.add_subcommand("provider", "See which providers there are");
  group.require_subcommand(1);
  group.footer(std::string(kProviderFooter));
  add_command(group, draft, options.list, "list",
              "List the search path: what was found, shadowed, refused or quarantined, and why",
              kProviderListFooter);
  CLI::App& inspect = add_command(group, draft, options.inspect, "inspect",
                                  "Judge one provider without running any of its code",
                                  kProviderInspectFooter);
  inspect.add_option("SUBJECT", options.inspect.subject, "a shared object, or the id of an installed provider")
      ->type_name("FILE|ID")
      ->required();
  CLI::App& compare = add_command(group, draft, options.compare, "compare",
                                  "Put providers side by side: what each claims, and what was shown",
                                  kProviderCompareFooter);
  compare.add_option("SUBJECT", options.compare.subjects,
                     "shared objects, or ids of installed providers (default: all that can be used)")
      ->type_name("FILE|ID");
  CLI::App& create = add_command(group, draft, options.create, "new",
                                 "Begin a provider of your own: a folder that builds and passes",
                                 kProviderNewFooter);
  create.add_option("NAME", options.create.name, "the provider's id, such as my-cloud")->required();
  options.create.language = "cxx";
  add_choice(create, "--language", options.create.language, {"cxx", "c", "rust"}, "default: cxx");
  add_text(create, "--into", options.create.into, "DIR",
           "the folder to fill, new or empty (default: one of that name, here)");
  CLI::App& watch = add_command(group, draft, options.watch, "watch",
                                "Build, judge and test a provider again whenever a file is saved",
                                kProviderWatchFooter);
  watch.add_option("DIR", options.watch.folder, "the provider's folder")->required();
  CLI::App& explain = add_command(group, draft, options.explain, "explain",
                                  "Say what a clause of the contract asks, why, and what to do",
                                  kProviderExplainFooter);
  explain.add_option("CLAUSE", options.explain.clause,
                     "as refusals cite it, such as META-003 (default: a list of all)");
}

void add_intents(CLI::App& parent, Draft& draft, IntentsOptions& options) {
  CLI::App& app = add_command(parent, draft, options, "intents",
                              "Show the durable record of each call's sandbox", kIntentsFooter);
  add_name(app, "NAME", options.name, "", "one intent, with its journal");
  app.add_flag("--unresolved", options.unresolved, "only those whose sandbox may still exist");
  add_name(app, "--owner", options.owner, "NAME", "only this owner's");
  add_name(app, "--session", options.session, "NAME", "only this session's");
  add_name(app, "--provider", options.provider, "ID", "only this provider's");
  add_value(app, "--limit", options.count_max, parse_count, "at most this many (default: 1000)")
      ->type_name("COUNT");
}

void add_session(CLI::App& parent, Draft& draft, SessionRetireOptions& options) {
  CLI::App& group = *parent.add_subcommand("session", "End a session for ever");
  group.require_subcommand(1);
  group.footer(std::string(kSessionFooter));
  CLI::App& app = add_command(group, draft, options, "retire",
                              "Refuse new calls of a session and clean what it still has",
                              kSessionFooter);
  add_name(app, "OWNER", options.owner, "", "the session's owner")->required();
  add_name(app, "SESSION", options.session, "", "the session")->required();
}

void add_reconcile(CLI::App& parent, Draft& draft, ReconcileOptions& options) {
  CLI::App& app = add_command(
      parent, draft, options, "reconcile",
      "Settle calls that were interrupted: find their sandboxes, adopt, fence and delete them",
      kReconcileFooter);
  add_name(app, "--name", options.name, "NAME", "only this intent");
  add_name(app, "--owner", options.owner, "NAME", "only this owner's intents");
  add_name(app, "--provider", options.provider, "ID", "only this provider's intents");
  add_choice(app, "--established", options.established, {"absent", "present"},
             "what an operator found out about --name at the provider itself");
  CLI::Option* established = app.get_option("--established");
  CLI::Option* evidence = app.add_option("--evidence", options.evidence,
                                         "how it was found out; recorded for ever")
                              ->type_name("TEXT");
  established->needs(evidence);
  evidence->needs(established);
  established->needs(app.get_option("--name"));
}

void add_drain(CLI::App& parent, Draft& draft, DrainOptions& options) {
  CLI::App& app = add_command(
      parent, draft, options, "drain",
      "End all that a provider still has open, before another one, or another key, is selected",
      kDrainFooter);
  add_name(app, "--provider", options.provider, "ID",
           "this one (default: every one that has something open)");
}

void add_receipts(CLI::App& parent, Draft& draft, ReceiptsOptions& options) {
  CLI::App& app = add_command(parent, draft, options, "receipts",
                              "Show what calls used and cost", kReceiptsFooter);
  add_name(app, "--owner", options.owner, "NAME", "only this owner's");
  add_name(app, "--session", options.session, "NAME", "only this session's");
  add_name(app, "--provider", options.provider, "ID", "only this provider's");
  const auto time = [&draft](std::string_view text) { return parse_time(text, draft.now); };
  add_value(app, "--since", options.since, time, "recorded then or later; a time or an age: 24h, 7d")
      ->type_name("TIME");
  add_value(app, "--until", options.until, time, "recorded before then")->type_name("TIME");
  options.format = "table";
  add_choice(app, "--format", options.format, {"table", "jsonl", "csv"}, "default: table");
  app.get_option("--format")->excludes(app.get_option("--json"));
  app.add_flag("--unknown", options.unknown, "only those whose cost is not known yet");
  app.add_flag("--summary", options.summary,
               "totals per day (UTC) and provider instead of the receipts themselves")
      ->excludes(app.get_option("--format"));
}

// Whose documents: what a document of another owner or session is, nobody is told.
template <class Options>
void add_document_place(CLI::App& app, Options& options) {
  add_name(app, "--owner", options.owner, "NAME", "whose document (default: your user name)");
  add_name(app, "--session", options.session, "NAME", "of which session (default: cli)");
}

template <class Options>
void add_document_id(CLI::App& app, Options& options) {
  add_name(app, "ID", options.id, "", "the document's id")->required();
}

struct DocumentCommands {
  DocumentPutOptions put;
  DocumentListOptions list;
  DocumentShowOptions show;
  DocumentRevisionsOptions revisions;
  DocumentRunOptions run;
};

void add_document(CLI::App& parent, Draft& draft, DocumentCommands& options) {
  CLI::App& group = *parent.add_subcommand("document", "Keep programs by revision, and run them");
  group.require_subcommand(1);
  group.footer(std::string(kDocumentFooter));
  CLI::App& put = add_command(group, draft, options.put, "put",
                              "Save a program as a new document or a new revision",
                              kDocumentPutFooter);
  put.add_option("FILE", options.put.file, "the program; - reads it from standard input")
      ->required();
  put.add_option("--title", options.put.title,
                 "its ending tells the language: .py; .js .mjs .cjs; none is Python (default: "
                 "FILE's name; for a new revision, as before)")
      ->type_name("TEXT");
  add_name(put, "--document", options.put.id, "ID", "save a new revision of this document");
  add_document_place(put, options.put);
  CLI::App& list = add_command(group, draft, options.list, "list", "List the documents of a session",
                               kDocumentListFooter);
  add_document_place(list, options.list);
  CLI::App& show = add_command(group, draft, options.show, "show",
                               "Print a revision, or what its latest run gave",
                               kDocumentShowFooter);
  add_document_id(show, options.show);
  add_name(show, "--revision", options.show.revision, "ID", "which (default: the latest)");
  show.add_flag("--run", options.show.run,
                "what the latest run of exactly this revision gave, instead of its text");
  add_document_place(show, options.show);
  CLI::App& revisions = add_command(group, draft, options.revisions, "revisions",
                                    "List the revisions of a document", kDocumentRevisionsFooter);
  add_document_id(revisions, options.revisions);
  add_document_place(revisions, options.revisions);
  CLI::App& run = add_command(group, draft, options.run, "run",
                              "Run a stored revision, and nothing but it", kDocumentRunFooter);
  add_document_id(run, options.run);
  add_name(run, "--revision", options.run.revision, "ID", "which of its revisions");
  run.get_option("--revision")->required();
  add_run_place(run, options.run.run);
}

struct CreditsCommands {
  CreditsGrantOptions grant;
  CreditsBalanceOptions balance;
  CreditsStatementOptions statement;
};

void add_credits(CLI::App& parent, Draft& draft, CreditsCommands& options) {
  CLI::App& group =
      *parent.add_subcommand("credits", "Grant credit, and see what was debited for what");
  group.require_subcommand(1);
  group.footer(std::string(kCreditsFooter));
  CLI::App& grant = add_command(group, draft, options.grant, "grant", "Give an owner credit",
                                kCreditsGrantFooter);
  add_name(grant, "OWNER", options.grant.owner, "", "who gets it")->required();
  add_value(grant, "AMOUNT", options.grant.amount, parse_money, "dollars, such as 5 or 0.50")
      ->required();
  add_name(grant, "--key", options.grant.key, "TEXT",
           "once for ever: the same key again gives nothing more (default: a new random one)");
  add_text(grant, "--memo", options.grant.memo, "TEXT", "what it is for, for the statement");
  CLI::App& balance = add_command(group, draft, options.balance, "balance",
                                  "Print what an owner has left", kCreditsBalanceFooter);
  add_name(balance, "--owner", options.balance.owner, "NAME", "default: your user name");
  CLI::App& statement = add_command(group, draft, options.statement, "statement",
                                    "List an owner's grants and debits with the balance after each",
                                    kCreditsStatementFooter);
  add_name(statement, "--owner", options.statement.owner, "NAME", "default: your user name");
  options.statement.format = "table";
  add_choice(statement, "--format", options.statement.format, {"table", "jsonl", "csv"},
             "default: table");
  statement.get_option("--format")->excludes(statement.get_option("--json"));
}

struct ConformanceCommands {
  ConformanceListOptions list;
  ConformanceRunOptions run;
  ConformanceFuzzOptions fuzz;
  ConformanceExplainOptions explain;
  ConformanceCompareOptions compare;
};

void add_texts(CLI::App& app, const std::string& name, std::vector<std::string>& into,
               const std::string& type, const std::string& description) {
  app.add_option(name, into, description)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_conformance_run(CLI::App& group, Draft& draft, ConformanceRunOptions& options) {
  CLI::App& run = add_command(group, draft, options, "run",
                              "Test a provider against every clause of the contract",
                              kConformanceRunFooter);
  run.add_option("SUBJECT", options.file, "a shared object, or the id of an installed provider")
      ->type_name("FILE|ID")
      ->required();
  add_choice(run, "--profile", options.profile, {"smoke", "full", "stress"},
             "how much: each has all cases of the one before it (default: full)");
  add_texts(run, "--only", options.only, "GLOB", "only cases whose id matches; may be given several times");
  add_texts(run, "--skip", options.skip, "GLOB", "none of these");
  add_texts(run, "--allow", options.allow, "ID",
            "a known deviation: when it is bad, it does not count, and proves nothing");
  add_value(run, "--jobs,-j", options.at_once, parse_count,
            "how many cases at once (default: one for each processor)")
      ->type_name("COUNT");
  add_text(run, "--seed", options.seed, "NUMBER", "repeats the random choices of another run");
  add_text(run, "--timeout-scale", options.time_scale, "FACTOR",
           "all times of the kit, multiplied: 3 on a slow machine (default: 1)");
  add_texts(run, "--report", options.reports, "KIND:FILE", "json, junit or html; several at once");
  run.add_flag("--in-process", options.in_process,
               "the one case of --only, here and without limits: for a debugger");
}

void add_conformance_fuzz(CLI::App& group, Draft& draft, ConformanceFuzzOptions& options) {
  CLI::App& fuzz = add_command(group, draft, options, "fuzz",
                               "Compare random sequences of operations with a model",
                               kConformanceFuzzFooter);
  fuzz.add_option("SUBJECT", options.file, "a shared object, or the id of an installed provider")
      ->type_name("FILE|ID")
      ->required();
  add_value(fuzz, "--time", options.time, parse_duration, "how long (default: 10s)")->type_name("DURATION");
  add_value(fuzz, "--jobs,-j", options.at_once, parse_count, "how many sequences at once")->type_name("COUNT");
  add_text(fuzz, "--seed", options.seed, "NUMBER", "of the first sequence; the next ones count up");
  add_text(fuzz, "--reproduce", options.reproduce, "SEED", "this one sequence, and what it did");
  add_text(fuzz, "--timeout-scale", options.time_scale, "FACTOR", "as for run");
}

void add_conformance(CLI::App& parent, Draft& draft, ConformanceCommands& options) {
  CLI::App& group =
      *parent.add_subcommand("conformance", "Test a provider, and read what was tested");
  group.require_subcommand(1);
  group.footer(std::string(kConformanceFooter));
  CLI::App& list = add_command(group, draft, options.list, "list", "List the cases, running nothing",
                               kConformanceListFooter);
  list.add_option("SUBJECT", options.list.file, "only cases that apply to this provider")
      ->type_name("FILE|ID");
  add_choice(list, "--profile", options.list.profile, {"smoke", "full", "stress"},
             "only those of a profile");
  add_conformance_run(group, draft, options.run);
  add_conformance_fuzz(group, draft, options.fuzz);
  CLI::App& explain = add_command(group, draft, options.explain, "explain",
                                  "Say what a case or a clause asks, why, and how to mend a provider",
                                  kConformanceExplainFooter);
  explain.add_option("ID", options.explain.id, "such as KEY-001")->required();
  CLI::App& compare = add_command(group, draft, options.compare, "compare",
                                  "Say what became better or worse between two reports",
                                  kConformanceCompareFooter);
  compare.add_option("BEFORE", options.compare.before, "a report made with --report json:FILE")->required();
  compare.add_option("AFTER", options.compare.after, "another one")->required();
}

struct TemplatesCommands {
  TemplatesStatusOptions status;
  TemplatesStopOptions stop;
};

void add_templates(CLI::App& parent, Draft& draft, TemplatesCommands& options) {
  CLI::App& group = *parent.add_subcommand("templates", "See and end what is kept ready for runs");
  group.require_subcommand(1);
  group.footer(std::string(kTemplatesFooter));
  add_command(group, draft, options.status, "status", "List this user's keepers and what they have ready",
              kTemplatesStatusFooter);
  add_command(group, draft, options.stop, "stop", "End this user's keepers, and what they made ahead",
              kTemplatesStopFooter);
}

void add_doctor(CLI::App& parent, Draft& draft, DoctorOptions& options) {
  CLI::App& app = add_command(parent, draft, options, "doctor",
                              "Check everything Berth needs here, and say how to mend what is missing",
                              kDoctorFooter);
  add_name(app, "--provider", options.provider, "ID", "only this provider");
}

// What CLI11 says of an error, or a better sentence for what it says badly.
std::string sentence_of(const CLI::App& root, const CLI::ParseError& error) {
  std::vector<std::string> extras = root.remaining(true);
  // What stands behind it is no option, whatever it looks like.
  const bool no_options = !extras.empty() && extras.front() == "--";
  std::erase(extras, "--");
  std::string sentence = error.what();
  const bool no_command = sentence == "A subcommand is required";
  const bool left_over = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                         dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if ((no_command || left_over) && !extras.empty()) {
    const std::string first = extras.front().substr(0, 64);
    if (first.starts_with("--") && !no_options) return fmt::format("unknown option '{}'", first);
    if (first.starts_with("-") && !no_options)
      return fmt::format("unknown option '{0}'; a name that begins so is given as './{0}' or after '--'",
                         first);
    return no_command || root.get_subcommands().empty() ? fmt::format("unknown command '{}'", first)
                                                        : fmt::format("unexpected argument '{}'", first);
  }
  if (no_command) return "a command is missing";
  return sentence;
}

// One line, led by the command it is about, and the code that this command has for it; with `json`
// the document of an error as well.
ParsedLine usage_error(const CLI::App& root, const std::string& sentence, bool json) {
  const std::vector<CLI::App*> group = root.get_subcommands();
  const bool conformance = !group.empty() && group.front()->get_name() == "conformance";
  std::string command = "berth";
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    command += " " + app->get_name();
  }
  const std::string line = sentence.substr(0, std::min<std::size_t>(sentence.find('\n'), 400));
  const int exit = conformance ? kConformanceUsage : to_int(Exit::kUsage);
  std::string document;
  if (json) document = error_document(Error(ErrorKind::kInvalidArgument, line), exit);
  return {std::nullopt, exit, std::move(document),
          fmt::format("berth: {}\nberth: see '{} --help'\n", line, command)};
}

}  // namespace

bool wants_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (std::string_view(argv[i]) == "--json") return true;
  return false;
}

ParsedLine parse_command_line(int argc, const char* const* argv, WallTime now) {
  CLI::App root("Runs programs in sandboxes, durably: every call is recorded before its sandbox is "
                "made, and is over only when the sandbox is confirmed gone",
                "berth");
  root.formatter(std::make_shared<HelpFormatter>());
  root.set_help_flag("-h,--help", "this text");
  root.footer(main_footer());
  root.require_subcommand(0, 1);
  Draft draft;
  draft.now = now;
  RunOptions run;
  ProviderCommands provider;
  IntentsOptions intents;
  SessionRetireOptions retire;
  ReconcileOptions reconcile;
  DrainOptions drain;
  ReceiptsOptions receipts;
  DoctorOptions doctor;
  VersionOptions version;
  DocumentCommands document;
  CreditsCommands credits;
  add_run(root, draft, run);
  add_document(root, draft, document);
  add_provider(root, draft, provider);
  add_intents(root, draft, intents);
  add_session(root, draft, retire);
  add_reconcile(root, draft, reconcile);
  add_drain(root, draft, drain);
  add_receipts(root, draft, receipts);
  add_credits(root, draft, credits);
  ConformanceCommands conformance;
  add_conformance(root, draft, conformance);
  TemplatesCommands templates;
  add_templates(root, draft, templates);
  add_doctor(root, draft, doctor);
  add_command(root, draft, version, "version", "Print the version and what it was built with",
              kVersionFooter);
  bool wants_version = false;
  root.add_flag("--version", wants_version, "the same as berth version");
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, to_int(Exit::kSuccess), root.help(), {}};
  } catch (const CLI::ParseError& error) {
    return usage_error(root, sentence_of(root, error), wants_json(argc, argv));
  }
  if (wants_version && !draft.command) draft.command = version;
  if (!draft.command) return {std::nullopt, to_int(Exit::kUsage), {}, root.help()};
  return {Invocation{std::move(draft.common), std::move(*draft.command)}, {}, {}, {}};
}

}  // namespace berth::cli
