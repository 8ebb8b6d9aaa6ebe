"""What the services' own clients sent is sent again, and answered in the shape in which it was answered then.

usage: recorded_test.py STANDIN SERVICE RECORDED FOLDER

RECORDED is a list of {"request": {"method", "path", "body"}, "answer": {"status", "body"}} in the order of the
recording. "$NAME" in a path or body is what an earlier step kept by "keep": {"NAME": "key.key"}. Where the answer
has an object, ours has the same keys, and more only where the recording was trimmed, which "...": true says; where
it has a value, ours is of the same type, and equal where the key is one of EXACT or "exact": true is beside it.
A step with "until" is repeated until its answer has that status or value, as the client repeated it.
"""

import gzip
import io
import json
import sys
import tarfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from stand_in import StandIn  # noqa: E402

EXACT = {"code", "statusCode", "error", "source", "message", "exitCode", "result", "stdout", "stderr", "stream"}
PATIENCE_SECONDS = 60


def kind(value):
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def differences(then, now, path="", exact=False):
    """Sentences that say where `now` is not in the shape of `then`."""
    if kind(then) != kind(now):
        yield f"{path or 'the answer'} was {kind(then)} and is {kind(now)}"
    elif isinstance(then, dict):
        for key in then:
            if key not in now and key != "...":
                yield f"{path}.{key} is missing"
        for key in now:
            if key in then:
                yield from differences(then[key], now[key], f"{path}.{key}", exact or key in EXACT)
            elif "..." not in then:
                yield f"{path}.{key} is new"
    elif isinstance(then, list):
        if bool(then) != bool(now):
            yield f"{path} had {len(then)} items and has {len(now)}"
        for index, one in enumerate(now if then else []):
            yield from differences(then[min(index, len(then) - 1)], one, f"{path}[{index}]", exact)
    elif exact and then != now:
        yield f"{path} was {then!r} and is {now!r}"


def filled(value, kept):
    """`value` with what was kept in place of $NAME."""
    if isinstance(value, str):
        for name, text in sorted(kept.items(), reverse=True):  # the longer one of two names first
            value = value.replace(f"${name}", text)
        return value
    if isinstance(value, dict):
        return {filled(key, kept): filled(one, kept) for key, one in value.items()}
    return [filled(one, kept) for one in value] if isinstance(value, list) else value


def at(document, path):
    for key in path.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def archive(files):
    """A gzipped archive of {name: text}, as the client packs files."""
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(bytes_.getvalue())


def body_of(request):
    headers = dict(request.get("headers", {}))
    if "archive" in request:
        return archive(request["archive"]), {"Content-Type": "application/gzip", **headers}
    if "text" in request:
        return request["text"].encode(), headers
    if "body" in request:
        return json.dumps(request["body"]).encode(), {"Content-Type": "application/json", **headers}
    return None, headers


def read(answer_headers, data):
    type_ = answer_headers.get("Content-Type") or ""
    if type_.startswith("application/json"):
        return json.loads(data)
    if type_ == "application/x-ndjson":
        return [json.loads(line) for line in data.decode().splitlines()]
    return data.decode("utf-8", "replace")


def reached(until, status, body):
    if "status" in until:
        return status == until["status"]
    return isinstance(body, dict) and body.get(until["key"]) == until["value"]


def perform(stand_in, step, kept, headers):
    request = filled(step["request"], kept)
    body, own = body_of(request)
    given_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        status, answer_headers, data = stand_in.request(request["method"], request["path"], body, {**headers, **own})
        answer = read(answer_headers, data) if data else None
        if "until" not in step or reached(step["until"], status, answer) or time.monotonic() > given_up:
            return status, answer_headers, answer
        time.sleep(0.05)


def main():
    program, service, recorded, folder = sys.argv[1:]
    recording = json.loads(Path(recorded).read_text(encoding="utf-8"))
    Path(folder).mkdir(parents=True, exist_ok=True)
    kept, wrong = {}, 0
    with StandIn(program, service, f"{folder}/{service}-recorded") as stand_in:
        for number, step in enumerate(recording["steps"], 1):
            if "fault" in step:
                stand_in.faults(step["fault"])
            status, answer_headers, body = perform(stand_in, step, kept, recording["headers"])
            then = filled(step["answer"], kept)
            found = [f"status was {then['status']} and is {status}"] if status != then["status"] else []
            if "body" in then:
                found += differences(then["body"], body, exact=step.get("exact", False))
            for name, value in then.get("headers", {}).items():
                if answer_headers.get(name) != value:
                    found.append(f"header {name} was {value!r} and is {answer_headers.get(name)!r}")
            for text in found:
                print(f"{number} {step['request']['method']} {step['request']['path']}: {text}")
            wrong += bool(found)
            for name, path in step.get("keep", {}).items():
                kept[name] = at(body, path)
    print(f"{len(recording['steps'])} recorded requests, {wrong} answered in another shape")
    return 1 if wrong or not recording["steps"] else 0


if __name__ == "__main__":
    sys.exit(main())
