// What a program left in its private file, read as the foreign input it is.
//
// The file is a line "berth-result 1 <nonce>" and then records: "<kind> <n> <m>\n", n bytes of JSON,
// "\n", m raw bytes, "\n". The program shares its process with whoever writes them, so nothing here
// decides about exit, signal, timings or receipt; the worst a hostile file can do is to spoil its own
// result.
#ifndef BERTH_CORE_EXECUTION_RECORDS_H_
#define BERTH_CORE_EXECUTION_RECORDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution/execution.h"

namespace berth {

inline constexpr std::size_t kRecordsBytesMax = std::size_t{32} << 20;
inline constexpr std::size_t kFiguresMax = 32;
inline constexpr std::size_t kFigureBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kFiguresBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kChartBytesMax = std::size_t{4} << 20;
inline constexpr std::size_t kResultTextMax = std::size_t{1} << 20;
inline constexpr std::size_t kNotesMax = 64;

struct ProgramRecords {
  std::optional<ResultValue> result;
  std::vector<Chart> charts;  // the interactive one first, then figures by creation
  std::optional<ProgramError> error;
  std::vector<std::string> notes;  // what the program's side or this reader left out, and why
  bool complete = false;           // the last record says that nothing is missing
};

// Reads what is valid and says in a note where it stopped.
ProgramRecords read_records(std::string_view file, std::string_view nonce);

}  // namespace berth

#endif  // BERTH_CORE_EXECUTION_RECORDS_H_
