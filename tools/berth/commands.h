// The commands, one function and one file each. Each returns the code to end with.
#ifndef BERTH_TOOLS_BERTH_COMMANDS_H_
#define BERTH_TOOLS_BERTH_COMMANDS_H_

#include "core/base/task.h"
#include "tools/berth/context.h"
#include "tools/berth/options.h"

namespace berth::cli {

Task<int> run_program(Context& context, RunOptions options);
Task<int> list_providers(Context& context, ProviderListOptions options);
Task<int> inspect_provider(Context& context, ProviderInspectOptions options);
Task<int> compare_providers(Context& context, ProviderCompareOptions options);
Task<int> explain_clause(Context& context, ProviderExplainOptions options);
Task<int> new_provider(Context& context, ProviderNewOptions options);
Task<int> watch_provider(Context& context, ProviderWatchOptions options);
Task<int> show_intents(Context& context, IntentsOptions options);
Task<int> retire_session(Context& context, SessionRetireOptions options);
Task<int> reconcile_intents(Context& context, ReconcileOptions options);
Task<int> drain_providers(Context& context, DrainOptions options);
Task<int> show_receipts(Context& context, ReceiptsOptions options);
Task<int> examine(Context& context, DoctorOptions options);
Task<int> show_version(Context& context, VersionOptions options);
Task<int> put_document(Context& context, DocumentPutOptions options);
Task<int> list_documents(Context& context, DocumentListOptions options);
Task<int> show_document(Context& context, DocumentShowOptions options);
Task<int> list_revisions(Context& context, DocumentRevisionsOptions options);
Task<int> run_document(Context& context, DocumentRunOptions options);
Task<int> grant_credits(Context& context, CreditsGrantOptions options);
Task<int> show_balance(Context& context, CreditsBalanceOptions options);
Task<int> show_statement(Context& context, CreditsStatementOptions options);
Task<int> list_conformance(Context& context, ConformanceListOptions options);
Task<int> run_conformance(Context& context, ConformanceRunOptions options);
Task<int> compare_conformance(Context& context, ConformanceCompareOptions options);
Task<int> fuzz_conformance(Context& context, ConformanceFuzzOptions options);
Task<int> show_templates(Context& context, TemplatesStatusOptions options);
Task<int> stop_templates(Context& context, TemplatesStopOptions options);
Task<int> explain_conformance(Context& context, ConformanceExplainOptions options);

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_COMMANDS_H_
