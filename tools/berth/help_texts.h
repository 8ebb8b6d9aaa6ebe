// The part of the help that is prose: examples and exit codes.
#ifndef BERTH_TOOLS_BERTH_HELP_TEXTS_H_
#define BERTH_TOOLS_BERTH_HELP_TEXTS_H_

#include <string>
#include <string_view>

namespace berth::cli {

extern const std::string_view kRunFooter;
extern const std::string_view kProviderFooter;
extern const std::string_view kProviderListFooter;
extern const std::string_view kProviderInspectFooter;
extern const std::string_view kProviderExplainFooter;
extern const std::string_view kProviderNewFooter;
extern const std::string_view kProviderWatchFooter;
extern const std::string_view kIntentsFooter;
extern const std::string_view kSessionFooter;
extern const std::string_view kReconcileFooter;
extern const std::string_view kDrainFooter;
extern const std::string_view kProviderCompareFooter;
extern const std::string_view kReceiptsFooter;
extern const std::string_view kDocumentFooter;
extern const std::string_view kDocumentPutFooter;
extern const std::string_view kDocumentListFooter;
extern const std::string_view kDocumentShowFooter;
extern const std::string_view kDocumentRevisionsFooter;
extern const std::string_view kDocumentRunFooter;
extern const std::string_view kCreditsFooter;
extern const std::string_view kCreditsGrantFooter;
extern const std::string_view kCreditsBalanceFooter;
extern const std::string_view kCreditsStatementFooter;
extern const std::string_view kConformanceFooter;
extern const std::string_view kConformanceListFooter;
extern const std::string_view kConformanceRunFooter;
extern const std::string_view kConformanceFuzzFooter;
extern const std::string_view kConformanceExplainFooter;
extern const std::string_view kConformanceCompareFooter;
extern const std::string_view kTemplatesFooter;
extern const std::string_view kTemplatesStatusFooter;
extern const std::string_view kTemplatesStopFooter;
extern const std::string_view kDoctorFooter;
extern const std::string_view kVersionFooter;

// Examples, files, and the table of exit codes.
std::string main_footer();

}  // namespace berth::cli

#endif  // BERTH_TOOLS_BERTH_HELP_TEXTS_H_
