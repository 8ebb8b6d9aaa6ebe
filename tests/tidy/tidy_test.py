#!/usr/bin/python3
"""Proves that every check of tidy.py can fail, and that it accepts what it should."""

import json
import tempfile
import unittest
from pathlib import Path

import tidy


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name, "tree")
        self.build = Path(folder.name, "out")

    def findings(self, check, files, compiled=()):
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.build.mkdir(exist_ok=True)
        entries = [{"directory": str(self.root), "file": path} for path in compiled]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))
        (self.build / "build.ninja").write_text("\n".join(
            str(self.root / path) for path in files if not path.startswith("tests/unread/")))
        return [str(f) for f in tidy.CHECKS[check](tidy.Tree(self.root, self.build))]

    def refuses(self, check, files, words, compiled=()):
        found = self.findings(check, files, compiled)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def accepts(self, check, files, compiled=()):
        self.assertEqual(self.findings(check, files, compiled), [])


def edge(source, target):
    """A tree in which `source` includes `target`."""
    return {source: f'#include "{target}"\n', target: "int here;\n"}


class Arrows(TidyTest):
    def test_lifecycle_must_not_know_the_store(self):
        self.refuses("arrows", edge("core/lifecycle/a.cc", "core/store/b.h"), "core/store")

    def test_lifecycle_must_not_know_the_plugins(self):
        self.refuses("arrows", edge("core/lifecycle/a.cc", "core/plugin/b.h"), "core/plugin")

    def test_execution_must_not_reach_a_provider_around_the_lifecycle(self):
        self.refuses("arrows", edge("core/execution/a.cc", "core/plugin/b.h"), "core/plugin")

    def test_base_stands_on_nothing(self):
        self.refuses("arrows", edge("core/base/a.h", "core/os/b.h"), "nothing")

    def test_core_must_not_know_the_authoring_layer(self):
        self.refuses("arrows", edge("core/plugin/a.cc", "sdk/include/berth/provider.hpp"),
                     "berth/abi.h")

    def test_sdk_must_not_know_core(self):
        self.refuses("arrows", edge("sdk/include/berth/a.hpp", "core/base/b.h"), "sdk knows nothing")

    def test_a_plugin_must_not_know_core(self):
        self.refuses("arrows", edge("plugins/local/a.cc", "core/os/fd.h"), "a plugin knows only")

    def test_a_plugin_must_not_know_another(self):
        self.refuses("arrows", edge("plugins/local/a.cc", "plugins/e2b/b.h"), "a plugin knows only")

    def test_a_relative_include_does_not_hide_an_arrow(self):
        files = {"core/lifecycle/a.cc": '#include "../store/b.h"\n', "core/store/b.h": "int b;\n"}
        self.refuses("arrows", files, "climbs")

    def test_the_lifecycle_does_no_input_or_output(self):
        self.refuses("arrows", {"core/lifecycle/a.cc": "#include <sqlite3.h>\n"}, "sqlite3.h")

    def test_a_module_without_a_place_is_refused(self):
        self.refuses("arrows", {"core/novel/a.cc": "int a;\n"}, "no place")

    def test_arrows_that_point_down_are_accepted(self):
        files = {}
        for source, target in [("core/execution/a.cc", "core/lifecycle/b.h"),
                               ("core/plugin/a.cc", "sdk/include/berth/abi.h"),
                               ("core/store/a.cc", "core/lifecycle/c.h"),
                               ("plugins/e2b/a.cc", "plugins/http/b.h"),
                               ("plugins/local/a.cc", "sdk/include/berth/provider.hpp"),
                               ("tools/berth/a.cc", "core/execution/b.h"),
                               ("tests/unit/a.cc", "sdk/include/berth/testing/host.hpp")]:
            files.update(edge(source, target))
        self.accepts("arrows", files)


class Built(TidyTest):
    def test_a_source_without_a_target_is_dead(self):
        self.refuses("built", {"core/base/a.cc": "int a;\n", "core/base/b.cc": "int b;\n"},
                     "core/base/b.cc", compiled=["core/base/a.cc"])

    def test_benchmarks_are_asked_for_by_the_build_that_has_them(self):
        files = {"core/base/a.cc": "int a;\n", "tools/bench/b.cc": "int b;\n"}
        self.refuses("built", files, "tools/bench/b.cc", compiled=["core/base/a.cc"])
        (self.build / "CMakeCache.txt").write_text("BERTH_BUILD_BENCH:BOOL=OFF\n")
        self.accepts("built", files, compiled=["core/base/a.cc"])

    def test_a_header_that_no_compiled_source_reaches_is_dead(self):
        files = {"core/base/a.cc": '#include "core/base/a.h"\n', "core/base/a.h": "int a;\n",
                 "core/base/b.h": '#include "core/base/c.h"\n', "core/base/c.h": "int c;\n"}
        found = self.findings("built", files, compiled=["core/base/a.cc"])
        self.assertEqual([f.split(":")[0] for f in found], ["core/base/b.h", "core/base/c.h"])

    def test_a_script_that_nobody_names_is_dead(self):
        self.refuses("built", {"core/a.cc": "int a;\n", "tools/lost/lonely.py": "print(1)\n"},
                     "lonely.py", compiled=["core/a.cc"])

    def test_a_folder_that_no_list_reaches_is_dead_with_all_it_names(self):
        files = {"core/a.cc": "int a;\n", "tests/unread/CMakeLists.txt": "add_executable(t t_test.cc)\n",
                 "tests/unread/t_test.cc": "int t;\n"}
        found = self.findings("built", files, compiled=["core/a.cc"])
        self.assertEqual([f.split(":")[0] for f in found],
                         ["tests/unread/CMakeLists.txt", "tests/unread/t_test.cc"])

    def test_a_source_that_a_test_compiles_itself_is_alive(self):
        files = {"core/a.cc": "int a;\n", "tests/abi/CMakeLists.txt": "add_test(x gates.py)\n",
                 "tests/abi/gates.py": "compile('layout.c')\n", "tests/abi/layout.c": "int c;\n"}
        self.accepts("built", files, compiled=["core/a.cc"])

    def test_a_module_that_another_script_imports_is_alive(self):
        files = {"core/a.cc": "int a;\n", "tests/x/CMakeLists.txt": "add_test(x case_test.py)\n",
                 "tests/x/case_test.py": "import steps\n", "tests/x/steps.py": "print(1)\n"}
        self.accepts("built", files, compiled=["core/a.cc"])

    def test_headers_on_an_include_path_above_are_alive(self):
        files = {"plugins/x/deep/a.cc": '#include "wire.h"\n', "plugins/x/wire.h": "int a;\n"}
        self.accepts("built", files, compiled=["plugins/x/deep/a.cc"])

    def test_headers_reached_through_headers_are_alive(self):
        files = {"core/a.cc": '#include "core/a.h"\n', "core/a.h": '#include "core/b.h"\n',
                 "core/b.h": "int b;\n"}
        self.accepts("built", files, compiled=["core/a.cc"])


class Length(TidyTest):
    LONG_FUNCTION = "int f() {\n" + "  g();\n" * 90 + "}\n"

    def test_a_long_file_needs_a_reason(self):
        self.refuses("length", {"core/a.cc": "int a;\n" * 501}, "501 lines")

    def test_a_long_file_with_a_reason_is_accepted(self):
        self.accepts("length", {"core/a.cc": "// Long because it is a table.\n" + "int a;\n" * 600})

    def test_a_long_function_needs_a_reason(self):
        self.refuses("length", {"core/a.cc": self.LONG_FUNCTION}, "92 lines")

    def test_a_long_member_function_needs_a_reason(self):
        body = "  int f() const {\n" + "    g();\n" * 90 + "  }\n"
        self.refuses("length", {"core/a.h": "class A {\n" + body + "};\n"}, "92 lines")

    def test_a_long_function_with_a_long_signature_needs_a_reason(self):
        long = self.LONG_FUNCTION.replace("int f() {", "int f(int a,\n      int b) {")
        self.refuses("length", {"core/a.cc": long}, "93 lines")

    def test_a_constructor_ends_where_its_own_brace_closes(self):
        text = "A::A(int b)\n    : b_(b) {\n  f();\n}\n" + "int g();\n" * 90 + "int h() {\n  if (b) {\n  }\n}\n"
        self.accepts("length", {"core/a.cc": text})

    def test_a_long_function_with_a_reason_is_accepted(self):
        self.accepts("length", {"core/a.cc": "// Long because it is one switch.\n" + self.LONG_FUNCTION})

    def test_a_long_class_is_not_a_function(self):
        self.accepts("length", {"core/a.h": "class A : public B {\n" + "  int a();\n" * 90 + "};\n"})


class Words(TidyTest):
    def test_unfinished_work_is_found(self):
        self.refuses("words", {"core/a.cc": "// TO" + "DO: more\n"}, "unfinished")

    def test_a_switched_off_test_is_found(self):
        self.refuses("words", {"tests/a.cc": "GTEST_" + "SKIP();\n"}, "switches a test off")

    def test_a_name_that_says_nothing_is_found(self):
        self.refuses("words", {"core/a.h": "class SandboxManager {};\n"}, "a name must say")

    def test_a_template_parameter_may_have_the_name_its_library_gives_it(self):
        self.accepts("words", {"core/a.h": "template <class Handler>\nvoid f(Handler h);\n"})

    def test_a_file_name_that_says_nothing_is_found(self):
        self.refuses("words", {"core/string_utils.h": "int a;\n"}, "file's name")

    def test_a_path_of_one_machine_is_found(self):
        self.refuses("words", {"README.md": "", "core/README.md": "see /wor" + "k/main/x\n"}, "machine")

    def test_a_close_outside_its_owner_is_found(self):
        self.refuses("words", {"core/plugin/a.cc": "::close(fd);\n"}, "owner types")

    def test_globbing_is_found(self):
        self.refuses("words", {"core/CMakeLists.txt": "file(GLOB sources *.cc)\n"}, "globbed")

    def test_owners_may_close(self):
        self.accepts("words", {"core/os/fd.cc": "::close(raw);\n", "core/a.cc": "stream.close();\n"})


class Readmes(TidyTest):
    def test_a_folder_without_a_readme_is_found(self):
        self.refuses("readmes", {"core/a.cc": "int a;\n"}, "has no README.md")

    def test_a_link_that_leads_nowhere_is_found(self):
        self.refuses("readmes", {"core/README.md": "[x](nowhere.md)\n"}, "nowhere.md")

    def test_links_that_lead_somewhere_are_accepted(self):
        self.accepts("readmes", {"core/README.md": "[x](a.cc) [y](https://example.org)\n",
                                 "core/a.cc": "int a;\n"})


class Scripts(TidyTest):
    def test_a_script_that_does_not_parse_is_found(self):
        found = self.findings("scripts", {"tools/a": "#!/bin/bash\nif true; then\n"})
        self.assertTrue(any("tools/a" in f and "syntax error" in f for f in found), found)

    def test_what_shellcheck_finds_is_found(self):
        self.refuses("scripts", {"tools/a": "#!/bin/bash\nrm -- $1\n"}, "SC2086")

    def test_python_that_does_not_parse_is_found(self):
        self.refuses("scripts", {"tools/a.py": "def f(:\n"}, "python cannot read it")

    def test_good_scripts_are_accepted(self):
        self.accepts("scripts", {"tools/a": "#!/bin/bash\necho \"$1\"\n", "tools/b.py": "print(1)\n"})


del TidyTest  # the base has no case of its own

if __name__ == "__main__":
    unittest.main()
