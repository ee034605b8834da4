#!/usr/bin/env python3
"""Life and death of sessions on the whole product: crashes, many at once, limits, the demonstration."""
import json
import os
import select
import statistics
import subprocess
import sys
import threading
import time
import unittest

import websocket

import product
from product import RpcError, wait_until
from test_product import Base


class Crash(Base):
    def check_alive(self, name):
        def alive():
            try:
                rpc = self.service.rpc(name)
                ok = rpc("exec", command="echo alive")["stdout"] == "alive\n" and rpc("screenshot")["width"] == 1280
                rpc.close()
                return ok
            except (OSError, RpcError, websocket.WebSocketException, AssertionError):
                return False
        wait_until(alive, f"{name} being usable again", 20)

    def test_kill_each_and_all(self):
        self.service.launch(name="k", labels={"keep": "me"})
        self.service.rpc("k")("exec", command="echo kept >kept; (sleep 4321 &)")
        for names in (["cuad"], ["cuad-desktop"], ["cuad-supervisor"], ["cuad", "cuad-desktop", "cuad-supervisor"]):
            self.service.kill(*names)
            if "cuad-supervisor" in names:
                self.service.start()
            self.check_alive("k")
            s = self.service.api("GET", "/v1/sessions/k")
            self.assertEqual((s["state"], s["labels"]), ("running", {"keep": "me"}), names)
            out = self.service.rpc("k")("exec", command="cat kept; pgrep -fx 'sleep 4321' | wc -l")["stdout"]
            self.assertEqual(out, "kept\n1\n", names)
        self.service.ctl("rm", "k")

    def test_command_of_the_spec_starts_with_the_desktop(self):
        self.service.launch(name="cmd", command=["xterm", "-T", "of the spec", "-e", "cat"], env={"MARK": "x y"})
        rpc = self.service.rpc("cmd")
        wait_until(lambda: [w for w in rpc("windows") if w["title"] == "of the spec"], "its window")
        environment = rpc("exec", command="tr '\\0' '\\n' </proc/$(pgrep -x xterm)/environ")["stdout"]
        self.assertIn("MARK=x y", environment)
        self.service.ctl("rm", "cmd")

    def test_restart_keeps_sessions(self):
        self.service.launch(name="r")
        self.service.stop()
        self.service.start()
        self.check_alive("r")
        self.service.ctl("rm", "r")

    def test_kill_in_the_middle_leaves_nothing(self):
        self.service.ctl("rm", "--all")
        before = self.residue()
        for delay in (0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45):
            for verb in ("create", "delete"):
                if verb == "delete":
                    self.service.launch(name="mid")
                worker = threading.Thread(target=self.quietly, args=(verb,))
                worker.start()
                select.select([], [], [], delay)
                self.service.kill("cuad-supervisor", "cuad", "cuad-desktop")
                worker.join()
                self.service.start()
                wait_until(lambda: self.service.ctl("rm", "--all", check=False).returncode == 0 and
                           json.loads(self.service.ctl("list", "--json").stdout) == [], "removal", 20)
                wait_until(lambda: self.residue() == before, f"everything gone ({verb} {delay}): {self.residue()}", 20)
        self.assertEqual(os.listdir(self.service.state / "sessions"), [])

    def quietly(self, verb):
        self.service.ctl(*(("launch", "--name", "mid") if verb == "create" else ("rm", "mid")), check=False)

    def test_container_death_is_told(self):
        s = self.service.launch(name="d")
        self.service.rpc("d")("exec", command="true")
        pid = next(int(p) for p in os.listdir("/proc") if p.isdigit() and self.is_init(p, s["id"]))
        os.kill(pid, 9)
        wait_until(lambda: self.service.api("GET", "/v1/sessions/d")["state"] in ("failed", "stopped"), "failed", 10)
        self.assertTrue(self.service.api("GET", "/v1/sessions/d").get("reason"))
        self.service.ctl("rm", "d")

    @staticmethod
    def is_init(pid, session):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f, open(f"/proc/{pid}/cgroup") as g:
                return f.read().startswith(b"/run/cuad/init") and session in g.read()
        except OSError:
            return False

    def test_delete_right_after_create(self):
        before = self.residue()
        for i, delay in enumerate((0, 0.005, 0.05, 0.2, 0.5)):
            s = self.service.api("POST", "/v1/sessions?wait=0", {"name": f"q{i}"})
            select.select([], [], [], delay)
            both = [threading.Thread(target=self.service.ctl, args=("rm", s["id"]), kwargs={"check": False}) for _ in range(2)]
            for t in both:
                t.start()
            for t in both:
                t.join()
            self.service.api("GET", f"/v1/sessions/{s['id']}", status=404)
        wait_until(lambda: self.residue() == before, "everything gone", 10)

    def test_xvfb_death(self):
        self.service.launch(name="x")
        rpc = self.service.rpc("x")
        rpc("exec", command="pkill -9 Xvfb")
        def again():
            try:
                return rpc("screenshot")["width"] == 1280
            except RpcError:
                return False
        wait_until(again, "the picture after a new X server", 20)
        self.service.ctl("rm", "x")


class Many(Base):
    def test_twenty_at_once(self):
        start = time.monotonic()
        out = self.service.ctl("launch", "-n", "20", "--name", "m", "--set", "limits.memory=512M", "--json", timeout=300).stdout
        sessions = [json.loads(line) for line in out.splitlines()]
        print(f"20 sessions in {time.monotonic() - start:.1f} s", file=sys.stderr)
        self.assertEqual([s["state"] for s in sessions], ["running"] * 20)
        seen = set()
        for s in sessions:
            out = self.service.api("POST", f"/v1/sessions/{s['id']}/exec",
                                   {"command": "hostname; ip -4 -o addr show scope global | awk '{print $4}'; head -1 /proc/self/uid_map"})["stdout"]
            seen.add(out)
            self.assertEqual(self.service.action(s["id"], "screen_size")["width"], 1280)
        self.assertEqual(len(seen), 20)
        self.service.ctl("rm", "--all", timeout=300)

    def test_cycles_leave_nothing(self):
        self.service.ctl("rm", "--all", timeout=300)
        self.service.launch(name="warm-up")
        self.service.ctl("rm", "warm-up")
        before = self.residue()
        fds = self.fds()
        launched = []
        for i in range(int(os.environ.get("CUAD_CYCLES", "100"))):
            start = time.monotonic()
            s = self.service.launch(name=f"cycle-{i}")
            launched.append(time.monotonic() - start)
            self.assertEqual(s["state"], "running")
            self.service.api("DELETE", f"/v1/sessions/{s['id']}")
        wait_until(lambda: self.residue() == before, f"nothing left: {self.residue()}", 20)
        self.assertEqual(os.listdir(self.service.state / "sessions"), [])
        wait_until(lambda: self.fds() <= fds, f"descriptors back at {fds}, now {self.fds()}", 10)
        print(f"launch: median {statistics.median(launched):.3f} s, worst {max(launched):.3f} s", file=sys.stderr)

    def fds(self):
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for name in ("cuad", "cuad-supervisor") for pid in self.service.pids(name))


class Limited(unittest.TestCase):
    def test_exhausted(self):
        service = product.Service("max_sessions: 3\n")
        self.addCleanup(service.close)
        run = service.ctl("launch", "-n", "6", check=False, timeout=200)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout.count("running"), 3)
        got, answer = service.http("POST", "/v1/sessions", {}, unix=True)
        self.assertEqual((got, answer["error"]["kind"], answer["error"]["detail"]["resource"]), (503, "exhausted", "sessions"))


class Demonstration(Base):
    def test_agent_fills_a_form_in_chromium(self):
        s = self.service.launch(name="demo", template="desktop")
        token = self.service.token("agent", s["id"])
        picture = self.service.dir / "demo.png"
        run = subprocess.run([sys.executable, product.SOURCE / "tests/demo/agent.py", "--url",
                              f"ws://127.0.0.1:{self.service.port}/v1/sessions/{s['id']}/rpc", "--output", picture],
                             env=dict(os.environ, CUAD_TOKEN=token), capture_output=True, text=True, timeout=180)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))
        out = self.service.action(s["id"], "exec", command="ps -eo args | grep -c -- '[-]-no-sandbox'")["stdout"]
        self.assertEqual(out.strip(), "0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
