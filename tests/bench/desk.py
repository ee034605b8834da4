"""A session, and the tools of other people on its display.

The tools run on the host with the container's network and IPC namespaces; their times include their
start, as for anybody who calls them once for each step."""
import json
import os
import pathlib
import socket
import struct
import subprocess
import tempfile

import product

TEXT, BINARY, PING = 1, 2, 9


def read_exactly(sock, size):
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = sock.recv_into(view, len(view), socket.MSG_WAITALL)
        if count == 0:
            raise ConnectionError("the server hung up")
        view = view[count:]
    return data


def read_message(client):
    """The next message of a WebSocket. The client's own way, in pieces of 16 KiB that
    are checked byte by byte, costs more than the whole picture, and holds twenty connections up."""
    parts = []
    while True:
        first, second = read_exactly(client.sock, 2)
        size = second & 127
        if size >= 126:
            size = int.from_bytes(read_exactly(client.sock, 2 if size == 126 else 8), "big")
        data = read_exactly(client.sock, size)
        if first & 15 == PING:
            client.pong(bytes(data))
            continue
        assert first & 15 in (0, TEXT, BINARY), f"frame {first:#x}"
        parts.append(data)
        if first & 128:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def send(rpc, method, params):
    rpc.socket.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}))
    return read_message(rpc.socket)


def tell(rpc, method, **params):
    """The result of an answer without a picture."""
    return json.loads(send(rpc, method, params))["result"]


def ask(rpc, method, **params):
    """The head of a binary answer, and its picture."""
    answer = send(rpc, method, params)
    assert answer[:1] != b"{", bytes(answer)
    (length,) = struct.unpack(">I", answer[:4])
    return json.loads(answer[4:4 + length])["result"], memoryview(answer)[4 + length:]


class Desk:
    """A running session and its RPC connection."""

    def __init__(self, service, **spec):
        self.service = service
        self.id = service.launch(**{"name": "bench", **spec})["id"]
        self.connect()
        self.lxcpath = service.run / "sessions" / self.id / "lxc"
        self.init = (self.lxcpath / "init").read_text().split()[0]
        self.painter = None

    def close(self):
        if self.painter:
            self.painter.stdin.close()
            self.painter.wait(10)
        self.rpc.close()
        self.service.api("DELETE", f"/v1/sessions/{self.id}")

    def connect(self):
        self.rpc = self.service.rpc(self.id)

    def inside(self, *command):
        """A command with the session's display and nothing else of the session."""
        return ["nsenter", "-t", self.init, "-n", "-i", *map(str, command)]

    def tool(self, *command, **more):
        """Runs a program of the host on the session's display."""
        return subprocess.run(self.inside(*command), check=True, timeout=300, env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)

    @staticmethod
    def environment():
        return dict(os.environ, DISPLAY=":0", XAUTHORITY="/dev/null")

    def attach(self):
        subprocess.run(["lxc-attach", "-P", self.lxcpath, "-n", self.id, "--", "true"], check=True)

    # ---- pictures ----

    def ask(self, method, **params):
        return ask(self.rpc, method, **params)

    def picture(self, form, **params):
        return self.ask("screenshot", format=form, binary=True, **params)[1]

    def paint(self, program, pictures, size):
        """From now on repaint() changes every pixel of the screen. The pictures are raw, BGRX."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(pictures))
            file.flush()
            self.painter = subprocess.Popen(
                self.inside(program, *size, file.name), env=self.environment(), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE)
            assert self.painter.stdout.readline(), "the painter ended"

    def repaint(self):
        self.painter.stdin.write(b"\n")
        self.painter.stdin.flush()
        assert self.painter.stdout.readline(), "the painter ended"

    # ---- programs ----

    def shell(self, command):
        return self.rpc("exec", command=command)["stdout"]

    def windows(self):
        found = self.rpc("windows")
        return found["windows"] if isinstance(found, dict) else found

    def terminal(self, *command):
        """A terminal over the whole screen, when it has its window."""
        before = len(self.windows())
        self.rpc("launch", command=["xterm", "-u8", "-fullscreen", "-e", *command])
        product.wait_until(lambda: len(self.windows()) > before, "the terminal's window")

    def close_terminal(self):
        self.shell("pkill xterm")
        product.wait_until(lambda: not self.windows(), "the end of the terminal")

    # ---- the worker ----

    def worker(self):
        """The process id of the session's worker."""
        for pid in self.service.pids("cuad-desktop"):
            if self.id.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        pids = self.service.pids("cuad-desktop")
        assert len(pids) == 1, pids
        return pids[0]

    def worker_memory(self):
        """MiB that are the worker's alone."""
        lines = pathlib.Path(f"/proc/{self.worker()}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
