// What the Python half of a template calls. It holds the interpreter's lock throughout.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "template/fork.h"
#include "template/holes.h"
#include "template/image.h"
#include "template/touched.h"

// What is used of the interpreter that loads this, which has these symbols whatever its minor version.
extern "C" {
struct PyObject;
struct PyMethod {
  const char* name;
  PyObject* (*call)(PyObject*, PyObject*);
  int flags;
  const char* documentation;
};
struct PyArenas {
  void* context;
  void* (*take)(void*, std::size_t);
  void (*give_back)(void*, void*, std::size_t);
};
struct PyStatus {
  int type;
  const char* function;
  const char* message;
  int code;
};
extern PyObject* PyExc_SystemExit;
wchar_t* Py_DecodeLocale(const char*, std::size_t*);
PyStatus PyConfig_SetString(void*, wchar_t**, const wchar_t*);
PyStatus PyConfig_SetWideStringList(void*, void*, std::ptrdiff_t, wchar_t**);
void PyMem_RawFree(void*);
void* PyObject_Malloc(std::size_t);
void PyObject_Free(void*);
void PyObject_SetArenaAllocator(PyArenas*);
int PyArg_UnpackTuple(PyObject*, const char*, std::ptrdiff_t, std::ptrdiff_t, ...);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
void PyErr_SetObject(PyObject*, PyObject*);
PyObject* PyCMethod_New(PyMethod*, PyObject*, PyObject*, PyObject*);
}

namespace {

berth::local::Gathered arenas;

void* take_arena(void*, std::size_t bytes) { return arenas.take(bytes); }
void give_arena_back(void*, void* at, std::size_t bytes) { arenas.give_back(at, bytes); }

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

// From now on the interpreter's objects are made side by side.
BERTH_EXPORT void berth_template_gather() {
  PyArenas ours{nullptr, take_arena, give_arena_back};
  PyObject_SetArenaAllocator(&ours);
}

// Once nothing is free any more that will stay.
BERTH_EXPORT void berth_template_fill() {
  constexpr std::size_t kLargestSmall = 512;
  constexpr std::size_t kSmallStep = 16;
  berth::local::fill_holes({PyObject_Malloc, PyObject_Free, kLargestSmall, kSmallStep}, arenas);
  berth::local::fill_heap();
}

// Makes a file of them, and of the C library's heap, which is from `first` to `last`. Where that cannot be
// done it is only slower.
BERTH_EXPORT void berth_template_seal(char* first, char* last) {
  arenas.seal();
  if (last > first) berth::local::make_file_of({first, static_cast<std::size_t>(last - first)});
}

// 1 in the copy that learns what a program touches.
BERTH_EXPORT int berth_template_learn() { return berth::local::learn_touched() ? 1 : 0; }

BERTH_EXPORT int berth_template_serve(int control) {
  using berth::local::Pace;
  berth::local::serve_forks(control, berth::local::Keeps::kStreams);
  berth::local::touch(berth::local::has_time() ? Pace::kUnhurried : Pace::kHurried);
  return berth::local::kInterpreterSocket;
}

// What the interpreter will run: `arguments`, each with a NUL behind it, the first of them its file. Makes
// no objects, which would cost more than all else of it.
BERTH_EXPORT void berth_template_configure(void* configuration, wchar_t** file, void* list,
                                           const char* arguments, std::size_t count) {
  auto** const decoded = static_cast<wchar_t**>(std::calloc(count, sizeof(wchar_t*)));
  if (decoded == nullptr) _exit(1);
  for (std::size_t i = 0; i < count; ++i, arguments += std::strlen(arguments) + 1) {
    decoded[i] = Py_DecodeLocale(arguments, nullptr);
    if (decoded[i] == nullptr) _exit(1);
  }
  constexpr int kDone = 0;
  const auto length = static_cast<std::ptrdiff_t>(count);
  if (PyConfig_SetString(configuration, file, decoded[0]).type != kDone ||
      PyConfig_SetWideStringList(configuration, list, length, decoded).type != kDone) {
    _exit(1);
  }
  for (std::size_t i = 0; i < count; ++i) PyMem_RawFree(decoded[i]);
  std::free(decoded);
}

BERTH_EXPORT int berth_template_has_time() { return berth::local::has_time() ? 1 : 0; }

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
  berth::local::tell_touched();
  _exit(code);
}

BERTH_EXPORT void berth_template_become(char* area, std::size_t room) {
  berth::local::become_program(area, room);
}
}
