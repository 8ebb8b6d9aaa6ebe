// What the command line asked for, as plain values: command_line.cc fills them, the commands read
// them. Nothing here depends on the parser.
#ifndef BERTH_TOOLS_BERTH_OPTIONS_H_
#define BERTH_TOOLS_BERTH_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/money.h"
#include "core/base/time.h"

namespace berth::cli {

struct CommonOptions {
  bool json = false;
  std::string state_dir;  // empty: the default place
  std::string config;     // empty: the default file, which may be missing
};

struct LimitOptions {
  std::uint64_t memory_bytes = 0;  // 0 everywhere: not given
  std::uint64_t disk_bytes = 0;
  std::uint32_t cpu_millis = 0;
  std::uint32_t processes = 0;
};

struct RunOptions {
  std::string file;  // "-": standard input
  std::string language;
  std::string title;
  std::string output;
  std::string provider;
  std::string owner;
  std::string session;
  std::string call;
  std::string turn;
  std::string network;
  std::vector<std::string> input_files;
  std::optional<Duration> timeout;
  LimitOptions limits;
  std::string stream;  // "json": event lines; empty: the program's own output
  bool replace = false;
  bool open = false;
  bool quiet = false;
  bool no_templates = false;
};

struct ProviderListOptions {};

struct ProviderInspectOptions {
  std::string subject;  // a path, or a provider's id
};

struct ProviderCompareOptions {
  std::vector<std::string> subjects;  // paths or ids; empty: every provider that can be used
};

struct ProviderExplainOptions {
  std::string clause;  // empty: all of them
};

struct ProviderNewOptions {
  std::string name;
  std::string language;  // "cxx", "c" or "rust"
  std::string into;      // empty: a folder of that name
};

struct ProviderWatchOptions {
  std::string folder;
};

struct IntentsOptions {
  std::string name;
  std::string owner;
  std::string session;
  std::string provider;
  bool unresolved = false;
  std::uint32_t count_max = 0;
};

struct SessionRetireOptions {
  std::string owner;
  std::string session;
};

struct ReconcileOptions {
  std::string name;
  std::string owner;
  std::string provider;
  std::string established;  // "", "absent" or "present"
  std::string evidence;
};

struct DrainOptions {
  std::string provider;  // empty: every one that has something open
};

struct ReceiptsOptions {
  std::string owner;
  std::string session;
  std::string provider;
  std::optional<WallTime> since;
  std::optional<WallTime> until;
  std::string format;  // "table", "jsonl" or "csv"
  bool unknown = false;
  bool summary = false;
};

// Owner and session as for a run: empty ones become the user's name and "cli".
struct DocumentPutOptions {
  std::string file;  // "-": standard input
  std::optional<std::string> title;
  std::string id;  // empty: a new document
  std::string owner;
  std::string session;
};

struct DocumentListOptions {
  std::string owner;
  std::string session;
};

struct DocumentShowOptions {
  std::string id;
  std::string revision;  // empty: the latest
  std::string owner;
  std::string session;
  bool run = false;
};

struct DocumentRevisionsOptions {
  std::string id;
  std::string owner;
  std::string session;
};

struct DocumentRunOptions {
  std::string id;
  std::string revision;
  RunOptions run;  // file, language, title and input files stay empty
};

struct CreditsGrantOptions {
  std::string owner;
  Money amount;
  std::string key;  // empty: a new random one
  std::string memo;
};

struct CreditsBalanceOptions {
  std::string owner;
};

struct CreditsStatementOptions {
  std::string owner;
  std::string format;  // as of receipts
};

struct TemplatesStatusOptions {};

struct TemplatesStopOptions {};

struct DoctorOptions {
  std::string provider;
};

struct ConformanceListOptions {
  std::string file;  // empty: every case, whatever a provider claims
  std::string profile = "stress";
};

struct ConformanceRunOptions {
  std::string file;
  std::string profile = "full";
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::vector<std::string> allow;
  std::vector<std::string> reports;  // "json:FILE", "junit:FILE", "html:FILE"
  std::uint32_t at_once = 0;         // 0: as many as there are processors
  std::string seed;                  // empty: a new one
  std::string time_scale = "1";
  bool in_process = false;
};

struct ConformanceFuzzOptions {
  std::string file;
  Duration time = std::chrono::seconds(10);
  std::uint32_t at_once = 0;
  std::string seed;
  std::string reproduce;  // the seed of one sequence
  std::string time_scale = "1";
};

struct ConformanceExplainOptions {
  std::string id;
};

struct ConformanceCompareOptions {
  std::string before;  // files made by --report json:FILE
  std::string after;
};

struct VersionOptions {};

using CommandOptions =
    std::variant<RunOptions, ProviderListOptions, ProviderInspectOptions, ProviderExplainOptions,
                 ProviderNewOptions, ProviderWatchOptions, IntentsOptions, SessionRetireOptions,
                 ReconcileOptions, DrainOptions, ProviderCompareOptions, ReceiptsOptions, DoctorOptions,
                 VersionOptions, DocumentPutOptions, DocumentListOptions, DocumentShowOptions,
                 DocumentRevisionsOptions, DocumentRunOptions, CreditsGrantOptions,
                 CreditsBalanceOptions, CreditsStatementOptions, ConformanceListOptions,
                 ConformanceRunOptions, ConformanceFuzzOptions, ConformanceExplainOptions,
                 ConformanceCompareOptions, TemplatesStatusOptions, TemplatesStopOptions>;

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_OPTIONS_H_
