#!/usr/bin/env python3
"""Keys and buttons that are held, on the whole product: whose end lets go of them, and when."""
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import websocket

from product import RpcError, wait_until
from test_product import Base

# A client that holds what it is told and then only waits for its end.
HOLDER = """
import json, sys, websocket
url, token, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
s = websocket.create_connection(url, header=["Authorization: Bearer " + token], subprotocols=["cua.rpc.v1"])
for i, (method, params) in enumerate(calls):
    s.send(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}))
    print(s.recv(), flush=True)
s.recv()
"""
HELD = [["key_down", {"key": "ctrl"}], ["key_down", {"key": "x"}], ["mouse_down", {"x": 5, "y": 5}]]
BACK = {"x": 7, "y": 7, "button": "back"}


class Leases(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.id = cls.service.launch(name="held")["id"]

    def setUp(self):
        self.rpc = self.service.rpc(self.id)
        self.rpc("release_all")

    def tearDown(self):
        self.rpc.close()

    def hold(self, rpc):
        for method, params in HELD:
            rpc(method, **params)
        self.assertEqual(self.is_held(self.rpc, {}), True)

    @staticmethod
    def is_held(rpc, button):
        """A button that somebody holds cannot be clicked."""
        try:
            rpc("click", **button)
        except RpcError as error:
            if error.kind != "conflict":
                raise
            return True
        return False

    def check_free(self, seconds=2):
        wait_until(lambda: not self.is_held(self.rpc, {}), "the button", seconds)
        self.assertEqual(self.rpc("release_all")["released"], 0)

    def test_clean_close(self):
        other = self.service.rpc(self.id)
        self.hold(other)
        other.close()
        self.check_free(1)

    def test_cut(self):
        other = self.service.rpc(self.id)
        self.hold(other)
        other.socket.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.socket.shutdown()  # without a word: the kernel resets the connection
        self.check_free(1)

    def test_end_in_the_middle_of_a_batch(self):
        other = self.service.rpc(self.id)
        other.send("batch", actions=[{"action": "mouse_down"}, {"action": "wait", "ms": 1500},
                                     {"action": "key_down", "key": "shift"}, {"action": "mouse_down"}])
        wait_until(lambda: self.is_held(self.rpc, {}), "the press", 2)
        other.socket.shutdown()
        self.check_free(1)
        self.rpc("wait", ms=2000)  # past what would have come
        self.assertEqual(self.rpc("release_all")["released"], 0)

    def test_only_its_own(self):
        other = self.service.rpc(self.id)
        self.rpc("key_down", key="shift")
        self.rpc("mouse_down", **BACK)
        self.hold(other)
        other("key_down", key="shift")
        other.close()
        wait_until(lambda: not self.is_held(self.rpc, {}), "the button", 1)
        self.assertEqual(self.rpc("release_all")["released"], 2)

    def test_requests_of_their_own(self):
        """A key is down from one request to another; it counts for everybody."""
        self.rpc("exec", command="rm -f /tmp/typed")
        self.rpc("launch", command=["xterm", "-T", "typed", "-geometry", "80x24+0+0", "-e", "stty raw -echo; cat >/tmp/typed"])
        wait_until(lambda: [w for w in self.rpc("windows") if w["title"] == "typed"], "the terminal", 10)
        wait_until(lambda: self.rpc("exec", command="pgrep -x cat")["exit_code"] == 0, "the reader", 10)
        self.rpc("click", x=100, y=100, settle=200)
        self.service.action(self.id, "key_down", key="shift")
        self.rpc("key", keys="a")
        self.service.action(self.id, "key_up", key="shift")
        self.rpc("key", keys="a")
        other = self.service.rpc(self.id)
        other("key_down", key="ctrl")
        other.socket.shutdown()
        wait_until(lambda: self.rpc("release_all")["released"] == 0, "the end of the other", 1)
        self.rpc("key", keys="a")
        wait_until(lambda: self.rpc("exec", command="stat -c %s /tmp/typed")["stdout"].strip() == "3", "three letters", 5)
        self.assertEqual(self.rpc("exec", command="cat /tmp/typed")["stdout"], "Aaa")
        self.rpc("exec", command="pkill xterm")

    def test_silence_and_forgetting(self):
        """What a client that was stopped holds is let go within 15 s, what a request held after 30 s."""
        url = f"ws://127.0.0.1:{self.service.port}/v1/sessions/{self.id}/rpc"
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, url, self.service.token(), json.dumps(HELD)],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (holder.kill(), holder.wait(), holder.stdout.close()))
        for _ in HELD:
            self.assertIn('"result"', holder.stdout.readline())
        self.service.action(self.id, "mouse_down", **BACK)
        start = time.monotonic()
        os.kill(holder.pid, signal.SIGSTOP)
        took = {}
        while len(took) < 2:
            for name, button in (("silent", {}), ("forgotten", BACK)):
                if name not in took and not self.is_held(self.rpc, button):
                    took[name] = time.monotonic() - start
            self.assertLess(time.monotonic() - start, 40, took)
            select.select([], [], [], 0.1)
        self.assertLess(took["silent"], 15)
        self.assertTrue(28 < took["forgotten"] < 33, took)
        self.assertEqual(self.rpc("release_all")["released"], 0)
        os.kill(holder.pid, signal.SIGCONT)
        select.select([], [], [], 0.3)
        self.assertIsNone(holder.poll(), "a client that was silent stays connected")

    def test_deaths(self):
        for name in ("cuad", "cuad-desktop"):
            self.hold(self.service.rpc(self.id))
            self.service.kill(name)

            def again():
                try:
                    self.rpc = self.service.rpc(self.id)
                    return self.rpc("screen_size")["width"] == 1280
                except (OSError, RpcError, websocket.WebSocketException):
                    return False
            wait_until(again, f"the session after the end of {name}", 20)
            self.check_free()


if __name__ == "__main__":
    unittest.main(verbosity=2)
