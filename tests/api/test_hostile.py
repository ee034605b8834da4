#!/usr/bin/env python3
"""Clients that send the wrong thing, too much of it, or leave in the middle; on a real session. After each
test the server must be as it was: alive, quick, no larger, with no descriptor more."""
import base64
import concurrent.futures
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import unittest

import websocket

import product
from product import RpcError, wait_until

SANITIZED = "__asan_init" in subprocess.run(["nm", "-D", product.STAGE / "libexec/cuad/cuad"],
                                            capture_output=True, text=True).stdout
MEGA = 1 << 20
# How much cuad may grow by; the sanitizers keep what is freed.
GROWTH = (400 if SANITIZED else 24) * MEGA
PEAK = (1500 if SANITIZED else 160) * MEGA


def setUpModule():
    global S, ID, AGENT
    S = product.Service()
    unittest.addModuleCleanup(S.close)
    ID = S.launch(name="one")["id"]
    S.launch(name="other")
    AGENT = S.token("agent", ID)
    S.rpc(ID, AGENT)("screenshot")


def memory(field):
    text = open(f"/proc/{S.pids('cuad')[0]}/status").read()
    return int(re.search(rf"^{field}:\s+(\d+) kB", text, re.M)[1]) * 1024


def descriptors():
    return len(os.listdir(f"/proc/{S.pids('cuad')[0]}/fd"))


class Peak:
    """The most memory that cuad had while something was done."""

    def __enter__(self):
        self.pid = S.pids("cuad")[0]
        self.before = memory("VmRSS")
        with open(f"/proc/{self.pid}/clear_refs", "w") as f:
            f.write("5")
        return self

    def __exit__(self, *_):
        self.grown = memory("VmHWM") - self.before
        print(f"cuad grew by {self.grown / MEGA:.0f} MiB", file=sys.stderr)


def connect():
    return socket.create_connection(("127.0.0.1", S.port), timeout=60)


def head(method, path, *lines, token=None, length=None):
    out = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token or AGENT}", *lines]
    if length is not None:
        out.append(f"Content-Length: {length}")
    return "\r\n".join(out).encode() + b"\r\n\r\n"


def raw(data):
    """All that comes back for these bytes until the server closes."""
    with connect() as sock:
        sock.sendall(data)
        out = b""
        try:
            while piece := sock.recv(65536):
                out += piece
        except ConnectionResetError:
            pass
        return out


class Base(unittest.TestCase):
    def setUp(self):
        self.pid = S.pids("cuad")
        self.fds = descriptors()
        self.size = memory("VmRSS")

    def tearDown(self):
        wait_until(S.healthy, "cuad answering", 20)
        self.assertEqual(S.pids("cuad"), self.pid, "cuad was started anew")
        wait_until(lambda: descriptors() <= self.fds, f"{self.fds} descriptors, now {descriptors()}", 20)
        self.assertLess(memory("VmRSS") - self.size, GROWTH)
        begun = time.monotonic()
        self.assertEqual(S.action(ID, "exec", command="echo alive")["stdout"], "alive\n")
        self.assertLess(time.monotonic() - begun, 5)


# ---------------------------------------------------------------- wrong values

VALUES = {"integer": ["1", 1.5, True, [], {}, "", 10**18, -10**18, 10**30, 1e308],
          "number": ["1", True, [], {}, 1e308, -1e308],
          "boolean": [0, 1, "true", [], {}],
          "string": [1, 1.5, True, [], {}, ["a", 1]],
          "array": ["\x01", 1, True, {"a": 1}, [[]], [{}], [True], [1e308] * 4, [None]],
          "object": ["a", 1, True, [], [1], {"no such key": 1}]}
GOOD = {"x": 1, "y": 1, "path": "/tmp/x", "command": ["true"], "text": "", "keys": "a", "key": "a", "ms": 1,
        "destination": "/tmp/y", "actions": [{"action": "screen_size"}]}


def wrong_values(schema):
    """Values that no reading of the parameter's schema allows."""
    forms = schema.get("oneOf", [schema])
    types = {"string" if "enum" in form else form.get("type") for form in forms}
    types |= {"integer"} if "number" in types else set()
    values = [value for kind in types if kind in VALUES for value in VALUES[kind]]
    python = {"integer": int, "number": float, "boolean": bool, "string": str, "array": list, "object": dict}
    allowed = {python[t] for t in types if t in python}
    huge = [v for v in values if isinstance(v, (int, float)) and abs(v) > 1e15 and "maximum" in forms[0]
            and abs(v) > abs(forms[0]["maximum"])]
    return [v for v in values if type(v) not in allowed] + huge


def right_value(key, schema):
    return GOOD.get(key, "x" if schema.get("type") == "string" else schema.get("minimum", 1))


class Values(Base):
    def refused(self, call, about=None):
        got, answer = S.http("POST", f"/v1/sessions/{ID}/actions", call, unix=True)
        self.assertIn(got, (400, 413, 422), (str(call)[:200], str(answer)[:300]))
        self.assertTrue(answer["error"]["message"])
        if about:
            self.assertIn(about, answer["error"]["message"] + json.dumps(answer["error"]["detail"]), call)

    def test_wrong_types_of_every_parameter(self):
        schemas = S.api("GET", "/openapi.json")["components"]["schemas"]
        tried = 0
        for name, schema in schemas.items():
            if not name.startswith("action_"):
                continue
            action = name[len("action_"):]
            needed = {key: right_value(key, schema["properties"][key]) for key in schema["required"] if key != "action"}
            if "path" in needed and schema["properties"]["path"]["type"] == "array":
                needed["path"] = [[1, 1], [2, 2]]
            for key, param in schema["properties"].items():
                if key == "action":
                    continue
                for value in wrong_values(param):
                    self.refused({"action": action, **needed, key: value}, None if value == 10**30 else key)
                    tried += 1
            self.refused({"action": action, **needed, "no_such_key": 1}, "no_such_key")
            for key in needed:
                self.refused({"action": action, **{k: v for k, v in needed.items() if k != key}}, key)
        self.assertGreater(tried, 500)

    def test_text_that_is_none(self):
        for key, action in (("text", "type"), ("path", "file_read"), ("command", "exec"), ("keys", "key"),
                            ("text", "file_write")):
            for text in ('"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"'):
                if action == "file_write" and "u0000" in text:
                    continue  # a file may hold it
                more = ', "path": "/tmp/z"' if action == "file_write" else ""
                self.refused(f'{{"action": "{action}", "{key}": {text}{more}}}'.encode())

    def test_depth_and_numbers(self):
        for body in (b"[" * 200000, b'{"action":' * 50000, b'{"action":"click","x":' + b"9" * 100000 + b"}",
                     b'{"action":"click","x":1e999}', b'{"action":"click","x":-0.0e-400,"y":NaN}',
                     b'{"action":"click","action":"type"}x', b'"' + b"a" * 1000000, b""):
            self.refused(body)

    def test_specs(self):
        schema_words = (1, 1.5, True, [], {}, "", "\x01", "é" * 40, 10**30, [1], {"a": 1}, None)
        sessions = len(S.api("GET", "/v1/sessions")["sessions"])
        for key in ("name", "title", "template", "screen", "limits", "network", "gpu", "mounts", "env", "command",
                    "ttl", "idle", "labels", "user", "zzz"):
            for value in (word for word in schema_words if key not in ("ttl", "idle") or not isinstance(word, (int, float))):
                got, answer = S.http("PATCH", f"/v1/sessions/{ID}", {key: value}, unix=True)
                self.assertIn(got, (200, 400, 422), (key, value, answer))
        S.api("PATCH", f"/v1/sessions/{ID}", {"ttl": None, "idle": None})
        for spec in ({"name": "ä"}, {"name": "-a"}, {"name": "a.b"}, {"name": ""}, {"name": "a\u0000"},
                     {"labels": {"": "x"}}, {"labels": {"k" * 65: "x"}}, {"labels": {"k": "v" * 257}},
                     {"labels": {f"k{i}": "v" for i in range(33)}}, {"labels": {"k": 1}}, {"title": "t" * 300},
                     {"env": {f"K{i}": "v" * 100000 for i in range(40)}}, {"command": ["x" * 3000000]},
                     {"limits": {"memory": "99999999999999999999T"}}, {"limits": {"pids": 10**30}},
                     {"limits": {"cpus": 1e308}}, {"ttl": "99999999999999999999h"}, {"ttl": -1},
                     {"screen": "99999999999x1"}, {"screen": "1280x800@99999999999"}, {"env": {"A": "\u0000"}},
                     {"template": "../base"}, {"template": "base/rootfs"}, {"template": ""}):
            got, answer = S.http("POST", "/v1/sessions?wait=0", spec, unix=True)
            self.assertIn(got, (400, 404, 413, 422), (str(spec)[:100], answer))
        self.assertEqual(len(S.api("GET", "/v1/sessions")["sessions"]), sessions)


# ---------------------------------------------------------------- who may do what

class Roles(Base):
    def routes(self):
        for path, methods in S.api("GET", "/openapi.json")["paths"].items():
            for method, operation in methods.items():
                yield path, method.upper(), operation["x-role"], operation.get("x-websocket")

    def status(self, method, path, token, protocol):
        if protocol:
            headers = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                       "Sec-WebSocket-Key: " + base64.b64encode(b"x" * 16).decode()]
        else:
            headers = []
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        lines.append("Content-Length: 0" if method in ("POST", "PUT", "PATCH") else "Accept: */*")
        with connect() as sock:
            sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return int(sock.recv(100).split()[1])

    def test_every_role_on_every_route(self):
        order = ["none", "viewer", "agent", "operator", "admin"]
        tokens = {"none": None, "viewer": S.token("viewer"), "agent": AGENT, "operator": S.token("operator"),
                  "admin": S.token("admin")}
        for path, method, needs, protocol in self.routes():
            filled = path.replace("{id}", "one").replace("{path}", "tmp/none").replace("{name}", "none-such")
            filled = filled.replace("{token}", "none-such")
            if method == "DELETE" and path == "/v1/sessions/{id}":
                filled = "/v1/sessions/none-such"
            for role in order:
                got = self.status(method, filled, tokens[role], protocol)
                if order.index(role) >= order.index(needs):
                    self.assertNotIn(got, (401, 403, 405, 500), (role, method, path))
                else:
                    self.assertEqual(got, 401 if role == "none" else 403, (role, method, path))

        for session in S.api("GET", "/v1/sessions")["sessions"]:
            if session["name"] == session["id"]:
                S.api("DELETE", "/v1/sessions/" + session["id"])  # made by those who may

    def test_a_bound_token_sees_no_other_session(self):
        other = S.api("GET", "/v1/sessions/other")["id"]
        for role in ("viewer", "agent"):
            token = S.token(role, ID)
            rank = ["none", "viewer", "agent"]
            for path, method, needs, protocol in self.routes():
                if "{id}" not in path or not path.startswith("/v1/sessions"):
                    continue
                for word in (other, "other", other[:6], "none-such"):
                    filled = path.replace("{id}", word).replace("{path}", "etc/passwd")
                    want = 404 if needs in rank and rank.index(needs) <= rank.index(role) else 403
                    self.assertEqual(self.status(method, filled, token, protocol), want, (role, method, filled))
            listed = S.http("GET", "/v1/sessions", token=token)[1]["sessions"]
            self.assertEqual([s["id"] for s in listed], [ID])
            events = websocket.create_connection(f"ws://127.0.0.1:{S.port}/v1/events", timeout=5,
                                                 header=[f"Authorization: Bearer {token}"])
            self.assertEqual(json.loads(events.recv())["session"]["id"], ID)
            S.api("PATCH", "/v1/sessions/other", {"title": role})
            S.api("PATCH", "/v1/sessions/one", {"title": role})
            self.assertEqual(json.loads(events.recv())["session"]["id"], ID)
            events.close()

    def test_a_bound_token_goes_with_its_session(self):
        short = S.launch(name="short")["id"]
        token = S.token("agent", short)
        rpc = S.rpc(short, token)
        terminal = websocket.create_connection(f"ws://127.0.0.1:{S.port}/v1/sessions/{short}/pty", timeout=20,
                                               header=[f"Authorization: Bearer {token}"])
        running = websocket.create_connection(f"ws://127.0.0.1:{S.port}/v1/sessions/{short}/pty", timeout=20,
                                              header=[f"Authorization: Bearer {token}"])
        running.send(json.dumps({"command": "sleep 1000", "tty": True}))
        call = rpc.send("exec", command="sleep 1000")
        wait_until(lambda: S.action(short, "exec", command="pgrep -c -fx 'sleep 1000'")["stdout"] == "2\n", "both")
        S.api("DELETE", f"/v1/sessions/{short}")
        try:
            self.assertIn(rpc.receive(call)["signal"], (9, 15))  # the answer comes before the close
        except RpcError as error:
            self.assertIn("session", str(error))
        for sock in (rpc.socket, terminal):
            frame = sock.recv_frame()
            self.assertEqual((frame.opcode, int.from_bytes(frame.data[:2], "big")), (8, 1001))
            sock.close()
        self.assertTrue({"error", "signal"} & set(json.loads(running.recv())))
        running.close()
        self.assertEqual(S.http("GET", "/v1/sessions", token=token)[0], 401)

    def test_foreign_pages(self):
        for origin, host, status in (("https://evil.example", "localhost", 403), ("null", "localhost", 403),
                                     ("http://127.0.0.1.evil.example", f"127.0.0.1:{S.port}", 403)):
            data = (f"GET /v1/sessions/one/rpc HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n"
                    f"Authorization: Bearer {AGENT}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n").encode()
            with connect() as sock:
                sock.sendall(data)
                self.assertEqual(int(sock.recv(100).split()[1]), status, origin)


# ---------------------------------------------------------------- bytes on the wire

class Wire(Base):
    def test_smuggling(self):
        inner = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
        for lines in ((b"Content-Length: 5", b"Content-Length: 6"), (b"Content-Length: 5, 5",),
                      (b"Content-Length: +5",), (b"Content-Length: 0x5",), (b"Content-Length: 5 5",),
                      (b"Content-Length: -1",), (b"Content-Length: 99999999999999999999",), (b"Content-Length:",),
                      (b"Transfer-Encoding: chunked", b"Content-Length: 5"), (b"Transfer-Encoding: xchunked",),
                      (b"Transfer-Encoding: chunked, identity",), (b"Transfer-Encoding: identity",),
                      (b"Transfer-Encoding : chunked",), (b"Transfer-Encoding:\x0bchunked",),
                      (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
                      (b"X: a\nContent-Length: 5",), (b"X: a\rContent-Length: 5",)):
            data = (b"POST /v1/sessions/one/actions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + AGENT.encode() +
                    b"\r\n" + b"\r\n".join(lines) + b"\r\n\r\n0\r\n\r\n" + inner)
            answer = raw(data)
            self.assertEqual(answer.count(b"HTTP/1.1 "), 1, (lines, answer))
            self.assertIn(answer[9:12], (b"400", b"413", b"501"), (lines, answer))

    def test_headers_cannot_be_added(self):
        for path in ("/v1/sessions/a%0d%0aX-Evil:%201", "/v1/sessions/one/screenshot?format=png%0d%0aX-Evil:1",
                     "/v1/sessions/one/files/tmp/a%0d%0aX-Evil:1", "/%0d%0aX-Evil:1"):
            answer = raw(head("GET", path, "Connection: close"))
            self.assertNotIn(b"\r\nX-Evil", answer.split(b"\r\n\r\n")[0], path)
            self.assertIn(answer[9:10], b"4")

    def test_paths(self):
        for path in ("/v1/sessions/one/files/tmp/%00", "/v1/sessions/one/files/etc/passwd%00.txt",
                     "/v1/sessions/%00/files/tmp", "/v1/sessions/one/files/%ff", "/v1/sessions/one/files/%zz",
                     "/v1/sessions/one/files/%", "/v1/sessions/one/files/" + "a" * 5000,
                     "/v1/sessions/one/files/" + "a/" * 4000, "/v1/sessions/../tokens", "/v1/sessions/%2e%2e/tokens",
                     "/v1//sessions", "/v1/sessions/", "/v1/templates/%2e%2e", "/v1/templates/..%2fsessions"):
            answer = raw(head("GET", path, "Connection: close"))
            self.assertIn(answer[9:12], (b"400", b"403", b"404", b"413", b"422"), (path, answer[:300]))
        # a path is not cut: what lies at its beginning stays
        deep = "a" * 200 + "/"
        S.action(ID, "file_write", path="/tmp/" + deep * 20 + "b", text="x", mkdirs=True)
        for method in ("DELETE", "PUT", "GET"):
            for query in ("", "?stat", "?list", "?recursive=1"):
                path = "/v1/sessions/one/files/tmp/" + deep * 20 + "b" * 100 + query
                self.assertEqual(raw(head(method, path, "Connection: close"))[9:12], b"422", (method, query))
        S.action(ID, "file_remove", path="/tmp/" + deep, recursive=True)
        # inside the session every path is the session's own
        answer = raw(head("GET", "/v1/sessions/one/files/%2e%2e/%2e%2e/../../etc/hostname", "Connection: close"))
        self.assertEqual(answer.split(b"\r\n\r\n", 1)[1], b"one\n")
        outside = S.dir / "outside"
        outside.write_text("x")
        self.assertEqual(S.http("GET", f"/v1/sessions/one/files{outside}", unix=True)[0], 404)

    def test_half_messages(self):
        body = json.dumps({"command": "true"}).encode()
        whole = head("POST", "/v1/sessions/one/exec", length=len(body)) + body
        for cut in (1, 10, len(whole) - len(body), len(whole) - 3):
            with connect() as sock:
                sock.sendall(whole[:cut])
        for cut in range(1, 14):
            ws = self.websocket("rpc")
            frame = websocket.ABNF.create_frame(b'{"jsonrpc":"2.0"}', 1).format()
            ws.sock.sendall(frame[:cut])
            ws.sock.close()

    def websocket(self, kind):
        return websocket.create_connection(f"ws://127.0.0.1:{S.port}/v1/sessions/one/{kind}", timeout=60,
                                           header=[f"Authorization: Bearer {AGENT}"])

    def test_thousand_requests_ahead(self):
        rpc = S.rpc(ID, AGENT)
        sender = threading.Thread(target=lambda: [rpc.send("exec" if i % 10 == 0 else "cursor_position", **(
            {"command": "true"} if i % 10 == 0 else {})) for i in range(1000)])
        sender.start()
        got = {json.loads(rpc.socket.recv())["id"] for _ in range(1000)}
        sender.join()
        self.assertEqual(got, set(range(1, 1001)))
        rpc.close()

    def test_thousands_of_small_requests(self):
        one = head("GET", "/v1/sessions/one")
        with connect() as sock:
            for _ in range(20):
                sock.sendall(one * 100)
                seen = b""
                while seen.count(b"HTTP/1.1 200") < 100 or not seen.endswith(b"}"):
                    piece = sock.recv(MEGA)
                    self.assertTrue(piece, seen[-500:])
                    seen += piece
        for _ in range(500):
            with connect() as sock:
                sock.sendall(head("GET", "/v1/health"))
                sock.recv(4096)


# ---------------------------------------------------------------- many, large, slow, and leaving

class Load(Base):
    def test_many_connections_with_work(self):
        def work(_):
            rpc = S.rpc(ID, AGENT)
            self.assertEqual(rpc("exec", command="echo x")["stdout"], "x\n")
            self.assertEqual(rpc("screen_size")["width"], 1280)
            rpc.close()
        with concurrent.futures.ThreadPoolExecutor(300) as pool:
            list(pool.map(work, range(300)))

    def test_large_output_of_many_commands(self):
        size = 20 if SANITIZED else 100
        body = {"command": f"head -c {size}M /dev/zero", "max_output": 100000, "timeout": 300000}

        def work(_):
            return S.api("POST", f"/v1/sessions/{ID}/exec", body)
        with Peak() as peak, concurrent.futures.ThreadPoolExecutor(64) as pool:
            results = list(pool.map(work, range(64)))
        self.assertEqual([r["stdout_bytes"] for r in results], [size * MEGA] * 64)
        self.assertLess(peak.grown, PEAK)

    def test_leaving_in_the_middle(self):
        for _ in range(20):
            for body, path in (({"command": "sleep 30"}, "exec"),
                               ({"action": "launch", "command": ["sleep", "30"]}, "actions"),
                               ({"action": "screenshot"}, "actions")):
                data = json.dumps(body).encode()
                with connect() as sock:
                    sock.sendall(head("POST", f"/v1/sessions/one/{path}", length=len(data)) + data)
            with connect() as sock:
                sock.sendall(head("PUT", "/v1/sessions/one/files/tmp/half", length=10 * MEGA) + b"x" * MEGA)
            with connect() as sock:
                sock.sendall(head("GET", "/v1/sessions/one/files/usr/bin/perl") * 2)
            rpc = S.rpc(ID, AGENT)
            rpc.send("exec", command="sleep 30")
            rpc.send("screenshot", binary=True)
            rpc.send("wait", ms=30000)
            rpc.socket.sock.close()
        self.assertEqual(S.http("GET", f"/v1/sessions/{ID}/files/tmp/half?stat", unix=True)[0], 404)
        S.action(ID, "exec", command="pkill -x sleep; true")
        left = S.action(ID, "exec", command="ls -a /tmp | grep -c half; true")["stdout"]
        self.assertEqual(left, "0\n")

    def test_slow_readers(self):
        S.action(ID, "exec", command="head -c 300M /dev/urandom >/tmp/large")
        socks = []
        with Peak() as peak:
            for _ in range(20):
                sock = connect()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                sock.sendall(head("GET", "/v1/sessions/one/files/tmp/large"))
                socks.append(sock)
            readers = [S.rpc(ID, AGENT) for _ in range(10)]
            for rpc in readers:
                for _ in range(20):
                    rpc.send("screenshot", binary=True)
            for sock in socks:
                self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 200"))
            begun = time.monotonic()
            self.assertEqual(S.action(ID, "screen_size")["width"], 1280)
            self.assertLess(time.monotonic() - begun, 5)
        self.assertLess(peak.grown, PEAK)
        for sock in socks:
            sock.close()
        for rpc in readers:
            rpc.close()
        S.action(ID, "file_remove", path="/tmp/large")


class Restart(unittest.TestCase):
    def test_life_times_survive_a_restart(self):
        S.launch(name="brief", ttl="6s")
        S.launch(name="quiet", idle="6s")
        S.stop()
        S.start()
        self.assertEqual(S.api("GET", "/v1/sessions/one")["state"], "running")
        for name in ("brief", "quiet"):
            wait_until(lambda: S.http("GET", f"/v1/sessions/{name}", unix=True)[0] == 404, f"the end of {name}", 30)
        self.assertEqual(S.api("GET", "/v1/sessions/one")["state"], "running")


if __name__ == "__main__":
    unittest.main(verbosity=2)
