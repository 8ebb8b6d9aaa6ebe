"""A proxy that CONNECTs, as a process of its own: over TLS where it is given a certificate, else in the clear.

usage: proxy.py LOG [CERTIFICATE KEY] [--elsewhere PORT]

Prints its port. LOG gets a line of JSON for each request: its first line, its Proxy-Authorization, and how many bytes
were passed on each way once it is over. With --elsewhere every tunnel leads to that port of loopback instead of to
where it was asked for.
"""

import argparse
import asyncio
import json
import ssl

parser = argparse.ArgumentParser()
parser.add_argument("log")
parser.add_argument("identity", nargs="*")
parser.add_argument("--elsewhere", type=int, default=0)
ARGUMENTS = parser.parse_args()


def log(**entry):
    with open(ARGUMENTS.log, "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


async def pass_on(reader, writer):
    passed = 0
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
            passed += len(data)
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.close()
    return passed


async def serve(reader, writer):
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except (asyncio.IncompleteReadError, OSError):
        writer.close()
        return
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    host, _, port = head[0].split(" ")[1].rpartition(":")
    entry = {"line": head[0], "authorization": fields.get("Proxy-Authorization", "")}
    try:
        where = ("127.0.0.1", ARGUMENTS.elsewhere) if ARGUMENTS.elsewhere else (host, int(port))
        upstream = await asyncio.open_connection(*where)
    except OSError:
        log(**entry, refused=True)
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        return
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await writer.drain()
    up, down = await asyncio.gather(pass_on(reader, upstream[1]), pass_on(upstream[0], writer))
    log(**entry, up=up, down=down)


async def main():
    context = None
    if ARGUMENTS.identity:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*ARGUMENTS.identity)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
