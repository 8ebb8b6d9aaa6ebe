"""A package index on loopback with wheels made here, for the tests of installs."""

import base64
import hashlib
import http.server
import io
import ssl
import subprocess
import tarfile
import threading
import zipfile


def wheel(name="tinydemo", version="1.2", source="VALUE = 41\n", requires=()):
    """The file name and the bytes of a wheel with one module."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for file, text in files.items():
            archive.writestr(zipfile.ZipInfo(file), text)
    return f"{name}-{version}-py3-none-any.whl", out.getvalue()


def source_package(name, setup):
    """A source distribution whose setup.py is `setup`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for file, text in {"setup.py": setup, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{file}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return f"{name}-1.0.tar.gz", out.getvalue()


class Index:
    """Serves /simple/NAME/ and /files/NAME on a port of its own; counts what was asked for."""

    def __init__(self, files, tls=None, user=None, hashes=None, answers=None):
        self.files = dict(files)
        self.hashes = hashes or {}
        self.answers = answers or {}
        self.user = user
        self.requests = []
        self.stop = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.request_class())
        self.server.daemon_threads = True
        self.server.handle_error = lambda request, address: None  # a client may go away
        self.scheme = "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.server.server_address[1]

    def url(self, credentials=""):
        return f"{self.scheme}://{credentials}127.0.0.1:{self.port}/simple/"

    def asked_for(self, end):
        return sum(path.endswith(end) for path in self.requests)

    def close(self):
        self.stop.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def page(self, project):
        lines = []
        for name, data in self.files.items():
            if name.split("-")[0] != project:
                continue
            digest = self.hashes.get(name, hashlib.sha256(data).hexdigest())
            lines.append(f'<a href="../../files/{name}#sha256={digest}">{name}</a>')
        return "<!DOCTYPE html><html><body>" + "\n".join(lines) + "</body></html>" if lines else None

    def request_class(index):
        class Request(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def answer(self, status, data=b"", headers=()):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                index.requests.append(self.path)
                wanted = "Basic " + base64.b64encode((index.user or "").encode()).decode()
                if index.user and self.headers.get("Authorization") != wanted:
                    return self.answer(401)
                special = index.answers.get(self.path)
                if special:
                    return special(self)
                parts = self.path.strip("/").split("/")
                if parts[0] == "simple":
                    page = index.page(parts[1])
                    return self.answer(200, page.encode()) if page else self.answer(404)
                data = index.files.get(parts[-1])
                return self.answer(200, data) if data is not None else self.answer(404)

        return Request


def authority(folder):
    """A self-made authority and a certificate of it for 127.0.0.1: (authority, certificate, key)."""
    own, key, certificate = folder / "own.pem", folder / "key.pem", folder / "certificate.pem"
    own_key, request, more = folder / "own.key", folder / "request.pem", folder / "more.txt"
    more.write_text("subjectAltName=IP:127.0.0.1\n")

    def run(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)

    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test authority",
        "-keyout", str(own_key), "-out", str(own))
    run("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test index", "-keyout", str(key), "-out", str(request))
    run("x509", "-req", "-days", "2", "-in", str(request), "-CA", str(own), "-CAkey", str(own_key),
        "-CAcreateserial", "-extfile", str(more), "-out", str(certificate))
    return own, certificate, key
