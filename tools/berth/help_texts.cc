#include "tools/berth/help_texts.h"

#include <fmt/format.h>

#include "tools/berth/exit_codes.h"

namespace berth::cli {

constexpr std::string_view kRunFooter = R"(Examples:
  berth run hello.py
      runs it; its output is your output, its exit code is the exit code
  echo 'console.log(6 * 7)' | berth run - --language javascript
  berth run report.py --file sales.csv --output charts
      the program opens sales.csv in its work folder; every matplotlib figure
      is saved as charts/report-1.png, charts/report-2.png, ...
  berth run job.py --timeout 30s --memory 512M --processes 32
  berth run job.py --json | jq .status
      one document: status, stdout, stderr, error, charts, timings, receipt
  berth run job.py --stream json | jq -r 'select(.event == "stdout").text'
      events as they happen; put together they are the exact bytes
  berth run chart.py --open
      a chart dictionary is saved as JSON and as a page that draws it, and shown
  berth run job.py --session nightly --call 2026-11-29
      a second time gives the recorded answer and costs nothing

The program finds no network, a private work folder and end of file on its
standard input. Ctrl-C cancels it; berth then waits until the sandbox is
confirmed gone.

The exit code is the program's, 128+n when signal n ended it (137 also when a
limit did), 130 after Ctrl-C, and 200 or more when berth itself failed; see
'berth --help' for the table.)";

constexpr std::string_view kProviderFooter = R"(Examples:
  berth provider list
  berth provider inspect local
  berth provider explain META-003
  berth provider new my-cloud)";

constexpr std::string_view kProviderListFooter = R"(Examples:
  berth provider list
  berth provider list --json | jq -r '.providers[].id'

Ends with 1 when a file was refused or is quarantined.)";

constexpr std::string_view kProviderInspectFooter = R"(Examples:
  berth provider inspect local
  berth provider inspect ./build/lib/berth/providers/libmine.so

Reads the file's notes, exports, needed libraries and hardening; loads and runs
nothing. Ends with 1 when berth would refuse to load it; all reasons are listed,
each with the clause of the contract it breaks.)";

constexpr std::string_view kProviderExplainFooter = R"(Examples:
  berth provider explain LOAD-003
  berth provider explain
      every clause with who enforces it

A refusal, a log line and a conformance report cite clauses.)";

constexpr std::string_view kConformanceFooter = R"(Examples:
  berth conformance run ./build/mine.so
  berth conformance run ./build/mine.so --profile smoke
  berth conformance explain KEY-001)";

constexpr std::string_view kConformanceListFooter = R"(Examples:
  berth conformance list
  berth conformance list ./build/mine.so --json | jq -r '.cases[].id')";

constexpr std::string_view kConformanceRunFooter = R"(Examples:
  berth conformance run ./build/mine.so
  berth conformance run ./build/mine.so --only 'KEY-*' --only 'CLEAN-*'
  berth conformance run ./build/mine.so --report html:report.html
  berth conformance run reference --profile smoke
  gdb --args berth conformance run --in-process --only KEY-001 ./build/mine.so

Every case runs in a process of its own with a folder of its own; what it makes
is destroyed by name after it. The provider's configuration is that of the host
(--config FILE, providers.ID.config). The last line is always the tally.

Exit codes: 0 all good and at least one case ran, 1 something bad, 2 command
line or configuration wrong or nothing ran, 3 the loader refuses the file, 4 the
kit itself failed.)";

constexpr std::string_view kConformanceFuzzFooter = R"(Examples:
  berth conformance fuzz ./build/mine.so --time 10m
  berth conformance fuzz ./build/mine.so --reproduce 4711

Draws creates, lookups, fences, cancellations, files and destroys at random and
compares every answer with what the earlier ones leave possible. Ends with 1 at
the first contradiction and prints the sequence's seed.)";

constexpr std::string_view kConformanceExplainFooter = R"(Example:
  berth conformance explain KEY-001)";

constexpr std::string_view kConformanceCompareFooter = R"(Examples:
  berth conformance run ./build/mine.so --report json:before.json
  berth conformance run ./build/mine.so --report json:after.json
  berth conformance compare before.json after.json

Both must be of one provider. Worse is what was not bad and is, and what was
shown and is not any more. Ends with 0 when nothing is worse, with 1 when
something is, with 2 when the two cannot be compared.)";

constexpr std::string_view kProviderNewFooter = R"(Examples:
  berth provider new my-cloud
  berth provider new my-cloud --language rust --into ~/src/my-cloud

Writes a whole provider with its test, and prints the commands that build it.
Nothing is written over.)";

constexpr std::string_view kProviderWatchFooter = R"(Example:
  berth provider watch my-cloud

Builds into DIR/build, then inspects the provider, runs its own tests and the
smoke profile of 'berth conformance'; stops at the first that fails, and begins
again when a file is saved. With --json each step's end is one line on standard
output. Ctrl-C ends it.)";

constexpr std::string_view kIntentsFooter = R"(Examples:
  berth intents --unresolved
  berth intents --owner ann --session nightly
  berth intents berth-0123456789abcdef0123456789abcdef
      everything about one call, with its journal

With --unresolved it ends with 1 when there are any.)";

constexpr std::string_view kSessionFooter = R"(Examples:
  berth session retire ann nightly

From then on every new call of the session is refused; what it still has is
cleaned. Ends with 1 while a call of it stays unresolved.)";

constexpr std::string_view kReconcileFooter = R"(Examples:
  berth reconcile
      settles every call whose host is dead; never touches one that is alive
  berth reconcile --name berth-0123456789abcdef0123456789abcdef
  berth reconcile --name berth-0123456789abcdef0123456789abcdef \
      --established absent --evidence 'not in the provider console, 29 Nov'
      for a provider that cannot prove it itself, or that is not there any more

Says what it did, what it could not do and why, and which resources of this host
it found that no record knows; those it never deletes. Ends with 1 while
anything stays unresolved.)";

constexpr std::string_view kDrainFooter = R"(Examples:
  berth drain
  berth drain --provider daytona

Deletes what is known to exist, finds out about what is not, and says what is
still open. Run it with the credentials that the sandboxes were made with: what
another account or key made is named and left alone. What a living host works
on is left to that host. Ends with 0 once nothing is open, else with 1.)";

constexpr std::string_view kProviderCompareFooter = R"(Examples:
  berth provider compare
  berth provider compare local daytona ./build/mine.so

What each claims in its manifest, and below it how many cases of its last whole
'berth conformance run' on exactly this file were passed. Runs nothing.)";

constexpr std::string_view kReceiptsFooter = R"(Examples:
  berth receipts --since 24h
  berth receipts --owner ann --format csv > ann.csv
  berth receipts --since 2026-11-01 --until 2026-12-01 --format jsonl
  berth receipts --summary --since 7d
  berth receipts --unknown

Costs are micro-dollars in jsonl and csv. An unknown cost is empty there and
'unknown' in the table: a sandbox may still exist; run berth reconcile.)";

constexpr std::string_view kDocumentFooter = R"(Examples:
  berth document put chart.py
  berth document list
  berth document run ID --revision ID)";

constexpr std::string_view kDocumentPutFooter = R"(Examples:
  berth document put chart.py
      prints the ids of the new document and of its first revision
  berth document put chart.py --document 0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21
  generate | berth document put - --title chart.py --json | jq -r .revision_id

A revision never changes. Putting the title and the bytes that the latest
revision has makes no new one: the answer is that revision.)";

constexpr std::string_view kDocumentListFooter = R"(Examples:
  berth document list
  berth document list --owner ann --session notes --json)";

constexpr std::string_view kDocumentShowFooter = R"(Examples:
  berth document show 0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21 > chart.py
      the latest revision, byte for byte
  berth document show 0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21 --run --json
      what the latest run of that revision gave; never that of another one

With --run it ends with 1 when the revision was never run.)";

constexpr std::string_view kDocumentRevisionsFooter = R"(Example:
  berth document revisions 0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21)";

constexpr std::string_view kDocumentRunFooter = R"(Example:
  berth document run 0b7e1f9a-5c1d-4e57-9f0e-0d6a3c5b7e21 \
      --revision 5d0c7c1e-93a2-4a4b-8e0b-8a1f4a9c2f10

Runs the stored bytes in the language that the title tells, like 'berth run';
its exit codes are those of 'berth run'. Only ids are taken, and only those of
the owner's and the session's own documents.)";

constexpr std::string_view kCreditsFooter = R"(Examples:
  berth credits grant ann 5 --key december
  berth credits balance --owner ann

Needs "billing" in the configuration; without it these commands end with 202.)";

constexpr std::string_view kCreditsGrantFooter = R"(Example:
  berth credits grant ann 12.50 --key invoice-17 --memo 'prepaid'

The same key and amount again changes nothing; another amount is refused.)";

constexpr std::string_view kCreditsBalanceFooter = R"(Examples:
  berth credits balance
  berth credits balance --owner ann --json | jq .may_start_paid_work

A new owner starts with the configuration's initial grant.)";

constexpr std::string_view kCreditsStatementFooter = R"(Examples:
  berth credits statement --owner ann
  berth credits statement --owner ann --format csv > ann.csv

Amounts are micro-dollars in jsonl and csv. Debits are rounded up to the cent,
once per turn.)";

constexpr std::string_view kTemplatesFooter = R"(Examples:
  berth templates status
  berth templates stop

The first 'berth run' starts a keeper: a process of yours that holds the loaded
provider for the next runs and, from the third on, ready sandboxes forked from
an interpreter that has imported the base packages. It goes when nobody used it
for five minutes. 'berth run --no-templates' does without; so does every run
with "templates": {"keep": false} in the configuration, where "idle": "1m" sets
the time. It is found in $XDG_RUNTIME_DIR/berth and answers nobody but you.)";

constexpr std::string_view kTemplatesStatusFooter = R"(Examples:
  berth templates status
  berth templates status --json | jq '.keepers[].made_ahead'

With --state-dir only the keepers of that folder. Ends with 1 when there is
none, or one that does not answer.)";

constexpr std::string_view kTemplatesStopFooter = R"(Examples:
  berth templates stop
  berth templates stop --state-dir /srv/berth

With --state-dir only the keepers of that folder. A keeper that serves a run
takes no other and goes with it; then this ends with 1.)";

constexpr std::string_view kDoctorFooter = R"(Examples:
  berth doctor
  berth doctor --json | jq '.checks[] | select(.ok | not)'

Runs a small program in each language with the default provider, or with the
one that is named; free of charge here. Ends with 1 when something is missing.)";

constexpr std::string_view kVersionFooter = R"(Example:
  berth version --json)";

std::string main_footer() {
  std::string text = R"(Examples:
  berth run hello.py                run a program
  berth run - --json < hello.js --language javascript
  berth doctor                      what works here, what is missing
  berth document put chart.py       keep a program, to run it by its id
  berth reconcile                   after a crash: settle what was interrupted
  berth drain                       before another provider or key is selected
  berth templates stop              end what is kept ready for the next run
  berth COMMAND --help              more about one command

Files:
  berth.json                        in the application's folder or above it:
                                    {"provider": "ID"} selects its provider
  ~/.config/berth/config.json       the host's configuration
  ~/.local/state/berth              the store, provider state

Exit codes:
)";
  for (const ExitText& entry : kExitTexts) {
    text += fmt::format("  {:<4}  {}\n", to_int(entry.exit), entry.meaning);
  }
  text += "  else  run only: the program's own, or 128+n when signal n ended it\n";
  text += "\nExit codes of berth conformance, besides those of signals and output:\n";
  for (const ConformanceExitText& entry : kConformanceExitTexts)
    text += fmt::format("  {:<4}  {}\n", entry.exit, entry.meaning);
  return text;
}

}  // namespace berth::cli
