"""State that cannot be used as it should: damaged, read-only, or on a disk that is full."""

import json
import os
import subprocess

import cli
from cli import BerthCase

NOBODY = 65534


class StateCase(BerthCase):
    def checks(self, *arguments, expect=1, **options):
        found = self.document("doctor", *arguments, expect=expect, **options)["checks"]
        return {(check["group"], check["name"]): check for check in found}


class Damaged(StateCase):
    def setUp(self):
        super().setUp()
        self.state.mkdir(mode=0o700)
        self.store = self.state / "berth.db"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def test_doctor_says_so_and_goes_on_with_every_other_check(self):
        self.store.write_bytes(b"not a database, " * 1000)
        checks = self.checks(environment={"TMPDIR": str(self.temporary)})
        store = checks["host", "store"]
        self.assertFalse(store["ok"])
        self.assertIn("berth.db", store["detail"])
        self.assertIn("--state-dir", store["remedy"])
        self.assertTrue(checks["host", "state folder"]["ok"])
        self.assertIn(("host", "keeper"), checks)
        self.assertIn(("provider local", "usable"), checks)
        self.assertTrue(checks["python in local", "python"]["ok"])
        self.assertEqual(self.store.read_bytes(), b"not a database, " * 1000)
        self.assertEqual(list(self.temporary.iterdir()), [], "what was checked with is removed")

    def test_a_store_that_breaks_inside_is_a_failing_check_as_well(self):
        self.program("print(1)")
        text = self.store.read_bytes()
        self.store.write_bytes(text[:4096] + b"\xa5" * (len(text) - 4096))
        store = self.checks(environment={"TMPDIR": str(self.temporary)})["host", "store"]
        self.assertFalse(store["ok"])
        self.assertIn("damaged", store["detail"])
        done = self.berth("receipts", expect=cli.STATE)
        self.assertIn("restore a backup", done.stderr)

    def test_a_folder_that_is_a_file_is_a_failing_check_too(self):
        self.state.rmdir()
        self.state.write_text("")
        checks = self.checks(environment={"TMPDIR": str(self.temporary)})
        self.assertIn("is not a folder", checks["host", "state folder"]["detail"])
        self.assertIn(("provider local", "usable"), checks)

    def test_without_any_folder_to_check_in_doctor_says_what_it_did_not_check(self):
        self.store.write_bytes(b"not a database, " * 1000)
        checks = self.checks(environment={"TMPDIR": str(self.folder / "missing")})
        self.assertFalse(checks["host", "providers"]["ok"])
        self.assertIn("not checked", checks["host", "providers"]["detail"])


class ReadOnly(StateCase):
    """A folder that is this user's and cannot be written. The superuser may write anywhere, so it is
    another user's then."""

    def close(self):
        for folder, names, files in os.walk(self.folder):
            for name in (*names, *files):
                if os.geteuid() == 0:
                    os.chown(os.path.join(folder, name), NOBODY, NOBODY)
            if os.geteuid() == 0:
                os.chown(folder, NOBODY, NOBODY)
        for path in self.state.rglob("*"):
            path.chmod(0o500 if path.is_dir() else 0o400)
        self.state.chmod(0o500)
        self.addCleanup(self.state.chmod, 0o700)

    def as_reader(self, *arguments, expect=0):
        as_user = []
        if os.geteuid() == 0:
            as_user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        done = subprocess.run([*as_user, cli.BERTH, *arguments], cwd=self.work, env=self.environment(),
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=cli.TIMEOUT_SECONDS, preexec_fn=cli.own_signals)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_what_is_recorded_can_be_looked_at(self):
        path = self.file("p.py", "print(1)")
        owner = ("--owner", "ann")
        name = self.document("run", path, *owner)["receipt"]["name"]
        document = self.berth("document", "put", path, *owner).stdout.split()[0]
        self.close()
        before = sorted(self.state.iterdir())
        for command in (["receipts"], ["receipts", "--summary"], ["intents"], ["intents", name]):
            done = self.as_reader(*command)
            self.assertIn("it is only read", done.stderr)
        self.assertIn(name, self.as_reader("receipts", "--format", "csv").stdout)
        self.assertEqual(json.loads(self.as_reader("intents", "--json").stdout)["intents"][0]["name"], name)
        self.assertIn(document, self.as_reader("document", "list", *owner).stdout)
        self.assertEqual(self.as_reader("document", "show", document, *owner).stdout, "print(1)")
        self.assertEqual(sorted(self.state.iterdir()), before)
        self.as_reader("run", path, expect=cli.STATE)

    def test_doctor_says_so_and_goes_on(self):
        self.program("print(1)")
        self.close()
        done = self.as_reader("doctor", "--json", expect=1)
        checks = {(check["group"], check["name"]): check for check in json.loads(done.stdout)["checks"]}
        self.assertFalse(checks["host", "state folder"]["ok"])
        self.assertIn("cannot write", checks["host", "state folder"]["detail"])
        self.assertIn("only be read", checks["host", "store"]["detail"])
        self.assertIn(("provider local", "usable"), checks)


class Full(StateCase):
    """A disk that fills up while a program runs: a small one, mounted in a namespace of its own."""

    # What the program writes is more than what lies between it and its reader, so that it cannot end
    # before the disk is full.
    PROGRAM = "print('up', flush=True)\nprint('x' * (32 << 20))\n"
    SCRIPT = """
set -u
mount -t tmpfs -o size=3m,mode=700 disk "$BERTH_STATE_DIR"
mkfifo out
"$BERTH" run program.py --call c --no-templates >out 2>said &
exec 3<out
read -r line <&3
dd if=/dev/zero of="$BERTH_STATE_DIR/fill" bs=4k 2>/dev/null
cat <&3 >/dev/null
wait $!; echo $? >code
"$BERTH" intents --json >open.json 2>open.said
rm "$BERTH_STATE_DIR/fill"
"$BERTH" reconcile --json >settled.json
"$BERTH" receipts --json >receipts.json
"$BERTH" receipts >receipts.txt
"$BERTH" run program.py --call c --no-templates >again 2>again.said; echo $? >again.code
ls "$BERTH_STATE_DIR/hosts" >left
"""

    def test_it_is_named_and_what_happened_is_settled_by_it_and_not_by_a_death(self):
        self.state.mkdir(mode=0o700)
        self.file("program.py", self.PROGRAM)
        own_user = [] if os.geteuid() == 0 else ["--map-root-user"]
        if own_user:
            self.config({"providers": {"local": {"acceptMissingLayers": ["cgroup"]}}})
        done = subprocess.run(["unshare", "--mount", *own_user, "sh", "-c", self.SCRIPT], cwd=self.work, text=True,
                              env=self.environment(BERTH=cli.BERTH), capture_output=True,
                              timeout=cli.TIMEOUT_SECONDS, preexec_fn=cli.own_signals)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = {path.name: path.read_text() for path in self.work.iterdir() if path.is_file()}
        self.assertEqual(text["code"], f"{cli.INFRASTRUCTURE}\n", text["said"])
        self.assertIn("no space is left for the store", text["said"])
        intent, = json.loads(text["open.json"])["intents"]
        self.assertNotEqual(intent["state"], "RELEASED")
        self.assertTrue(json.loads(text["settled.json"])["settled"])
        receipt, = json.loads(text["receipts.json"])["receipts"]
        self.assertEqual((receipt["settlement"], receipt["cost_micro_usd"]), ("infrastructure_failure", 0))
        self.assertRegex(receipt["evidence"], "could not record how it ended: .*no space")
        self.assertRegex(text["receipts.txt"], r"infrastructure_failure +- +unknown +\$0\.00")
        self.assertEqual((text["again"], text["again.code"]), ("", f"{cli.INFRASTRUCTURE}\n"))
        self.assertRegex(text["again.said"], "could not record how it ended: .*no space")
        self.assertEqual(text["left"], "", "nobody needs the word any more")


if __name__ == "__main__":
    cli.main()
