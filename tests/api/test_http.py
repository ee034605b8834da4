"""cuad's front door: HTTP, WebSocket, tokens, as clients and as attackers meet it."""
import concurrent.futures
import json
import os
import resource
import socket
import ssl
import struct
import subprocess
import sys
import time
import unittest

import websocket

sys.path.insert(0, os.path.dirname(__file__))
from standin import Standin, readable  # noqa: E402

CONFIG = "origins: [https://desk.example.org]\n"


def setUpModule():
    global S, ADMIN, SESSION
    S = Standin(config=CONFIG)
    SESSION = S.session()
    status, _, body = S.admin("POST", "/v1/tokens", json.dumps({"role": "admin", "label": "test"}))
    assert status == 201, body
    ADMIN = json.loads(body)["token"]


def tearDownModule():
    assert S.alive(), S.log_text()
    S.close()
    assert S.process.returncode == 0, S.process.returncode


def raw(data, port=None, finish=False):
    """Sends bytes, returns all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port or S.port), timeout=20) as sock:
        sock.sendall(data)
        if finish:
            sock.shutdown(socket.SHUT_WR)
        out = b""
        while True:
            try:
                piece = sock.recv(65536)
            except ConnectionResetError:
                break
            if not piece:
                break
            out += piece
        return out


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer else 0


def kind(body):
    return json.loads(body)["error"]["kind"]


class Basics(unittest.TestCase):
    def test_health(self):
        status, headers, body = S.request("GET", "/v1/health")
        self.assertEqual((status, json.loads(body)["status"]), (200, "ok"))
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(headers["Cache-Control"], "no-store")
        self.assertEqual(int(headers["Content-Length"]), len(body))

    def test_head(self):
        status, headers, body = S.request("HEAD", "/v1/health")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 10)

    def test_unknown_address_and_method(self):
        status, _, body = S.request("GET", "/v1/nothing")
        self.assertEqual((status, kind(body)), (404, "not_found"))
        status, headers, body = S.request("PATCH", "/v1/health")
        self.assertEqual((status, headers["Allow"], kind(body)), (405, "GET, HEAD", "bad_request"))
        status, headers, _ = S.request("OPTIONS", "/v1/tokens")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD, POST"))

    def test_page(self):
        status, headers, body = S.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
        self.assertIn(b"openapi.json", body)

    def test_keep_alive_and_pipelining(self):
        one = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = raw(one * 20 + last)
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK\r\n"), 21)
        self.assertEqual(answer.count(b"Connection: close"), 1)

    def test_http_1_0(self):
        answer = raw(b"GET /v1/health HTTP/1.0\r\n\r\n")
        self.assertEqual(status_of(answer), 200)

    def test_request_in_single_bytes(self):
        with socket.create_connection(("127.0.0.1", S.port), timeout=20) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in b"GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
                sock.send(bytes([byte]))
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        self.assertEqual(status_of(answer), 200)

    def test_client_that_ends_its_side_gets_its_answer(self):
        answer = raw(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n", finish=True)
        self.assertEqual(status_of(answer), 200)

    def test_openapi(self):
        status, _, body = S.request("GET", "/openapi.json")
        document = json.loads(body)
        self.assertEqual((status, document["openapi"]), (200, "3.1.0"))
        schemas = document["components"]["schemas"]
        for action in ("click", "type", "screenshot", "exec", "file_write", "batch"):
            self.assertEqual(schemas["action_" + action]["properties"]["action"]["const"], action)
        self.assertIn("post", document["paths"]["/v1/sessions/{id}/actions"])
        names = {p["name"] for p in document["paths"]["/v1/sessions/{id}/files/{path}"]["get"]["parameters"]}
        self.assertEqual(names, {"id", "path", "list", "stat"})
        for name, path, method in (("spec", "/v1/sessions", "post"), ("change", "/v1/sessions/{id}", "patch"),
                                   ("actions", "/v1/sessions/{id}/actions", "post"),
                                   ("token_spec", "/v1/tokens", "post"), ("ticket_spec", "/v1/tickets", "post")):
            body = document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
            self.assertEqual(body, {"$ref": f"#/components/schemas/{name}"})
        for action in (schema for name, schema in schemas.items() if name.startswith("action_")):
            self.assertIn("result_" + action["x-result"], schemas)
            self.assertTrue(all(p.get("description") for n, p in action["properties"].items() if n != "action"), action)
        ids = [op["operationId"] for path in document["paths"].values() for op in path.values()]
        self.assertEqual(len(ids), len(set(ids)))
        self.references_resolve(document, document)

    def references_resolve(self, node, document):
        if isinstance(node, dict):
            if "$ref" in node:
                target = document
                for part in node["$ref"][2:].split("/"):
                    target = target[part]
            for value in node.values():
                self.references_resolve(value, document)
        elif isinstance(node, list):
            for value in node:
                self.references_resolve(value, document)

    def test_info(self):
        status, _, body = S.request("GET", "/v1/info", token=ADMIN)
        self.assertEqual((status, json.loads(body)["counts"]["sessions"]), (200, 1))


class Malformed(unittest.TestCase):
    def refused(self, request, want=400):
        answer = raw(request)
        self.assertEqual(status_of(answer), want, (request[:80], answer[:200]))
        self.assertIn(b"Connection: close", answer)
        self.assertTrue(json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["message"])

    def test_heads(self):
        for request in (
                b"GARBAGE\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n",
                b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\nHost: x\n\n", b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: a\x00b\r\n\r\n", b"G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"GET x HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"):
            self.refused(request)

    def test_lengths(self):
        head = b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\n"
        for lines in (b"Content-Length: -4\r\n", b"Content-Length: 1x\r\n", b"Content-Length: \r\n",
                      b"Content-Length: 99999999999999999999\r\n",
                      b"Content-Length: 3\r\nContent-Length: 4\r\n",
                      b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                      b"Transfer-Encoding: gzip\r\n", b"Transfer-Encoding: chunked, chunked\r\n"):
            self.refused(head + lines + b"\r\n")

    def test_addresses(self):
        for path in (b"/v1/sessions/%zz", b"/v1/sessions/a%00b", b"/v1/sessions/%ff", b"/v1/health?a=%f"):
            self.refused_or_closed(path)

    def refused_or_closed(self, path):
        answer = raw(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        self.assertEqual(status_of(answer), 400, path)

    def test_too_large_heads(self):
        self.refused(b"GET /" + b"a" * 40000, want=413)
        self.refused(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 100 + b"\r\n", want=413)

    def test_malformed_json(self):
        for body in (b"{", b"[1,", b"\xff", b'{"role":"admin","role":"viewer"}', b"{} x", b"[" * 100000):
            status, _, answer = S.request("POST", "/v1/tokens", body, token=ADMIN)
            self.assertEqual((status, kind(answer)), (400, "bad_request"), body[:20])

    def test_malformed_chunks(self):
        head = (b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + ADMIN.encode()
                + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        for body in (b"x\r\n", b"\r\n", b"1\r\nab\r\n", b"1\nabc", b"fffffffffffffffff\r\n", b"-1\r\n"):
            self.assertEqual(status_of(raw(head + body)), 400, body)


class Bodies(unittest.TestCase):
    def test_chunked(self):
        head = (b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + ADMIN.encode()
                + b"\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        body = b'8;ext=1\r\n{"role":\r\n9\r\n"viewer"}\r\n0\r\nTrailer: x\r\n\r\n'
        self.assertEqual(status_of(raw(head + body)), 201)

    def test_too_large(self):
        """100 MB against the limit: refused at once, and the client that sends on sees the answer."""
        status, headers, body = S.request("POST", "/v1/tokens", b"x" * 100_000_000, token=ADMIN)
        self.assertEqual((status, kind(body), headers["Connection"]), (413, "too_large", "close"))

    def test_too_large_chunked(self):
        """Without a length it is refused while it comes."""
        def pieces():
            for _ in range(100):
                yield b"x" * 1_000_000
        status, _, body = S.request("POST", "/v1/tokens", pieces(), token=ADMIN)
        self.assertEqual((status, kind(body)), (413, "too_large"))

    def test_unauthorized_body_is_not_read(self):
        status, _, body = S.request("POST", "/v1/tokens", b"x" * 30_000_000)
        self.assertEqual((status, kind(body)), (401, "unauthorized"))

    def test_expect_continue(self):
        with socket.create_connection(("127.0.0.1", S.port), timeout=20) as sock:
            sock.sendall(b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
                         b"Content-Length: 17\r\nAuthorization: Bearer " + ADMIN.encode() + b"\r\n\r\n")
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 100 Continue\r\n\r\n"))
            sock.sendall(b'{"role":"viewer"}')
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        self.assertEqual(status_of(answer), 201)

    def test_post_without_length(self):
        answer = raw(b"POST /v1/tickets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: "
                     + ADMIN.encode() + b"\r\n\r\n")
        self.assertEqual(status_of(answer), 201)


class Tokens(unittest.TestCase):
    def make(self, **spec):
        status, _, body = S.request("POST", "/v1/tokens", json.dumps(spec), token=ADMIN)
        self.assertEqual(status, 201, body)
        return json.loads(body)

    def test_life(self):
        made = self.make(role="viewer", label="näher")
        self.assertTrue(made["token"].startswith("cuad_"))
        self.assertEqual(len(made["token"]), 48)
        status, _, body = S.request("GET", "/v1/tokens", token=ADMIN)
        listed = {t["id"]: t for t in json.loads(body)["tokens"]}
        self.assertEqual(listed[made["id"]]["label"], "näher")
        self.assertNotIn(made["token"].encode(), body)
        self.assertEqual(S.request("GET", "/v1/info", token=made["token"])[0], 200)
        status, _, body = S.request("POST", "/v1/tokens", "{}", token=made["token"])
        self.assertEqual((status, kind(body)), (403, "forbidden"))
        self.assertEqual(S.request("DELETE", "/v1/tokens/" + made["id"], token=ADMIN)[0], 204)
        self.assertEqual(S.request("GET", "/v1/info", token=made["token"])[0], 401)
        self.assertEqual(S.request("DELETE", "/v1/tokens/" + made["id"], token=ADMIN)[0], 404)

    def test_specs(self):
        for spec, want in (({}, 422), ({"role": "root"}, 422), ({"role": 1}, 400), ({"rolle": "admin"}, 400),
                           ({"role": "agent"}, 422), ({"role": "admin", "session": SESSION}, 422),
                           ({"role": "agent", "session": "nope"}, 404), ({"role": "viewer", "ttl": 0}, 422),
                           ({"role": "viewer", "ttl": "x"}, 400), ({"role": "viewer", "label": "x" * 65}, 422),
                           ([], 400), ("x", 400)):
            status, _, body = S.request("POST", "/v1/tokens", json.dumps(spec), token=ADMIN)
            self.assertEqual(status, want, (spec, body))

    def test_bound_to_a_session(self):
        other = S.session("zzzzzzzzzzzz", "two")
        made = self.make(role="agent", session=SESSION)["token"]
        self.assertEqual(S.request("GET", "/v1/sessions/" + SESSION, token=made)[0], 200)
        status, _, body = S.request("GET", "/v1/sessions/" + other, token=made)
        self.assertEqual((status, kind(body)), (404, "not_found"))
        status, _, body = S.request("GET", "/v1/sessions", token=made)
        self.assertNotIn(other.encode(), body)

    def test_nothing_secret_on_disk(self):
        made = self.make(role="viewer")["token"]
        self.assertEqual(S.request("GET", "/v1/info", token=made)[0], 200)
        for path in (S.dir / "state/front").glob("cuad.db*"):
            self.assertNotIn(made[5:].encode(), path.read_bytes())
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_credentials(self):
        self.assertEqual(S.request("GET", "/v1/info")[0], 401)
        self.assertEqual(S.request("GET", "/v1/info", headers={"X-API-Key": ADMIN})[0], 200)
        status, headers, body = S.request("GET", "/v1/info", headers={"Authorization": "Basic eDp5"})
        self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(S.admin("GET", "/v1/info")[0], 200)

    def test_tickets(self):
        status, _, body = S.request("POST", "/v1/tickets", json.dumps({"role": "viewer"}), token=ADMIN)
        ticket = json.loads(body)["ticket"]
        self.assertIn("?ticket=" + ticket, json.loads(body)["url"])
        status, headers, _ = S.request("GET", "/?ticket=" + ticket)
        self.assertEqual(status, 200)
        cookie = headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(part, cookie)
        self.assertIsNone(S.request("GET", "/?ticket=" + ticket)[1]["Set-Cookie"])
        self.assertEqual(S.request("GET", "/v1/info?ticket=" + ticket)[0], 401)
        jar = {"Cookie": "a=b; " + cookie.split(";")[0]}
        self.assertEqual(S.request("GET", "/v1/info", headers=jar)[0], 200)
        self.assertEqual(S.request("GET", "/v1/tokens", headers=jar)[0], 403)
        evil = dict(jar, Origin="https://evil.example.org")
        self.assertEqual(S.request("POST", "/v1/tickets", "{}", headers=evil)[0], 403)
        good = dict(jar, Origin="https://desk.example.org")
        self.assertEqual(S.request("POST", "/v1/tickets", "{}", headers=good)[0], 201)

    def test_a_revoked_token_ends_its_cookies(self):
        made = self.make(role="operator")
        ticket = json.loads(S.request("POST", "/v1/tickets", token=made["token"])[2])["ticket"]
        jar = {"Cookie": S.request("GET", "/?ticket=" + ticket)[1]["Set-Cookie"].split(";")[0]}
        self.assertEqual(S.request("GET", "/v1/info", headers=jar)[0], 200)
        S.request("DELETE", "/v1/tokens/" + made["id"], token=ADMIN)
        self.assertEqual(S.request("GET", "/v1/info", headers=jar)[0], 401)


class WebSockets(unittest.TestCase):
    def open(self, path=None, **options):
        url = f"ws://127.0.0.1:{S.port}{path or '/v1/sessions/' + SESSION + '/rpc'}"
        options.setdefault("header", ["Authorization: Bearer " + ADMIN])
        options.setdefault("suppress_origin", True)
        return websocket.create_connection(url, timeout=20, **options)

    def refused(self, want, **options):
        with self.assertRaises(websocket.WebSocketBadStatusException) as caught:
            self.open(**options)
        self.assertEqual(caught.exception.status_code, want)

    def ask(self, ws, method="nothing"):
        ws.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}))
        return json.loads(ws.recv())

    def close_code(self, ws):
        opcode, data = ws.recv_data()
        self.assertEqual(opcode, websocket.ABNF.OPCODE_CLOSE)
        return struct.unpack("!H", data[:2])[0], data[2:].decode()

    def test_round_trip(self):
        for protocols in (None, ["cua.rpc.v1"], ["other", "cua.rpc.v1"]):
            ws = self.open(subprotocols=protocols)
            self.assertEqual(ws.getsubprotocol(), "cua.rpc.v1" if protocols else None)
            self.assertEqual(self.ask(ws)["error"]["code"], -32601)
            ws.close()

    def test_refusals(self):
        self.refused(400, subprotocols=["binary"])
        self.refused(401, header=[])
        self.refused(401, header=["Authorization: Bearer cuad_wrong"])
        self.refused(404, path="/v1/sessions/zzzzzzzzzzz9/rpc")
        self.refused(404, path="/v1/nothing")
        self.refused(403, suppress_origin=False, origin="http://evil.example.org")
        status, _, body = S.request("GET", f"/v1/sessions/{SESSION}/rpc", token=ADMIN)
        self.assertEqual((status, kind(body)), (400, "bad_request"))

    def test_origins(self):
        for origin in (f"http://127.0.0.1:{S.port}", "https://desk.example.org"):
            ws = self.open(suppress_origin=False, origin=origin)
            self.assertEqual(self.ask(ws)["id"], 1)
            ws.close()

    def test_frame_cut_in_two(self):
        ws = self.open()
        payload = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "nothing"}).encode()
        frame = websocket.ABNF.create_frame(payload, websocket.ABNF.OPCODE_TEXT).format()
        for cut in (1, 2, 5, 20):
            ws.sock.sendall(frame[:cut])
            self.assertFalse(readable(ws.sock, 0.05))
            ws.sock.sendall(frame[cut:])
            self.assertEqual(json.loads(ws.recv())["id"], 7)
        ws.close()

    def test_fragments(self):
        ws = self.open()
        text = json.dumps({"jsonrpc": "2.0", "id": 8, "method": "näher"}, ensure_ascii=False).encode()
        abnf = websocket.ABNF
        cuts = [text[:41], text[41:42], b"", text[42:]]
        for i, piece in enumerate(cuts):
            frame = abnf(int(i == len(cuts) - 1), 0, 0, 0, abnf.OPCODE_TEXT if i == 0 else abnf.OPCODE_CONT, 1,
                         piece)
            ws.sock.sendall(frame.format())
            ws.ping("in between")
        while True:
            opcode, data = ws.recv_data()
            if opcode == abnf.OPCODE_TEXT:
                break
        self.assertEqual(json.loads(data)["id"], 8)
        ws.close()

    def test_faults(self):
        abnf = websocket.ABNF
        big = b"\x82\xff" + struct.pack("!Q", 1 << 40) + b"abcd"
        text = abnf(1, 0, 0, 0, abnf.OPCODE_TEXT, 1, b"\xc3\x28").format()
        for bytes_, want in ((text, 1007), (b"\x81\x02hi", 1002), (b"\xc1\x80abcd", 1002),
                             (b"\x83\x80abcd", 1002), (b"\x80\x80abcd", 1002), (b"\x09\x80abcd", 1002), (big, 1009)):
            ws = self.open()
            ws.sock.sendall(bytes_)
            self.assertEqual(self.close_code(ws)[0], want, bytes_)
            ws.shutdown()

    def test_messages_behind_the_handshake(self):
        """A client that sends on before it has seen the answer."""
        frame = websocket.ABNF.create_frame(b'{"jsonrpc":"2.0","id":3,"method":"x"}', 1).format()
        with socket.create_connection(("127.0.0.1", S.port), timeout=20) as sock:
            sock.sendall((f"GET /v1/sessions/{SESSION}/rpc HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                          "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                          f"Authorization: Bearer {ADMIN}\r\n\r\n").encode() + frame)
            out = b""
            while b'"id":3' not in out:
                out += sock.recv(4096)
        self.assertIn(b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", out)

    def test_close_is_answered(self):
        ws = self.open()
        ws.send_close(1000, b"bye")
        self.assertEqual(self.close_code(ws)[0], 1000)
        self.assertEqual(ws.sock.recv(1), b"")

    def test_slow_reader_is_not_read(self):
        """It asks for more and more and never reads: others go on, and no more is taken from it."""
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(60)
            sock.connect(("127.0.0.1", S.port))
            ws = self.open(socket=sock)
            request = json.dumps({"jsonrpc": "2.0", "id": "x" * 200000, "method": "y"}).encode()
            frame = websocket.ABNF.create_frame(request, websocket.ABNF.OPCODE_TEXT).format()
            sock.settimeout(2)
            sent = 0
            with self.assertRaises(TimeoutError):
                while sent < 400_000_000:
                    sent += sock.send(frame * 4)
            self.assertLess(sent, 64 << 20)  # what sockets and the queue hold
            began = time.monotonic()
            self.assertEqual(S.request("GET", "/v1/health")[0], 200)
            self.assertLess(time.monotonic() - began, 2)
            ws.shutdown()


class SlowClients(unittest.TestCase):
    def setUp(self):
        self.never, self.other = socket.socketpair()

    def tearDown(self):
        self.never.close()
        self.other.close()

    def test_answers_ahead_are_bounded(self):
        """Thousands of requests without reading an answer: they are not all answered into memory."""
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(1)
            sock.connect(("127.0.0.1", S.port))
            request = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 1000
            sent = 0
            with self.assertRaises(TimeoutError):
                while True:
                    sent += sock.send(request)
            self.assertLess(sent, 32 << 20)  # what sockets hold
            self.assertEqual(S.request("GET", "/v1/health")[0], 200)
            sock.settimeout(20)
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200 OK"))

    def test_patience(self):
        """What waits for a time limit waits together."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = [pool.submit(what) for what in (
                self.slow_download_is_not_cut, self.silent_connections_hinder_nobody, self.half_a_head_is_cut_off)]
            for one in waiting:
                one.result()

    def slow_download_is_not_cut(self):
        """Longer than the time for a request, the client takes a little now and then."""
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(20)
            sock.connect(("127.0.0.1", S.port))
            sock.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 60)
            began = time.monotonic()
            got = b""
            while time.monotonic() - began < 18:
                got += sock.recv(2048)
                readable(self.never, 0.2)
            while got.count(b"HTTP/1.1 200 OK") < 60:
                piece = sock.recv(1 << 20)
                self.assertTrue(piece)
                got += piece

    def silent_connections_hinder_nobody(self):
        """200 that never send a byte are cut off after the limit."""
        silent = [socket.create_connection(("127.0.0.1", S.port)) for _ in range(200)]
        began = time.monotonic()
        for _ in range(20):
            self.assertEqual(S.request("GET", "/v1/health")[0], 200)
        self.assertLess(time.monotonic() - began, 5)
        for sock in silent:
            sock.settimeout(max(0.1, began + 20 - time.monotonic()))
            self.assertEqual(sock.recv(1), b"")
            sock.close()

    def half_a_head_is_cut_off(self):
        with socket.create_connection(("127.0.0.1", S.port), timeout=20) as sock:
            sock.sendall(b"GET /v1/health HTTP/1.1\r\nHost:")
            self.assertEqual(sock.recv(1), b"")


class Crowds(unittest.TestCase):
    def test_more_than_the_limit(self):
        """Silent ones make room for others."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)) # 1024 is usual, and too few
        crowd = [socket.create_connection(("127.0.0.1", S.port)) for _ in range(1100)]
        for _ in range(20):
            self.assertEqual(S.request("GET", "/v1/health")[0], 200)
        for sock in crowd:
            sock.close()


class ZLast(unittest.TestCase):
    def test_wrong_tokens_are_limited(self):
        seen = set()
        for _ in range(40):
            status, headers, body = S.request("GET", "/v1/info", token="cuad_" + "A" * 43)
            seen.add((status, kind(body)))
        self.assertEqual(seen, {(401, "unauthorized"), (429, "rate_limited")})
        self.assertTrue(headers["Retry-After"])
        self.assertEqual(S.request("GET", "/v1/info", token=ADMIN)[0], 200)


class Tls(unittest.TestCase):
    def test_https(self):
        with_dir = S.dir / "tls"
        with_dir.mkdir()
        cert, key = str(with_dir / "cert.pem"), str(with_dir / "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        os.chown(key, 65534, 65534)
        server = Standin(tls=(cert, key))
        try:
            self.talk(server, ssl.create_default_context(cafile=cert))
        finally:
            server.close()

    def talk(self, server, context):
        import http.client
        conn = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=20, context=context)
        for _ in range(3):
            conn.request("GET", "/openapi.json")
            answer = conn.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertEqual(len(answer.read()), int(answer.headers["Content-Length"]))
        conn.request("POST", "/v1/tokens", b"x" * 40_000_000)
        self.assertEqual(conn.getresponse().status, 401)
        conn.close()
        session = server.session()
        token = json.loads(server.admin("POST", "/v1/tokens", '{"role":"operator"}')[2])["token"]
        ws = websocket.create_connection(f"wss://127.0.0.1:{server.port}/v1/sessions/{session}/rpc", timeout=20,
                                         sslopt={"context": context}, header=["X-API-Key: " + token],
                                         suppress_origin=True)
        for size in (10, 100_000, 1_000_000):
            ws.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m" * size}))
            self.assertEqual(json.loads(ws.recv())["error"]["code"], -32601)
        ws.close()
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                self.assertNotIn(b"200 OK", sock.recv(4096))
            except ConnectionResetError:
                pass


class Start(unittest.TestCase):
    def test_wrong_configuration(self):
        with self.assertRaises(AssertionError) as caught:
            Standin(config="pool: 10.213.0.0/16\nnonsense: 1\n")
        self.assertIn("unknown key nonsense in line 2", str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=1)
