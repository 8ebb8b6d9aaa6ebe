// The program that keeps a context's names, embedded at build time from interpreter.py.
#ifndef BERTH_TESTS_STANDINS_DAYTONA_INTERPRETER_H_
#define BERTH_TESTS_STANDINS_DAYTONA_INTERPRETER_H_

#include <string_view>

namespace berth::standins::daytona {

std::string_view interpreter_py();

}  // namespace berth::standins::daytona

#endif  // BERTH_TESTS_STANDINS_DAYTONA_INTERPRETER_H_
