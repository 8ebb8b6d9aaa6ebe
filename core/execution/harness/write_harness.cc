// Writes the Python harness into the file that is named, while Berth is built: a provider that has
// interpreters waiting may run it ahead.
#include <fstream>

#include "core/execution/harness.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ofstream file(arguments[1], std::ios::binary | std::ios::trunc);
  file << berth::harness::python_harness();
  file.close();
  return file ? 0 : 1;
}
