// Whatever a program leaves, what is read of it is bounded, valid and can be stored and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/execution/document.h"
#include "core/execution/records.h"
#include "tests/fuzz/fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  berth::ProgramRecords records = berth::read_records(file, "0123");
  FUZZ_CHECK(records.charts.size() <= berth::kFiguresMax + 1);
  FUZZ_CHECK(records.notes.size() <= berth::kNotesMax);
  berth::ExecutionResult result;
  result.result = records.result;
  result.charts = records.charts;
  result.error = records.error;
  result.notes = records.notes;
  const std::string document = berth::bounded_document(result);
  FUZZ_CHECK(document.size() <= berth::kDocumentBytesMax);
  FUZZ_CHECK(berth::is_valid_utf8(document));
  const auto again = berth::execution_result_from_json(document);
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(again->charts.size() == records.charts.size());
  FUZZ_CHECK(again->result.has_value() == records.result.has_value());
  return 0;
}
