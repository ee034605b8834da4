#!/usr/bin/env python3
"""The whole product through HTTP, WebSocket and cuactl, on real containers."""
import base64
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import unittest

import websocket

import product
from product import RpcError, wait_until


class Base(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.service = product.Service()
        cls.addClassCleanup(cls.service.close)

    def residue(self):
        return product.residue(self.service)


class OneSession(Base):
    """Tests that share one session."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.session = cls.service.launch(name="one", labels={"team": "web"}, title="Größe 字")
        cls.id = cls.session["id"]
        cls.rpc = cls.service.rpc(cls.id)

    def exec(self, command, **params):
        return self.rpc("exec", command=command, **params)

    # ---- the session ----

    def test_session_object(self):
        s = self.service.api("GET", f"/v1/sessions/{self.id}")
        self.assertEqual(s["state"], "running")
        self.assertEqual(s["name"], "one")
        self.assertEqual(s["title"], "Größe 字")
        self.assertEqual(s["template"], "base")
        self.assertEqual(s["screen"]["width"], 1280)
        self.assertEqual(s["labels"], {"team": "web"})
        self.assertRegex(s["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(s["gpu"], [])
        self.assertGreater(s["usage"]["pids"], 3)
        self.assertGreater(s["usage"]["memory"], 1000000)
        for key in ("rpc", "view"):
            self.assertIn(key, s["urls"])

    def test_answers_are_as_described(self):
        document = self.service.api("GET", "/openapi.json")
        schemas = document["components"]["schemas"]

        def check(name, value, schema):
            if "$ref" in schema:
                schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
            if isinstance(value, list):
                for item in value:
                    check(name, item, schema["items"])
            elif isinstance(value, dict) and schema.get("properties"):
                self.assertEqual(set(value) - set(schema["properties"]), set(), name)
                for key in value:
                    check(f"{name}.{key}", value[key], schema["properties"][key])
        check("session", self.service.api("GET", f"/v1/sessions/{self.id}"), schemas["session"])
        check("sessions", self.service.api("GET", "/v1/sessions"), schemas["sessions"])
        check("token", self.service.api("POST", "/v1/tokens", {"role": "viewer"}), schemas["token"])
        check("tokens", self.service.api("GET", "/v1/tokens"), schemas["tokens"])
        check("ticket", self.service.api("POST", "/v1/tickets", {"session": self.id}), schemas["ticket"])
        self.rpc("launch", command="xterm")
        for action, params in (("screenshot", {}), ("screen_size", {}), ("cursor_position", {}), ("windows", {}),
                               ("move", {"x": 1, "y": 2, "settle": 50, "screenshot": True}), ("release_all", {}),
                               ("clipboard_set", {"text": "x"}), ("clipboard_get", {}),
                               ("exec", {"command": "printf '\\377'; seq 999", "max_output": 100}),
                               ("file_write", {"path": "described", "text": "x"}), ("file_read", {"path": "described"}),
                               ("file_list", {"path": "/etc"}), ("file_stat", {"path": "/etc"}),
                               ("file_remove", {"path": "described"})):
            result = schemas["result_" + schemas["action_" + action]["x-result"]]
            check(action, self.rpc(action, **params), result)

    def test_found_by_name_and_prefix(self):
        for word in (self.id, "one", self.id[:6]):
            self.assertEqual(self.service.api("GET", f"/v1/sessions/{word}")["id"], self.id)
        self.service.api("GET", "/v1/sessions/nobody", status=404)

    def test_patch(self):
        self.service.api("PATCH", f"/v1/sessions/{self.id}", {"labels": {"team": "web", "x": "1"}})
        self.assertEqual(self.service.api("GET", "/v1/sessions/one")["labels"]["x"], "1")
        self.service.api("PATCH", f"/v1/sessions/{self.id}", {"labels": {"x": None}})
        self.assertNotIn("x", self.service.api("GET", "/v1/sessions/one")["labels"])
        self.service.api("PATCH", f"/v1/sessions/{self.id}", {"colour": 1}, status=400)

    # ---- inside ----

    def test_inside(self):
        out = self.exec("hostname; id -un; id -u; pwd; cat /etc/resolv.conf; echo $DISPLAY $HOME")["stdout"]
        lines = out.split("\n")
        self.assertEqual(lines[:4], ["one", "agent", "1000", "/home/agent"])
        self.assertIn("nameserver 10.213.255.1", out)
        self.assertIn(":0 /home/agent", out)
        self.assertEqual(self.exec("sudo -n id -u")["stdout"], "0\n")

    def test_limits_inside(self):
        self.assertEqual(self.exec("ulimit -c")["stdout"], "0\n")
        limits = {"memory.limit_in_bytes": "4294967296", "memory.max": "4294967296", "pids.max": "2048",
                  "cpu.cfs_quota_us": "200000", "cpu.max": "200000 100000"}
        groups = [p for pattern in ("*/cuad", "cuad") for p in pathlib.Path("/sys/fs/cgroup").glob(f"{pattern}/{self.id}")]
        found = {f: (g / f).read_text().strip() for g in groups for f in limits if (g / f).exists()}
        self.assertEqual(found, {f: limits[f] for f in found})
        self.assertEqual({f.split(".")[0] for f in found}, {"memory", "pids", "cpu"})

    def test_nested_sandbox(self):
        self.assertEqual(self.exec("unshare -Urmpf --mount-proc true")["exit_code"], 0)
        self.assertEqual(self.exec("sudo unshare -mpf --mount-proc true")["exit_code"], 0)

    def test_shm_is_large_enough(self):
        self.assertEqual(self.exec("dd if=/dev/zero of=/dev/shm/x bs=1M count=100 && rm /dev/shm/x")["exit_code"], 0)

    def test_no_way_to_the_host(self):
        listing = self.exec("ls -la /run/cuad /run/cuad/link; cat /proc/net/unix")["stdout"]
        self.assertNotIn("cuad.sock", listing)
        refused = self.exec(f"timeout 3 bash -c 'exec 3<>/dev/tcp/10.213.255.1/{self.service.port}'")
        self.assertNotEqual(refused["exit_code"], 0)
        environ = self.exec("sudo cat /proc/1/environ | tr '\\0' '\\n'; env")["stdout"]
        self.assertNotIn("canary-of-the-environment", environ)

    def test_link_directory_is_read_only(self):
        self.assertNotEqual(self.exec("sudo touch /run/cuad/link/x")["exit_code"], 0)
        self.assertNotEqual(self.exec("sudo rm -f /run/cuad/link/sock && test ! -e /run/cuad/link/sock")["exit_code"], 0)

    # ---- exec ----

    def test_exec_results(self):
        r = self.exec(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((r["exit_code"], r["stdout"], r["stderr"]), (3, "out\n", "err\n"))
        self.assertFalse(r["timed_out"] or r["truncated"])
        self.assertEqual(self.exec("kill -9 $$")["signal"], 9)
        self.assertEqual(self.exec("cat", stdin="äöü\n")["stdout"], "äöü\n")
        self.assertEqual(self.exec("cat")["stdout"], "")
        self.assertEqual(self.exec("echo $A", env={"A": "x y"})["stdout"], "x y\n")
        self.assertEqual(self.exec("pwd", cwd="/tmp")["stdout"], "/tmp\n")
        self.assertEqual(self.exec("id -un", user="root")["stdout"], "root\n")

    def test_exec_errors(self):
        for params, kind in (({"command": ["/no/such/program"]}, "not_found"),
                             ({"command": ["/etc/passwd"]}, "forbidden"),
                             ({"command": "true", "cwd": "/no/such"}, "not_found"),
                             ({"command": "true", "user": "nobody-here"}, "not_found"),
                             ({"command": []}, "invalid"), ({}, "bad_request")):
            with self.assertRaises(RpcError, msg=params) as caught:
                self.rpc("exec", **params)
            self.assertEqual(caught.exception.kind, kind, (params, caught.exception.message))

    def test_exec_background_child_does_not_hold_the_answer(self):
        start = time.monotonic()
        r = self.exec("sleep 60 & echo x")
        self.assertEqual(r["stdout"], "x\n")
        self.assertLess(time.monotonic() - start, 1)

    def test_exec_time_out_kills_all(self):
        r = self.exec("sleep 1001 & setsid sleep 1001 & (sleep 1001; true)", timeout=500)
        self.assertTrue(r["timed_out"])
        left = self.exec("pgrep -fx 'sleep 1001' | wc -l")["stdout"].strip()
        self.assertEqual(left, "0")

    def test_exec_output_is_cut_in_the_middle(self):
        r = self.exec("head -c 300000000 /dev/zero | tr '\\0' y; echo END", max_output=100000)
        self.assertTrue(r["truncated"])
        self.assertEqual(r["stdout_bytes"], 300000004)
        self.assertLess(len(r["stdout"]), 100200)
        self.assertTrue(r["stdout"].startswith("yyy") and r["stdout"].endswith("END\n"))

    def test_exec_binary_output(self):
        r = self.exec("head -c 1000 /dev/urandom | tee /tmp/r; printf '\\377'")
        self.assertEqual(len(base64.b64decode(r["stdout_b64"])), 1001)

    def test_exec_arguments_are_exact(self):
        args = ["", "a\nb", "-x", "$(id)", "'\"", "ä字😀", "x" * 100000] + [str(i) for i in range(2000)]
        r = self.exec(["python3", "-c", "import sys,json;print(json.dumps(sys.argv[1:]))", *args],
                      max_output=1 << 20) if self.exec("command -v python3")["exit_code"] == 0 else None
        if r is None:
            r = self.exec(["printf", "%s\\037", *args], max_output=1 << 20)
            self.assertEqual(r["stdout"].split("\x1f")[:-1], args)
        else:
            self.assertEqual(json.loads(r["stdout"]), args)
        with self.assertRaises(RpcError):
            self.exec(["echo", "a\0b"])

    def test_long_command_does_not_block_others(self):
        slow = self.rpc.send("exec", command="sleep 5; echo done")
        start = time.monotonic()
        self.rpc("screenshot")
        self.assertLess(time.monotonic() - start, 1)
        self.assertEqual(self.rpc.receive(slow)["stdout"], "done\n")

    def test_zombies_are_reaped(self):
        self.exec("for i in $(seq 300); do (sleep 0.01 & ) ; done; true")
        left = wait_until(lambda: self.exec("ps -eo stat | grep -c ^Z")["stdout"].strip() == "0", "reaping", 10)
        self.assertTrue(left)

    def test_launch_tells_the_pid_or_why_not(self):
        pid = self.rpc("launch", command=["sleep", "77"])["pid"]
        self.assertEqual(self.exec(f"tr '\\0' ' ' </proc/{pid}/cmdline")["stdout"], "sleep 77 ")
        with self.assertRaises(RpcError) as caught:
            self.rpc("launch", command=["no-such-program"])
        self.assertEqual(caught.exception.kind, "not_found")

    # ---- files ----

    def test_files(self):
        text = "Zeile 1\nzwei ä字😀\n"
        self.assertEqual(self.rpc("file_write", path="d/e/f.txt", text=text, mkdirs=True)["size"], len(text.encode()))
        got = self.rpc("file_read", path="d/e/f.txt")
        self.assertEqual((got["text"], got["eof"]), (text, True))
        self.rpc("file_append", path="d/e/f.txt", text="end")
        self.assertTrue(self.rpc("file_read", path="/home/agent/d/e/f.txt")["text"].endswith("end"))
        data = bytes(range(256)) * 10
        self.rpc("file_write", path="d/bin", data_b64=base64.b64encode(data).decode(), mode="0755")
        self.assertEqual(base64.b64decode(self.rpc("file_read", path="d/bin")["data_b64"]), data)
        part = self.rpc("file_read", path="d/bin", offset=5, length=3, encoding="base64")
        self.assertEqual(base64.b64decode(part["data_b64"]), data[5:8])
        self.assertFalse(part["eof"])
        stat = self.rpc("file_stat", path="d/bin")
        self.assertEqual((stat["type"], stat["size"], stat["mode"]), ("file", 2560, "0755"))
        names = [e["name"] for e in self.rpc("file_list", path="d")["entries"]]
        self.assertEqual(names, ["bin", "e"])
        self.rpc("file_move", path="d/bin", destination="d/moved")
        with self.assertRaises(RpcError) as caught:
            self.rpc("file_remove", path="d")
        self.assertEqual(caught.exception.kind, "conflict")
        self.rpc("file_remove", path="d", recursive=True)
        for action in ("file_read", "file_stat", "file_list", "file_remove"):
            with self.assertRaises(RpcError) as caught:
                self.rpc(action, path="d")
            self.assertEqual(caught.exception.kind, "not_found", action)

    def test_file_permissions_and_odd_files(self):
        for path in ("/etc/shadow", "/root/x"):
            with self.assertRaises(RpcError) as caught:
                self.rpc("file_read", path=path)
            self.assertEqual(caught.exception.kind, "forbidden")
        self.exec("mkfifo -m 666 /tmp/fifo")
        for path in ("/tmp/fifo", "/dev/zero", "/tmp"):
            with self.assertRaises(RpcError) as caught:
                self.rpc("file_read", path=path)
            self.assertEqual(caught.exception.kind, "invalid", path)
        self.assertEqual(self.rpc("file_stat", path="/dev/null")["type"], "char")

    def test_http_files_stream(self):
        data = os.urandom(1 << 20) * 40
        path = f"/v1/sessions/{self.id}/files/tmp/big"
        self.service.api("PUT", path, data)
        status, back = self.service.http("GET", path, unix=True, raw=True)
        self.assertEqual(status, 200)
        self.assertTrue(back == data)
        self.assertEqual(self.service.api("GET", path + "?stat")["size"], len(data))
        names = [e["name"] for e in self.service.api("GET", f"/v1/sessions/{self.id}/files/tmp?list")["entries"]]
        self.assertIn("big", names)
        self.service.api("DELETE", path)
        self.service.api("GET", path, status=404)

    # ---- seeing and acting ----

    def test_screenshot_forms(self):
        r = self.rpc("screenshot")
        self.assertEqual((r["mime"], r["width"], r["height"]), ("image/png", 1280, 800))
        image = product.picture_of(r)
        self.assertEqual(image.size, (1280, 800))
        self.assertGreater(len(set(image.resize((64, 40)).getdata())), 1)
        part = self.rpc("screenshot", region=[10, 20, 300, 200], scale=0.5)
        self.assertEqual((part["width"], part["height"]), (150, 100))
        self.assertEqual(self.rpc("screenshot", max=[640, 640])["height"], 400)
        for form, magic in (("jpeg", b"\xff\xd8"), ("webp", b"RIFF"), ("png", b"\x89PNG")):
            status, body = self.service.http("GET", f"/v1/sessions/{self.id}/screenshot?format={form}", unix=True, raw=True)
            self.assertEqual(status, 200)
            self.assertTrue(body.startswith(magic))
        self.assertEqual(self.rpc("screen_size")["width"], 1280)

    def test_screenshot_etag(self):
        path = f"/v1/sessions/{self.id}/screenshot"
        self.service.http("GET", path, unix=True, raw=True)
        tag = self.service.last_headers["ETag"]
        status, _ = self.service.http("GET", path, unix=True, headers={"If-None-Match": tag})
        self.assertEqual(status, 304)
        frame = self.rpc("screenshot")["frame"]
        self.assertTrue(self.rpc("screenshot", if_changed_since=frame)["unchanged"])

    def test_binary_pictures(self):
        self.rpc.socket.send(json.dumps({"jsonrpc": "2.0", "id": "b", "method": "screenshot", "params": {"binary": True}}))
        frame = self.rpc.socket.recv()
        self.assertIsInstance(frame, bytes)
        length = int.from_bytes(frame[:4], "big")
        head = json.loads(frame[4:4 + length])
        self.assertEqual(head["id"], "b")
        self.assertEqual(head["result"]["bytes"], len(frame) - 4 - length)
        self.assertTrue(frame[4 + length:].startswith(b"\x89PNG"))

    def test_pointer_and_effect(self):
        r = self.rpc("move", x=100, y=120)
        self.assertIn(r["effect"], ("changed", "unchanged", "unknown"))
        at = self.rpc("cursor_position")
        self.assertEqual((at["x"], at["y"]), (100, 120))
        self.rpc("move", x=-10, y=5, relative=True)
        self.assertEqual(self.rpc("cursor_position")["x"], 90)
        scaled = self.rpc("move", x=320, y=200, space={"width": 640, "height": 400})
        self.assertTrue(scaled["settled"] is not None)
        self.assertIn(self.rpc("cursor_position")["x"], (640, 641))

    def test_type_into_xterm_is_exact(self):
        text = ("".join(map(chr, range(0x20, 0x7f))) + "ÄÖÜẞß ÇÑ é 日本語 한국어 Привет مرحبا "
                "😀👩‍💻👍🏽 €\tTab\nsecond line ")
        self.exec("rm -f /tmp/typed")
        self.rpc("launch", command=["xterm", "-u8", "-e", "sh", "-c", "stty -icanon -echo -icrnl; exec cat >/tmp/typed"])
        wait_until(lambda: any("xterm" in w["app"].lower() for w in self.rpc("windows")), "the terminal's window")
        wait_until(lambda: self.exec("pgrep -x cat")["exit_code"] == 0, "the sink")
        w = next(w for w in self.rpc("windows") if "xterm" in w["app"].lower())
        self.rpc("click", x=w["x"] + w["width"] // 2, y=w["y"] + w["height"] // 2, settle=100)
        r = self.rpc("type", text=text, settle=200)
        want = text.replace("\n", "\r").encode()
        wait_until(lambda: self.exec("stat -c %s /tmp/typed")["stdout"].strip() == str(len(want)), "all bytes", 10)
        self.assertEqual(self.service.http("GET", f"/v1/sessions/{self.id}/files/tmp/typed", unix=True, raw=True)[1], want)
        r = self.rpc("key", keys="ctrl+c", settle=200)
        self.assertIsInstance(r["changed"], list)

    def test_input_errors_change_nothing(self):
        before = self.rpc("cursor_position")
        for method, params, kind in (
                ("click", {"x": 1280, "y": 10}, "out_of_screen"), ("move", {"x": 5, "y": 99999}, "out_of_screen"),
                ("move", {"x": -1e12, "y": 0}, "out_of_screen"), ("drag", {"path": [[1, 1], [1, 99999]]}, "out_of_screen"),
                ("move", {"x": 5, "y": 800}, "out_of_screen"), ("click", {"x": -1, "y": 5}, "out_of_screen"),
                ("click", {"x": 1, "y": 1, "button": "foo"}, "invalid"), ("click", {"x": 1}, "bad_request"),
                ("key", {"keys": "ctrl+frobnicate"}, "invalid"), ("scroll", {"direction": "up"}, "bad_request"),
                ("click", {"x": "1", "y": 1}, "bad_request"), ("click", {"x": 1, "y": 1, "count": 4}, "invalid"),
                ("type", {}, "bad_request"), ("type", {"text": 5}, "bad_request"),
                ("screenshot", {"format": "gif"}, "invalid"), ("screenshot", {"scale": 2}, "invalid"),
                ("drag", {"path": [[1, 1]]}, "invalid"), ("drag", {"path": [[1, 1], [5000, 1]]}, "out_of_screen"),
                ("wait", {"ms": 100000}, "invalid")):
            with self.assertRaises(RpcError, msg=(method, params)) as caught:
                self.rpc(method, **params)
            self.assertEqual(caught.exception.kind, kind, (method, params, caught.exception.message))
        self.assertEqual(self.rpc("cursor_position"), before)

    def test_keys_are_released_when_their_owner_leaves(self):
        self.assertEqual(self.rpc("release_all")["released"], 0)
        other = self.service.rpc(self.id)
        other("key_down", key="shift")
        other("mouse_down", x=5, y=5, button="middle")
        self.rpc("key_down", key="ctrl")
        other.socket.shutdown()
        self.rpc("wait_settled", quiet=300, max=3000)
        # only what is held by this connection is left
        self.assertEqual(self.rpc("release_all")["released"], 1)

    def test_batch(self):
        r = self.rpc("batch", actions=[{"action": "move", "x": 10, "y": 10}, {"action": "cursor_position"},
                                       {"action": "screen_size"}])
        results = r["results"] if isinstance(r, dict) else r
        self.assertEqual(results[1]["x"], 10)
        with self.assertRaises(RpcError) as caught:
            self.rpc("batch", actions=[{"action": "move", "x": 20, "y": 20}, {"action": "nothing"}])
        self.assertIn(caught.exception.kind, ("bad_request", "not_found", "invalid"))

    def test_input_runs_in_the_order_sent(self):
        serials = [self.rpc.send("move", x=i, y=7) for i in range(50)]
        last = self.rpc.send("cursor_position")
        for serial in serials:
            self.rpc.receive(serial)
        self.assertEqual(self.rpc.receive(last)["x"], 49)

    def test_wait_settled(self):
        r = self.rpc("wait_settled", quiet=100, max=3000)
        self.assertTrue(r["settled"])
        start = time.monotonic()
        self.rpc("wait", ms=150)
        self.assertGreaterEqual(time.monotonic() - start, 0.14)


class BadInput(Base):
    def test_specs(self):
        self.service.ctl("rm", "--all")
        before = self.residue()
        for spec, status in (({"template": "none-such"}, 404), ({"colour": "red"}, 400), ({"name": "A B"}, 422),
                             ({"name": "x" * 33}, 422), ({"screen": "10x10"}, 422), ({"screen": "9999x9999"}, 422),
                             ({"screen": "wide"}, 422), ({"limits": {"memory": "lots"}}, 422),
                             ({"limits": {"cpus": -1}}, 422), ({"limits": {"disks": 1}}, 400),
                             ({"network": {"allow": ["example.org"]}}, 422), ({"network": "all"}, 422),
                             ({"gpu": "all"}, 422), ({"mounts": [{"source": "/", "target": "/x"}]}, 422),
                             ({"labels": 5}, 400), ({"name": 7}, 400), ([], 400), ({"env": {"A=B": "x"}}, 422)):
            got, answer = self.service.http("POST", "/v1/sessions", spec, unix=True)
            self.assertEqual(got, status, (spec, answer))
            self.assertIn("kind", answer["error"], spec)
            self.assertTrue(answer["error"]["message"], spec)
        got, answer = self.service.http("POST", "/v1/sessions", {"colour": "red"}, unix=True)
        self.assertIn("colour", answer["error"]["message"])
        self.assertEqual(self.residue(), before)

    def test_bodies(self):
        for body in (b"{", b"\xff\xfe", b'{"name":"\xc3"}', b"nul\0l", b"[" * 100000):
            got, answer = self.service.http("POST", "/v1/sessions", body, unix=True)
            self.assertEqual(got, 400, body[:20])
            self.assertEqual(answer["error"]["kind"], "bad_request")

    def test_hundred_megabytes(self):
        token = self.service.token()
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=30) as s:
            s.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token.encode() +
                      b"\r\nContent-Length: 104857600\r\n\r\n")
            try:
                for _ in range(1600):
                    s.sendall(b"x" * 65536)
            except OSError:
                pass
            answer = b""
            try:
                answer = s.recv(4096)
            except OSError:
                pass
            self.assertIn(b"413", answer.split(b"\r\n")[0])

    def test_roles(self):
        s = self.service.launch(name="mine")
        other = self.service.launch(name="other")
        agent = self.service.token("agent", s["id"])
        viewer = self.service.token("viewer")
        cases = ((None, "GET", "/v1/sessions", 401), ("cuad_wrong", "GET", "/v1/sessions", 401),
                 (agent, "GET", "/v1/sessions/mine", 200), (agent, "GET", "/v1/sessions/other", 404),
                 (agent, "DELETE", f"/v1/sessions/{other['id']}", 404), (agent, "POST", "/v1/sessions", 403),
                 (agent, "GET", "/v1/tokens", 403), (viewer, "GET", "/v1/sessions/mine/screenshot", 200),
                 (viewer, "POST", "/v1/sessions/mine/exec", 403), (viewer, "DELETE", "/v1/sessions/mine", 403),
                 (None, "GET", "/v1/health", 200), (None, "GET", "/openapi.json", 200))
        for token, method, path, status in cases:
            body = {"command": "true"} if method == "POST" else None
            got, answer = self.service.http(method, path, body, token=token)
            self.assertIn(got, (status, 403) if method == "DELETE" else (status,), (method, path, answer))
        got, answer = self.service.http("POST", "/v1/sessions/mine/actions", {"action": "click", "x": 1, "y": 1}, token=viewer)
        self.assertEqual(got, 403)
        listed = self.service.http("GET", "/v1/sessions", token=agent)[1]
        listed = listed["sessions"] if isinstance(listed, dict) else listed
        self.assertEqual([x["name"] for x in listed], ["mine"])
        with self.assertRaises(websocket.WebSocketBadStatusException):
            self.service.rpc("other", agent)
        self.service.ctl("rm", "mine", "other")

    def test_websocket_rubbish(self):
        s = self.service.launch(name="ws")
        rpc = self.service.rpc("ws")
        for text, code in (("{", -32700), ("5", -32600), ('{"jsonrpc":"1.0","id":1,"method":"x"}', -32600),
                           ('{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601),
                           ('{"jsonrpc":"2.0","id":1,"method":"click","params":5}', -32602)):
            rpc.socket.send(text)
            self.assertEqual(json.loads(rpc.socket.recv())["error"]["code"], code, text)
        self.assertEqual(rpc("screen_size")["width"], 1280)
        # a frame cut in two, and one that never ends
        frame = websocket.ABNF.create_frame(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "screen_size"}), 1).format()
        rpc.socket.sock.sendall(frame[:7])
        self.assertEqual(self.service.api("GET", "/v1/sessions/ws")["state"], "running")
        rpc.socket.sock.sendall(frame[7:])
        self.assertEqual(json.loads(rpc.socket.recv())["id"], 9)
        rpc.socket.sock.sendall(frame[:5])
        rpc.socket.sock.close()
        self.assertEqual(self.service.rpc("ws")("screen_size")["width"], 1280)
        self.service.ctl("rm", s["id"])

    def test_silent_connections(self):
        silent = [socket.create_connection(("127.0.0.1", self.service.port)) for _ in range(200)]
        start = time.monotonic()
        self.assertEqual(self.service.http("GET", "/v1/health")[0], 200)
        self.assertLess(time.monotonic() - start, 1)
        for s in silent:
            s.close()


class Ctl(Base):
    def test_whole_command_line(self):
        ctl = self.service.ctl
        out = ctl("launch", "-n", "3", "-t", "base", "--name", "c", "--label", "run=1", "--set", "limits.memory=1G").stdout
        self.assertEqual(len(re.findall(r"running", out)), 3)
        listed = json.loads(ctl("list", "--label", "run=1", "--json").stdout)
        self.assertEqual(sorted(s["name"] for s in listed), ["c-1", "c-2", "c-3"])
        self.assertIn("c-1", ctl("list").stdout)
        self.assertEqual(json.loads(ctl("show", "c-1", "--json").stdout)["limits"]["memory"], 1 << 30)
        self.assertEqual(ctl("exec", "c-1", "--", "sh", "-c", "echo hi; exit 7", check=False).returncode, 7)
        self.assertEqual(ctl("exec", "c-1", "-i", "--", "cat", input="äöü").stdout, "äöü")
        for args, status in ((("exec", "c-1", "--timeout", "1", "--", "sleep", "50"), 124),
                             (("exec", "c-1", "--", "/no/such"), 127), (("exec", "c-1", "--", "/etc/passwd"), 126),
                             (("exec", "c-1", "--", "sh", "-c", "kill -9 $$"), 137), (("exec", "nobody", "--", "true"), 125),
                             (("show", "nobody"), 3), (("frob",), 2), (("launch", "--frob"), 2),
                             (("exec", "c-1", "--env", "X", "--", "true"), 2), (("rm", "nobody"), 3),
                             (("launch", "-t", "none-such"), 3)):
            run = ctl(*args, check=False)
            self.assertEqual(run.returncode, status, (args, run.stderr))
            self.assertTrue(run.stderr.strip() or status in (124, 137), args)
        picture = self.service.dir / "p.jpg"
        ctl("screenshot", "c-1", "-o", picture)
        self.assertTrue(picture.read_bytes().startswith(b"\xff\xd8"))
        self.assertTrue(ctl("screenshot", "c-1", text=False).stdout.startswith(b"\x89PNG"))
        self.assertIn("effect", json.loads(ctl("do", "c-1", "move", "x=11", "y=12").stdout))
        script = self.service.dir / "s.jsonl"
        script.write_text('{"action":"move","x":30,"y":40}\n\n{"action":"cursor_position"}\n{"action":"nothing"}\n{"action":"screen_size"}\n')
        run = ctl("run", "c-1", script, check=False)
        self.assertEqual(run.returncode != 0 and len(run.stdout.splitlines()), 2)
        self.assertIn("line 4", run.stderr)
        url = ctl("open", "c-1").stdout.strip()
        path = url[url.index("/", 8):]
        picture_status, bytes_ = self.service.http("GET", path, raw=True)
        self.assertIn(picture_status, (200, 302, 303))
        self.assertEqual(self.service.http("GET", path)[0], 401)
        self.assertIn("base", ctl("template", "list").stdout)
        self.assertIn("packages", ctl("template", "show", "base").stdout)
        self.check_cp(ctl)
        self.check_completion(ctl)
        self.check_tokens(ctl)
        self.assertEqual(ctl("rm", "--all", "--label", "run=1").stdout.count("\n"), 3)
        self.assertEqual(json.loads(ctl("list", "--json").stdout), [])

    def check_cp(self, ctl):
        tree = self.service.dir / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub/ä b").write_bytes(b"\0\1\2")
        (tree / "link").symlink_to("sub/ä b")
        ctl("cp", tree, "c-1:/tmp/tree")
        ctl("cp", tree / "sub/ä b", "c-1:/tmp/")
        self.assertEqual(ctl("exec", "c-1", "--", "stat", "-c", "%s", "/tmp/ä b", "/tmp/tree/sub/ä b").stdout, "3\n3\n")
        back = self.service.dir / "back"
        ctl("cp", "c-1:/tmp/tree", back)
        self.assertEqual((back / "sub/ä b").read_bytes(), b"\0\1\2")
        self.assertEqual(os.readlink(back / "link"), "sub/ä b")
        ctl("cp", "-", "c-1:/tmp/in", input="text")
        self.assertEqual(ctl("cp", "c-1:/tmp/in", "-").stdout, "text")
        self.assertEqual(ctl("cp", "c-1:/none", "/tmp/x", check=False).returncode, 3)
        # relative paths start at the agent's home
        ctl("cp", tree / "sub/ä b", "c-1:")
        ctl("cp", tree, "c-1:own")
        ctl("cp", "-", "c-1:~/note", input="n")
        self.assertEqual(ctl("exec", "c-1", "--", "ls", "/home/agent").stdout, "note\nown\nä b\n")
        self.assertEqual(ctl("cp", "c-1:own/sub/ä b", "-", text=False).stdout, b"\0\1\2")
        ctl("cp", "c-1:", self.service.dir / "home")
        self.assertEqual((self.service.dir / "home/note").read_text(), "n")
        # a hostile archive: names that lead out of the target
        ctl("exec", "c-1", "--", "sh", "-c", "mkdir -p /tmp/evil && ln -s /etc /tmp/evil/etc && touch /tmp/evil/ok")
        ctl("cp", "c-1:/tmp/evil", self.service.dir / "evil")
        self.assertTrue((self.service.dir / "evil/ok").exists())

    def check_completion(self, ctl):
        def complete(*words):
            return ctl("complete", "--", *words).stdout.split()
        self.assertIn("launch", complete(""))
        self.assertEqual(complete("la"), ["launch"])
        self.assertEqual(complete("template", "b"), ["build"])
        self.assertEqual(sorted(complete("exec", "c-")), ["c-1", "c-2", "c-3"])
        self.assertEqual(complete("exec", "c-1", "--", "c"), [])
        self.assertEqual(complete("--json", "do", "c-1", "mouse_"), ["mouse_down", "mouse_up"])
        self.assertEqual(complete("do", "c-1", "click", "b"), ["button="])
        self.assertEqual(complete("launch", "--template", "ba"), ["base"])
        self.assertEqual(complete("launch", "--na"), ["--name"])
        self.assertEqual(complete("screenshot", "c-1", "--format", ""), ["png", "jpeg", "webp"])
        self.assertEqual(complete("token", "create", "--role", "a"), ["agent", "admin"])
        self.assertEqual(complete("cp", "c-2"), ["c-2:"])
        script = ctl("completion", "bash").stdout + 'COMP_WORDS=(cuactl rm c-1 c-3) COMP_CWORD=3; _cuactl; echo "${COMPREPLY[@]}"'
        run = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                             env=dict(self.service.env, PATH=f"{product.STAGE}/bin:{os.environ['PATH']}"))
        self.assertEqual(run.stdout, "c-3\n", run.stderr)

    def check_tokens(self, ctl):
        token = ctl("token", "create", "--role", "agent", "--session", "c-1", "--ttl", "100").stdout.strip()
        self.assertEqual(self.service.http("GET", "/v1/sessions/c-1", token=token)[0], 200)
        url = f"http://127.0.0.1:{self.service.port}"
        run = ctl("--host", url, "--token", token, "list")
        self.assertIn("c-1", run.stdout)
        self.assertNotIn("c-2", run.stdout)
        tokens = json.loads(ctl("token", "list", "--json").stdout)
        self.assertNotIn(token, json.dumps(tokens))
        for entry in tokens:
            ctl("token", "revoke", entry["id"])
        self.assertEqual(self.service.http("GET", "/v1/sessions/c-1", token=token)[0], 401)
        self.assertEqual(ctl("--host", url, "--token", token, "list", check=False).returncode, 4)
        self.assertEqual(ctl("--host", "http://127.0.0.1:9", "list", check=False).returncode, 5)
        self.assertEqual(ctl("token", "create", "--role", "king", check=False).returncode, 1)


class Isolation(Base):
    def test_sessions_do_not_reach_one_another(self):
        a, b = self.service.launch(name="a"), self.service.launch(name="b")
        ra, rb = self.service.rpc("a"), self.service.rpc("b")
        address = rb("exec", command="hostname -I || ip -4 -o addr show scope global | awk '{print $4}'")["stdout"]
        address = re.search(r"10\.213\.\d+\.\d+", address).group(0)
        own = ra("exec", command="ip -4 -o addr")["stdout"]
        self.assertNotIn(address, own)
        self.assertNotEqual(ra("exec", command=f"timeout 3 bash -c 'exec 3<>/dev/tcp/{address}/22'")["exit_code"], 0)
        names = {ra("exec", command="hostname")["stdout"], rb("exec", command="hostname")["stdout"]}
        self.assertEqual(names, {"a\n", "b\n"})
        ids = [s.split()[1] for s in (ra("exec", command="cat /proc/self/uid_map")["stdout"],
                                      rb("exec", command="cat /proc/self/uid_map")["stdout"])]
        self.assertNotEqual(ids[0], ids[1])
        pids = ra("exec", command="ps -e | wc -l")["stdout"]
        self.assertLess(int(pids), 40)
        machine = {r("exec", command="cat /etc/machine-id")["stdout"] for r in (ra, rb)}
        self.assertEqual(len(machine), 2)
        self.assertNotIn("inet6", ra("exec", command="ip -6 addr show scope global")["stdout"])

    def test_network_none(self):
        self.service.launch(name="dark", network="none")
        r = self.service.rpc("dark")
        links = r("exec", command="ls /sys/class/net")["stdout"].split()
        self.assertEqual(links, ["lo"])
        self.assertEqual(r("screen_size")["width"], 1280)

    def test_nothing_listens_beyond_loopback(self):
        out = subprocess.run(["ss", "-Htlnu"], capture_output=True, text=True).stdout
        for line in out.splitlines():
            address = line.split()[4]
            self.assertRegex(address, r"^(127\.|\[::1\]|10\.213\.255\.1:53)", line)

    def test_foreign_flush_is_mended(self):
        self.service.launch(name="fl")
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        def mended():
            out = subprocess.run(["nft", "list", "table", "inet", "cuad"], capture_output=True, text=True).stdout
            return re.search(r'"cs\d+" \. 10\.213', out)
        wait_until(mended, "the rules coming back", 5)

    def test_hostile_resources(self):
        self.service.launch(name="h", limits={"pids": 200, "memory": "300M", "disk": "200M"})
        r = self.service.rpc("h")
        self.assertNotEqual(r("exec", command="dd if=/dev/zero of=big bs=1M count=400")["exit_code"], 0)
        r("exec", command="rm -f big")
        r("exec", command="for i in $(seq 400); do sleep 3 & done; wait", timeout=20000)
        self.assertEqual(r("screen_size")["width"], 1280)

        def bomb_is_over():
            try:
                return r("exec", command="pgrep -x sleep")["exit_code"] == 1
            except RpcError as e:
                self.assertEqual(e.kind, "exhausted")
                return False
        # The shell gave up at its limit; what it had started lives on and holds that limit.
        wait_until(bomb_is_over, "the fork bomb to end")
        hog = r("exec", command="head -c 600M /dev/zero | tail | wc -c", timeout=30000)
        self.assertTrue(hog["exit_code"] != 0 or hog["stdout"].strip() != str(600 << 20))
        self.assertEqual(self.service.api("GET", "/v1/sessions/h")["state"], "running")
        self.assertTrue(r("exec", command="true")["exit_code"] == 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
