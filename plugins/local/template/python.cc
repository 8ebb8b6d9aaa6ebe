// What the Python half of a template calls. It holds the interpreter's lock throughout.
#include <cstddef>
#include <cstdio>
#include <unistd.h>

#include "template/fork.h"

// What is used of the interpreter that loads this, which has these symbols whatever its minor version.
extern "C" {
struct PyObject;
struct PyMethod {
  const char* name;
  PyObject* (*call)(PyObject*, PyObject*);
  int flags;
  const char* documentation;
};
extern PyObject* PyExc_SystemExit;
int PyArg_UnpackTuple(PyObject*, const char*, std::ptrdiff_t, std::ptrdiff_t, ...);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
void PyErr_SetObject(PyObject*, PyObject*);
PyObject* PyCMethod_New(PyMethod*, PyObject*, PyObject*, PyObject*);
}

namespace {

// sys.exit, but the exception it raises exists as an object from the start, so that the interpreter asks
// it for its code at the end.
PyObject* raise_exit(PyObject*, PyObject* arguments) {
  PyObject* status = nullptr;
  if (PyArg_UnpackTuple(arguments, "exit", 0, 1, &status) == 0) return nullptr;
  PyObject* const error = PyObject_CallFunctionObjArgs(PyExc_SystemExit, status, nullptr);
  if (error != nullptr) PyErr_SetObject(PyExc_SystemExit, error);
  return nullptr;
}

}  // namespace

extern "C" {

#define BERTH_EXPORT __attribute__((visibility("default")))

BERTH_EXPORT int berth_template_serve(int control) {
  berth::local::serve_forks(control, berth::local::Keeps::kStreams);
  return berth::local::kInterpreterSocket;
}

BERTH_EXPORT int berth_template_is_asked(int) { return berth::local::command_is_there() ? 1 : 0; }

BERTH_EXPORT int berth_template_await(int) { return berth::local::await_command(); }

BERTH_EXPORT const char* berth_template_argument(int index) {
  return berth::local::taken_command().argv[index];
}

// The command's environment, or nullptr behind its end.
BERTH_EXPORT const char* berth_template_variable(int index) {
  return berth::local::taken_command().environment[index];
}

BERTH_EXPORT void berth_template_execute() { berth::local::execute_taken_command(); }

// The function that takes the place of sys.exit.
BERTH_EXPORT PyObject* berth_template_exit(PyObject* module, PyObject* name, const char* documentation) {
  constexpr int kVariableArguments = 1;
  static PyMethod method{"exit", raise_exit, kVariableArguments, documentation};
  return PyCMethod_New(&method, module, name, nullptr);
}

// Ends the process as the end of the interpreter would.
BERTH_EXPORT void berth_template_end(int code) {
  std::fflush(nullptr);
  _exit(code);
}

BERTH_EXPORT void berth_template_become(char* area, std::size_t room) {
  berth::local::become_program(area, room);
}
}
