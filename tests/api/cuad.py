"""HTTP and WebSocket over cuad's control socket, with nothing but Python's own library."""
import base64
import http.client
import json
import os
import socket
import struct

SOCKET = os.environ.get("CUAD_SOCKET", "/run/cuad/cuad.sock")
DEADLINE = 30


def connect(port=None):
    """A socket to the control socket, or to a TCP port."""
    sock = socket.socket(socket.AF_INET if port else socket.AF_UNIX)
    sock.settimeout(DEADLINE)
    sock.connect(("127.0.0.1", port) if port else SOCKET)
    return sock


class Connection(http.client.HTTPConnection):
    def __init__(self, port=None):
        super().__init__("localhost", timeout=DEADLINE)
        self.tcp = port

    def connect(self):
        self.sock = connect(self.tcp)


def call(method, path, body=None, headers=None, port=None):
    """The status, the headers and the body of one request; JSON is decoded."""
    connection = Connection(port)
    if body is not None and not isinstance(body, (bytes, str)) and not hasattr(body, "read"):
        body = json.dumps(body)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    data = answer.read()
    if (answer.getheader("content-type") or "").startswith("application/json"):
        data = json.loads(data)
    connection.close()
    return answer.status, answer, data


class Socket:
    """A WebSocket. Text comes as str, bytes as bytes."""

    def __init__(self, path, protocol=None, port=None, token=None):
        self.sock = connect(port)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        head = (f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n")
        if protocol:
            head += f"Sec-WebSocket-Protocol: {protocol}\r\n"
        if token:
            head += f"Authorization: Bearer {token}\r\n"
        self.sock.sendall((head + "\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        self.head = head

    def fill(self):
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def send(self, data, opcode=None):
        if isinstance(data, dict) or isinstance(data, list):
            data = json.dumps(data)
        if isinstance(data, str):
            data, opcode = data.encode(), opcode or 1
        mask = os.urandom(4)
        size = len(data)
        head = bytes([0x80 | (2 if opcode is None else opcode)])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        whole = int.from_bytes(data, "little") ^ int.from_bytes(
            (mask * (size // 4 + 1))[:size], "little")
        self.sock.sendall(head + mask + whole.to_bytes(size, "little"))

    def frame(self):
        first, second = self.take(2)
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", self.take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.take(8))[0]
        return first, self.take(size)

    def receive(self):
        """The next message; the close code as an int at the end."""
        first, data = self.frame()
        while not first & 0x80:
            more, rest = self.frame()
            first, data = first | (more & 0x80), data + rest
        opcode = first & 15
        if opcode == 9:
            self.send(data, 10)
            return self.receive()
        if opcode == 8:
            return struct.unpack(">H", data[:2])[0] if data else 1005
        return data.decode() if opcode == 1 else data

    def json(self):
        message = self.receive()
        assert isinstance(message, str), message
        return json.loads(message)

    def close(self):
        self.sock.close()


class Rpc(Socket):
    def __init__(self, session, **more):
        super().__init__(f"/v1/sessions/{session}/rpc", "cua.rpc.v1", **more)
        self.serial = 0

    def post(self, method, **params):
        self.serial += 1
        self.send({"jsonrpc": "2.0", "id": self.serial, "method": method, "params": params})
        return self.serial

    def call(self, method, **params):
        """The answer to one call."""
        serial = self.post(method, **params)
        answer = self.json()
        assert answer["id"] == serial, answer
        return answer
