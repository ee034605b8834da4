"""The supervisor's side of E1 for tests of cuad alone: starts the real cuad as an unprivileged user, hands
over listening sockets, and tells it of a session whose edges answer nothing but HELLO."""
import http.client
import os
import pathlib
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(os.environ["CUAD_SOURCE"])
BUILD = pathlib.Path(os.environ["CUAD_BUILD"])
NOBODY = 65534
HEAD = struct.Struct("<HBBI4I")


def message_types():
    """Numbers of the messages, from the header itself."""
    text = (SOURCE / "cua/msg.h").read_text()
    names = re.search(r"enum cua_msg_type \{(.*?)\}", text, re.S).group(1)
    found = re.findall(r"CUA_MSG_(\w+)", names)
    return {name: number + 1 for number, name in enumerate(found)}


TYPES = message_types()


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """One protobuf field: an int, a str, or bytes of a submessage."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def packet(name, body):
    return HEAD.pack(TYPES[name], 0, 0, len(body), 0, 0, 0, 0) + body


class Standin:
    """One running cuad."""

    def __init__(self, listeners=1, tls=None, config=""):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cuad-front-"))
        self.dir.chmod(0o755)
        state = self.dir / "state"
        for path in (state, state / "front", state / "templates"):
            path.mkdir()
            os.chown(path, NOBODY, NOBODY)
        self.config = self.dir / "cuad.yaml"
        self.config.write_text(config)
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.log = open(self.dir / "log", "ab")
        with open(self.config, "rb") as config_file:
            self.process = subprocess.Popen(
                [BUILD / "server/front/cuad", "--state", str(state)],
                stdin=config_file, stdout=self.log, stderr=self.log, user=NOBODY, group=NOBODY,
                extra_groups=[], pass_fds=[3], preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        self.peers = []
        self.hello = self.receive_hello()
        self.ours.send(self.hello)
        self.control = str(self.dir / "sock")
        self.listen_unix()
        self.ports = [self.listen_tcp(tls if i == 0 else None) for i in range(listeners)]
        self.port = self.ports[0]
        self.ours.send(packet("SYNCED", field(1, 0)))

    def receive_hello(self):
        self.ours.settimeout(10)
        try:
            data = self.ours.recv(65536)
        except (TimeoutError, OSError):
            data = b""
        if not data:
            self.process.wait(10)
            raise AssertionError("cuad did not start: " + self.log_text())
        return data

    def log_text(self):
        return (self.dir / "log").read_text()

    def hand_over(self, sock, body):
        socket.send_fds(self.ours, [packet("LISTENER", body)], [sock.fileno()])
        sock.close()

    def listen_unix(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(self.control)
        sock.listen(64)
        self.hand_over(sock, field(1, 0))

    def listen_tcp(self, tls):
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        sock.listen(1024)
        port = sock.getsockname()[1]
        listener = field(1, "127.0.0.1") + field(2, port)
        if tls:
            listener += field(3, tls[0]) + field(4, tls[1])
        self.hand_over(sock, field(1, 1) + field(2, listener))
        return port

    def session(self, ident="abcdefghijkl", name="one"):
        """Tells of a running session and links it to edges that say HELLO and then nothing."""
        screen = b"".join(field(i + 1, v) for i, v in enumerate((1280, 800, 96, 1920, 1200)))
        state = (field(1, ident) + field(2, name) + field(3, "base") + field(4, 1) + field(6, screen)
                 + field(7, b"") + field(8, 1) + field(9, 1) + field(11, int(time.time() * 1000)))
        self.ours.send(packet("SESSION_STATE", state))
        for edge in (3, 5):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            socket.send_fds(self.ours, [packet("SESSION_LINK", field(1, ident) + field(2, edge))],
                            [theirs.fileno()])
            theirs.close()
            ours.send(self.hello)
            self.peers.append(ours)
        return ident

    def request(self, method, path, body=None, headers=None, port=None, token=None):
        """One request on a connection of its own: (status, headers, body)."""
        conn = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        conn.request(method, path, body, headers)
        answer = conn.getresponse()
        data = answer.read()
        conn.close()
        return answer.status, answer.headers, data

    def admin(self, method, path, body=None):
        conn = http.client.HTTPConnection("localhost", timeout=30)
        conn.sock = socket.socket(socket.AF_UNIX)
        conn.sock.settimeout(30)
        conn.sock.connect(self.control)
        conn.request(method, path, body)
        answer = conn.getresponse()
        data = answer.read()
        conn.close()
        return answer.status, answer.headers, data

    def alive(self):
        return self.process.poll() is None

    def close(self):
        self.ours.close()
        try:
            self.process.wait(10)
        finally:
            self.process.kill()
            self.process.wait()
            for peer in self.peers:
                peer.close()
            self.log.close()
            shutil.rmtree(self.dir, ignore_errors=True)


def readable(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
