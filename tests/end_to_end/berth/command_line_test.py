"""The command's own surface: help, usage errors, configuration, files: what needs no provider."""

import json
import os
import re
import subprocess
from pathlib import Path

import cli
from cli import BerthCase

COMMANDS = [["run"], ["provider", "list"], ["provider", "inspect"], ["provider", "compare"], ["provider", "explain"],
            ["provider", "new"], ["provider", "watch"], ["conformance", "list"], ["conformance", "run"],
            ["conformance", "fuzz"], ["conformance", "explain"], ["conformance", "compare"], ["intents"],
            ["session", "retire"], ["reconcile"], ["drain"], ["receipts"], ["doctor"], ["version"],
            ["document", "put"], ["document", "list"], ["document", "show"], ["document", "revisions"],
            ["document", "run"], ["credits", "grant"], ["credits", "balance"], ["credits", "statement"],
            ["templates", "status"], ["templates", "stop"]]
MANUAL = Path(__file__).parents[3] / "tools" / "berth" / "man" / "berth.1"
README = Path(__file__).parents[3] / "README.md"
SHARED = ("--json", "--state-dir", "--config", "--help")
HEADER = Path(__file__).parents[3] / "tools" / "berth" / "exit_codes.h"


class Help(BerthCase):
    HELP = {}

    def help_of(self, *command):
        """What the command says of itself, asked once for all of these tests."""
        if command not in self.HELP:
            self.HELP[command] = self.berth(*command, "--help")
        return self.HELP[command]

    def test_every_command_explains_itself_with_examples_in_eighty_columns(self):
        for command in [[], ["provider"], ["conformance"], ["session"], ["document"], ["credits"], ["templates"],
                        *COMMANDS]:
            with self.subTest(command=command):
                done = self.help_of(*command)
                self.assertIn("Example", done.stdout)
                self.assertIn("Usage: berth " + " ".join(command), done.stdout)
                self.assertEqual(done.stderr, "")
                too_long = [line for line in done.stdout.splitlines() if len(line) > 80]
                self.assertEqual(too_long, [])

    def test_the_commands_of_these_tests_are_all_there_are(self):
        def leaves(*command):
            listed = self.help_of(*command).stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
            inner = re.findall(r"^  (\S+)", listed, re.MULTILINE)
            return [leaf for one in inner for leaf in leaves(*command, one)] if inner else [list(command)]
        self.assertEqual(sorted(leaves()), sorted(COMMANDS))

    def test_every_leaf_command_takes_the_shared_options(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                text = self.help_of(*command).stdout
                for option in ("--json", "--state-dir", "--config"):
                    self.assertIn(option, text)

    def test_help_works_without_a_home_or_a_state_folder(self):
        done = self.berth("--help", environment={"HOME": "", "BERTH_STATE_DIR": "/proc/nowhere"})
        self.assertIn("Exit codes:", done.stdout)

    def test_every_exit_code_is_in_the_help_and_in_the_manual(self):
        names = re.findall(r"^  k(\w+) = (\d+),", HEADER.read_text(), re.MULTILINE)
        self.assertGreater(len(names), 10)
        help_text, manual = self.help_of().stdout, MANUAL.read_text()
        for name, number in names:
            with self.subTest(code=name):
                self.assertRegex(help_text, rf"(?m)^  {number} ")
                self.assertRegex(manual, rf"(?m)^\.It {number}$")

    def test_every_flag_is_in_the_manual(self):
        manual = MANUAL.read_text().replace("\\-", "-")
        synopsis = self.synopsis(manual)
        self.assertEqual(sorted(synopsis), sorted(" ".join(command) for command in COMMANDS))
        for command in COMMANDS:
            known = synopsis[" ".join(command)]
            if "Ar option ..." in known:  # those of run
                known += synopsis["run"]
            flags = re.findall(r"^  (?:-[a-z], ?)?(--[a-z-]+)", self.help_of(*command).stdout, re.MULTILINE)
            self.assertGreaterEqual(len(flags), 3)
            for flag in flags:
                with self.subTest(command=command, flag=flag):
                    self.assertRegex(manual, rf"(?m)^\.It .*Fl {flag[1:]}(?![a-z-])", "is explained")
                    if flag not in SHARED:
                        self.assertRegex(known, rf"Fl {flag[1:]}(?![a-z-])", "is in the synopsis of its command")

    def test_the_manual_knows_no_flag_that_the_command_does_not(self):
        for name, known in self.synopsis(MANUAL.read_text().replace("\\-", "-")).items():
            text = self.help_of(*name.split()).stdout
            for flag in re.findall(r"Fl (-[a-z-]+)", known):
                with self.subTest(command=name, flag=flag):
                    self.assertRegex(text, rf"(?m)^  (?:-[a-z], ?)?-{flag}(?![a-z-])")

    @staticmethod
    def synopsis(manual):
        """The synopsis of each command, by its words."""
        part = manual[manual.index(".Sh SYNOPSIS"):manual.index(".Sh DESCRIPTION")]
        entries = [entry.strip().split("\n", 1) for entry in part.split("\n.Nm\n")[1:]]
        return {entry[0].removeprefix(".Cm "): "".join(entry[1:]) for entry in entries}

    def test_the_read_me_says_what_a_run_ends_with_and_where_the_codes_are_listed(self):
        text = " ".join(README.read_text().split())
        for words in ("the program's own exit code", "128+n when signal n ended it", "a code from 200 on",
                      "`berth --help` lists them", "--stream json", "--json", "--open"):
            self.assertIn(words, text)
        numbers = [int(number) for _, number in re.findall(r"^  k(\w+) = (\d+),", HEADER.read_text(), re.MULTILINE)]
        own = [number for number in numbers if number > 1 and number < 129 or number > 143]
        self.assertEqual(min(own), 200)

    def test_the_manual_has_no_errors(self):
        done = subprocess.run(["groff", "-mandoc", "-Tascii", "-ww", str(MANUAL)], text=True,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Usage(BerthCase):
    def refused(self, *arguments):
        done = self.berth(*arguments, expect=cli.USAGE)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aberth: .+\nberth: see 'berth.* --help'\n\Z")
        return done.stderr

    def test_a_missing_command_prints_the_help_on_standard_error(self):
        done = self.berth(expect=cli.USAGE)
        self.assertEqual(done.stdout, "")
        self.assertIn("Usage: berth COMMAND", done.stderr)

    def test_what_is_unknown_is_named(self):
        self.assertIn("unknown command 'frob'", self.refused("frob"))
        self.assertIn("unknown command 'frob'", self.refused("provider", "frob"))
        self.assertIn("unknown option '--frob'", self.refused("session", "--frob"))
        self.assertIn("unknown option '--frob'", self.refused("run", "x.py", "--frob"))
        self.assertIn("unexpected argument 'y.py'", self.refused("run", "x.py", "y.py"))
        self.assertIn("unexpected argument '-y'", self.refused("run", "--", "x.py", "-y"))

    def test_a_file_whose_name_begins_as_options_do_is_run_or_how_to_is_said(self):
        self.file("-x.py", "print(5)")
        for argument in (("--", "-x.py"), ("./-x.py",)):
            self.assertEqual(self.berth("run", *argument).stdout, "5\n")
        self.assertIn("unknown option '-x.py'; a name that begins so is given as './-x.py' or after '--'",
                      self.refused("run", "-x.py"))

    def test_what_is_missing_is_named(self):
        self.assertIn("FILE is required", self.refused("run"))
        self.assertIn("SUBJECT is required", self.refused("provider", "inspect"))
        self.assertIn("a command is missing", self.refused("provider"))
        self.assertIn("SESSION is required", self.refused("session", "retire", "ann"))

    def test_values_are_checked_with_a_sentence_that_shows_a_right_one(self):
        for option, value in [("--timeout", "0"), ("--timeout", "5x"), ("--timeout", "-1"),
                              ("--timeout", "25h"), ("--timeout", "nan"), ("--memory", "lots"),
                              ("--memory", "0"), ("--memory", "1e9"), ("--cpus", "0"),
                              ("--cpus", "1,5"), ("--processes", "1.5"), ("--processes", "0"),
                              ("--disk", "9999999999T"), ("--network", "some"),
                              ("--language", "cobol")]:
            with self.subTest(option=option, value=value):
                message = self.refused("run", "x.py", f"{option}={value}")
                self.assertIn(f"{option}: '{value}' is not ", message)

    def test_an_empty_value_is_never_taken_for_the_default(self):
        for option in ("--owner", "--session", "--call", "--turn", "--provider", "--title", "--output"):
            with self.subTest(option=option):
                self.assertIn(f"{option}: the value is empty", self.refused("run", "x.py", option, ""))
        self.assertIn("--owner: the value is empty", self.refused("receipts", "--owner", ""))

    def test_times_are_checked(self):
        for value in ["yesterday", "2026-13-01", "2026-02-30", "2026-11-29T25:00:00Z", "24", "1w"]:
            with self.subTest(value=value):
                self.assertIn(f"'{value}' is not a time", self.refused("receipts", "--since", value))

    def test_an_operators_word_needs_a_name_and_evidence(self):
        self.assertIn("--evidence", self.refused("reconcile", "--name", "x", "--established", "absent"))
        self.assertIn("--name", self.refused("reconcile", "--established", "absent", "--evidence", "e"))
        self.assertIn("--established", self.refused("reconcile", "--name", "x", "--evidence", "e"))
        self.assertIn("absent or present", self.refused("reconcile", "--name", "x", "--evidence", "e",
                                                        "--established", "maybe"))

    def test_with_json_every_one_of_them_is_a_document_like_any_other_error(self):
        for arguments, code in ((["frob"], cli.USAGE), (["run"], cli.USAGE), (["provider"], cli.USAGE),
                                (["run", "x.py", "--timeout", "0"], cli.USAGE), (["run", "--frob", "x.py"], cli.USAGE),
                                (["receipts", "--format", "csv"], cli.USAGE), (["conformance", "run"], 2)):
            with self.subTest(arguments=arguments):
                done = self.berth(*arguments, "--json", expect=code)
                error = json.loads(done.stdout)["error"]
                self.assertEqual((error["kind"], error["exit_code"]), ("invalid_argument", code))
                self.assertEqual(done.stderr.splitlines()[0], "berth: " + error["message"])
        self.assertEqual(self.berth("run", "--", "--json", "x", expect=cli.USAGE).stdout, "")

    def test_a_name_is_text_without_control_characters(self):
        for option in ("--owner", "--session", "--call", "--turn", "--provider"):
            with self.subTest(option=option):
                self.assertIn(f"{option}: the value is not valid UTF-8", self.refused("run", "x.py", option, "a\udcff"))
                for text in ("a\nb", "a\x1b[31mb", "a\x7f", "a\x9bb"):
                    self.assertIn(f"{option}: the value has control characters",
                                  self.refused("run", "x.py", option, text))
        self.assertIn("OWNER: the value has", self.refused("session", "retire", "a\tb", "s"))

    def test_two_formats_at_once_are_refused(self):
        done = self.berth("receipts", "--json", "--format", "csv", expect=cli.USAGE)
        self.assertIn("--json excludes --format", json.loads(done.stdout)["error"]["message"])


class Version(BerthCase):
    def test_version_is_one_document_with_json(self):
        document = self.document("version")
        self.assertRegex(document["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(document["contract"], "1.0")

    def test_the_flag_and_the_command_say_the_same(self):
        self.assertEqual(self.berth("--version").stdout, self.berth("version").stdout)

    def test_nothing_is_made_on_disk(self):
        self.berth("version")
        self.assertFalse(self.state.exists())


class Configuration(BerthCase):
    def refused(self, value, *more):
        path = self.config(value)
        done = self.program("print(1)", *more, expect=cli.CONFIGURATION)
        self.assertEqual(done.stdout, "")
        self.assertIn(str(path), done.stderr)
        self.assertFalse(self.state.exists())
        return done.stderr

    def test_what_is_wrong_is_named_by_its_path(self):
        self.assertRegex(self.refused({"limits": {}, "frob": 1}), r"\bfrob\b")

    def test_nested_places_are_named(self):
        for value, place in [({"limits": {"memory": "much"}}, "config.limits.memory: 'much' is not a size"),
                             ({"limits": {"memroy": 1}}, "config.limits.memroy: is unknown"),
                             ({"limits": 3}, "config.limits: is not an object"),
                             ({"priceMicroUsd": -1}, "config.priceMicroUsd: is not"),
                             ({"priceMicroUsd": 0.5}, "config.priceMicroUsd: is not"),
                             ({"provider": 7}, "config.provider: is not text"),
                             ({"deadlines": {"call": "20m"}}, "config.deadlines.lifetime: is shorter"),
                             ({"billing": {"kind": "barter"}}, "config.billing.kind: is not \"credits\""),
                             ({"providers": {"local": {"hosting": "cloud"}}}, "hosting")]:
            with self.subTest(value=value):
                self.assertIn(place, self.refused(value))

    def test_a_link_that_leads_nowhere_is_no_missing_file(self):
        path = self.config({})
        for name in ("config.json", "providers.lock.json"):
            link = path.parent / name
            link.unlink(missing_ok=True)
            link.symlink_to("nowhere.json")
            done = self.program("print(1)", expect=cli.CONFIGURATION)
            self.assertIn(f"'{link}' is a link to 'nowhere.json', which is not there", done.stderr)
            link.unlink()
        self.assertFalse(self.state.exists())

    def test_a_document_that_is_not_json_is_refused_with_its_place(self):
        self.assertRegex(self.refused('{"provider": "local",}'), r"byte|offset")

    def test_deep_and_large_documents_are_refused(self):
        self.refused("[" * 100 + "]" * 100)
        self.refused('{"provider": "' + "x" * (2 << 20) + '"}')

    def test_a_folder_and_a_file_that_everyone_can_write_are_refused(self):
        self.berth("run", self.file("p.py", ""), "--config", str(self.work), expect=cli.CONFIGURATION)
        path = self.config({})
        path.chmod(0o666)
        self.assertIn("chmod o-w", self.berth("run", self.file("p.py", ""), expect=cli.CONFIGURATION).stderr)

    def test_a_named_file_must_exist(self):
        done = self.berth("run", self.file("p.py", ""), "--config", "nowhere.json", expect=cli.CONFIGURATION)
        self.assertIn("nowhere.json", done.stderr)

    def test_values_of_provider_configurations_are_never_repeated(self):
        text = self.refused({"providers": {"local": {"config": {"token": "s3cr3t-value"}, "frob": "s3cr3t-too"}}})
        self.assertNotIn("s3cr3t", text)

    def test_with_json_the_error_is_one_document(self):
        self.config({"limits": 3})
        document = self.document("receipts", expect=cli.CONFIGURATION)
        self.assertEqual(document["error"]["exit_code"], cli.CONFIGURATION)
        self.assertIn("config.limits", document["error"]["message"])


class ProgramFiles(BerthCase):
    def refused(self, *arguments, **options):
        done = self.berth("run", *arguments, expect=cli.INPUT, **options)
        self.assertEqual(done.stdout, "")
        self.assertFalse(self.state.exists(), "a file that cannot be read makes nothing on disk")
        return done.stderr

    def test_a_missing_file_a_folder_and_a_device_are_told_apart(self):
        self.assertIn("No such file", self.refused("nowhere.py"))
        folder = self.work / "folder.py"
        folder.mkdir()
        self.assertIn("is a folder", self.refused(str(folder)))
        self.assertIn("neither a file nor a pipe", self.refused("/dev/zero", "--language", "python"))

    def test_a_binary_file_is_refused(self):
        path = self.file("binary.py", b"\x7fELF\x02\x01\x01\0\0\0")
        self.assertIn("byte 7 is zero", self.refused(path))

    def test_a_name_that_tells_no_language_is_refused_with_the_flag_that_does(self):
        path = self.file("program.rb", "puts 1")
        self.assertIn("--language", self.refused(path))

    def test_a_file_beyond_the_bound_is_refused(self):
        path = self.file("large.py", "#" * ((16 << 20) + 1))
        self.refused(path)

    def test_closed_standard_input_is_an_error_and_not_an_empty_program(self):
        done = subprocess.run(["sh", "-c", f"exec '{cli.BERTH}' run - <&-"], cwd=self.work, text=True,
                              env=self.environment(), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, cli.INPUT, done.stderr)
        self.assertIn("standard input", done.stderr)

    def test_a_signal_ends_the_waiting_for_a_program_that_never_comes(self):
        process = self.start("run", "-", stdin=subprocess.PIPE)
        process.stdin.write(b"print(1)")
        process.stdin.flush()
        cli.wait_until(lambda: self.is_asleep(process.pid),
                       "berth waits for its program")
        process.send_signal(cli.signal.SIGINT)
        self.assertEqual(process.wait(cli.TIMEOUT_SECONDS), -cli.signal.SIGINT)

    @staticmethod
    def is_asleep(pid):
        return "\nState:\tS" in Path(f"/proc/{pid}/status").read_text()

    def test_input_files_are_checked_before_anything_runs(self):
        program = self.file("p.py", "")
        self.assertIn("nowhere.csv", self.refused(program, "--file", "nowhere.csv"))
        (self.work / "a").mkdir()
        (self.work / "a" / "x.csv").write_text("")
        self.file("x.csv", "")
        self.assertIn("would be named 'x.csv'", self.refused(program, "--file", "x.csv", "--file", "a/x.csv"))

    def test_a_file_that_may_not_be_read(self):
        path = self.file("closed.py", "")
        os.chmod(path, 0)
        if os.geteuid() == 0:
            os.chown(self.folder, 65534, 65534)
            os.chown(self.work, 65534, 65534)
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", cli.BERTH,
                                   "run", path], cwd="/", env=self.environment(), capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, cli.INPUT, done.stderr)
            self.assertIn("Permission denied", done.stderr)
        else:
            self.assertIn("Permission denied", self.refused(path))


class StateFolder(BerthCase):
    def refused(self, path):
        done = self.berth("receipts", "--state-dir", str(path), expect=cli.STATE)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_a_file_in_its_place_is_refused(self):
        self.assertIn("is not a folder", self.refused(self.file("file", "")))

    def test_a_folder_that_others_can_write_is_refused(self):
        folder = self.work / "open"
        folder.mkdir()
        folder.chmod(0o777)
        self.assertIn("can be written by others", self.refused(folder))

    def test_a_place_where_nothing_can_be_made_is_refused(self):
        done = self.berth("run", "-", "--language", "python", "--state-dir", "/proc/nowhere", input="1", expect=cli.STATE)
        self.assertIn("/proc/nowhere", done.stderr)

    def test_what_only_looks_or_settles_takes_no_folder_that_is_not_there(self):
        folder = self.work / "mistyped"
        for command in (["receipts"], ["intents"], ["reconcile"], ["drain", "--provider", "local"]):
            done = self.berth(*command, "--state-dir", str(folder), expect=cli.INPUT)
            self.assertIn(f"'{folder}': there is no such folder", done.stderr)
            self.assertFalse(folder.exists())

    def test_a_store_that_is_not_one_is_refused_and_left_alone(self):
        folder = self.work / "state"
        folder.mkdir(mode=0o700)
        (folder / "berth.db").write_bytes(b"not a database, " * 1000)
        self.assertIn("berth.db", self.refused(folder))
        self.assertEqual((folder / "berth.db").read_bytes(), b"not a database, " * 1000)

    def test_it_is_private(self):
        self.program("print(1)")
        self.assertTrue({"hosts", "logs", "providers"} <= {path.name for path in self.state.iterdir()})
        self.assertEqual(self.state.stat().st_mode & 0o777, 0o700)
        for path in self.state.rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)


class Records(BerthCase):
    def test_an_empty_store_says_so_and_prints_empty_documents(self):
        self.assertEqual(self.berth("receipts").stdout, "")
        self.assertEqual(self.document("receipts"), {"receipts": []})
        self.assertEqual(self.document("intents"), {"intents": []})
        self.assertEqual(self.berth("receipts", "--format", "jsonl").stdout, "")
        self.assertEqual(len(self.berth("receipts", "--format", "csv").stdout.splitlines()), 1)
        self.assertIn("nothing is unresolved", self.berth("intents", "--unresolved").stderr)

    def test_an_unknown_intent_is_an_error(self):
        self.assertIn("no intent 'berth-x'", self.berth("intents", "berth-x", expect=cli.INPUT).stderr)

    def test_a_full_and_a_closed_standard_output_are_errors(self):
        with open("/dev/full", "wb") as full:
            done = self.berth("receipts", "--json", stdout=full, expect=cli.OUTPUT)
        self.assertIn("No space left", done.stderr)
        done = subprocess.run(["sh", "-c", f"exec '{cli.BERTH}' version >&-"], text=True, cwd=self.work,
                              env=self.environment(), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, cli.OUTPUT, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)


if __name__ == "__main__":
    cli.main()
