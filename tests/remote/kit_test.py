"""The conformance kit at profile full before the stand-in of a service, whole: every case passes, or the provider
does not claim what it is about.

usage: kit_test.py BERTH STANDIN SERVICE PROVIDER
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "standins" / "support"))
from stand_in import StandIn  # noqa: E402

BERTH, STANDIN, SERVICE, PROVIDER = sys.argv[1:5]
RUN_SECONDS_MAX = 1500
SECRETS = {
    "daytona": {"DAYTONA_API_KEY": "dtn_very-secret-key", "DAYTONA_ORGANIZATION_ID": "org-1"},
    "vercel": {"VERCEL_TOKEN": "vcp_very-secret-token", "VERCEL_TEAM_ID": "team_a", "VERCEL_PROJECT_ID": "prj_a"},
}


def main():
    with tempfile.TemporaryDirectory(prefix="berth-kit-") as place:
        folder = Path(place)
        (folder / "service").mkdir()
        with StandIn(STANDIN, SERVICE, str(folder / "service")) as stand_in:
            config = {"apiUrl": stand_in.url + "/api", "caFile": stand_in.authority, "pollFirstMs": 10, "pollMostMs": 100}
            settings = folder / "config.json"
            settings.write_text(json.dumps({"providers": {SERVICE: {"config": config}}}))
            ran = subprocess.run([BERTH, "conformance", "run", PROVIDER, "--profile", "full", "--config", settings,
                                  "--state-dir", folder / "state", "--json", "--jobs", "2", "--timeout-scale", "3"],
                                 env={**os.environ, **SECRETS[SERVICE]}, capture_output=True, text=True,
                                 timeout=RUN_SECONDS_MAX)
            machines = stand_in.machines()
    report = json.loads(ran.stdout)
    print(SERVICE, dict(collections.Counter(case["status"] for case in report["cases"])))
    for case in report["cases"]:
        if case["status"] != "pass":
            print(f"  {case['id']} {case['status']}: {case.get('text', '')}")
    if machines:
        print(f"{machines} sandboxes are left")
    if ran.stderr:
        print(ran.stderr)
    good = ran.returncode == 0 and report["whole"] and report["passed"] > 0 and machines == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
