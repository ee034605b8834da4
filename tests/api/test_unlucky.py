#!/usr/bin/env python3
"""What an unlucky operator does to a running service, and a hostile root to the session he has: a second one beside it, a file system that is full, a
damaged record, an interface taken away, a kill at a bad moment. Whatever happens, the others' sessions run on
and everything can be removed."""
import json
import os
import socket
import subprocess
import threading
import unittest

import product
from product import RpcError, residue, wait_until


class Unlucky(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = product.Service()
        cls.addClassCleanup(cls.service.close)
        cls.stay = cls.service.launch(name="stay")["id"]

    def tearDown(self):
        self.assertEqual(self.service.api("GET", "/v1/sessions/stay")["state"], "running")
        wait_until(self.stays, "the other session answering", 20)

    def stays(self):
        try:
            rpc = self.service.rpc("stay")
            answer = rpc("exec", command="echo stays")["stdout"]
            rpc.close()
            return answer == "stays\n"
        except (OSError, RpcError, AssertionError, product.websocket.WebSocketException):
            return False

    def listed(self):
        return {s["name"]: s["state"] for s in json.loads(self.service.ctl("list", "--json").stdout)}

    def test_second_service_on_the_same_state(self):
        options = self.service.options()
        other = str(self.service.run) + "-other"
        options[options.index("--run") + 1] = other
        run = subprocess.run([product.STAGE / "libexec/cuad/cuad-supervisor", *options], capture_output=True,
                             text=True, timeout=60)
        self.addCleanup(product.shutil.rmtree, other, ignore_errors=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("another supervisor is running", run.stderr)

    def test_killed_delete_is_finished_by_the_next_start(self):
        before = residue(self.service)
        session = self.service.launch(name="half")["id"]
        record = self.service.state / "sessions" / session / "record"

        def begun():
            try:
                return "complete=0" in record.read_text()
            except FileNotFoundError:
                return True
        thread = threading.Thread(target=self.service.ctl, args=("rm", "half"), kwargs={"check": False})
        thread.start()
        wait_until(begun, "the removal", 10)
        self.service.kill("cuad-supervisor", "cuad", "cuad-desktop")
        thread.join()
        self.service.start()
        wait_until(lambda: self.listed() == {"stay": "running"}, f"the removal being finished, not {self.listed()}", 20)
        wait_until(lambda: residue(self.service) == before, "nothing left", 20)

    def test_interface_taken_away(self):
        session = self.service.launch(name="cut")
        self.assertEqual(session["state"], "running")
        links = [name for _, name in socket.if_nameindex() if name.startswith("cs")]
        subprocess.run(["ip", "link", "delete", links[-1]], check=True)
        self.service.ctl("rm", "cut")
        self.assertEqual(self.listed(), {"stay": "running"})

    def test_damaged_record(self):
        session = self.service.launch(name="torn")["id"]
        self.service.stop()
        (self.service.state / "sessions" / session / "record").write_bytes(b"\0damage" * 40)
        self.service.start()
        wait_until(lambda: self.listed().get(f"damaged-{session}") == "failed", "the damage being told", 20)
        self.service.ctl("rm", session)
        self.assertEqual(os.listdir(self.service.state / "sessions"), [self.stay])

    def test_full_state_directory(self):
        before = residue(self.service)
        sessions = self.service.state / "sessions"
        self.service.ctl("rm", "stay")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m,mode=700", "full", sessions], check=True)
        try:
            self.service.launch(name="roomy", limits={"disk": "100M"})
            rpc = self.service.rpc("roomy")
            with open(sessions / "ballast", "wb") as ballast:
                try:
                    while True:
                        ballast.write(bytes(65536))
                        ballast.flush()
                except OSError:
                    pass
            got, answer = self.service.http("POST", "/v1/sessions", {"name": "none"}, unix=True)
            self.assertGreaterEqual(got, 500)
            self.assertIn("space", json.dumps(answer))
            self.assertEqual(rpc("exec", command="echo here")["stdout"], "here\n")
            self.service.ctl("rm", "--all")
            self.assertEqual(self.listed(), {})
            self.assertEqual(os.listdir(sessions), ["ballast"])
        finally:
            self.service.ctl("rm", "--all", check=False)
            subprocess.run(["umount", sessions], check=True)
            type(self).stay = self.service.launch(name="stay")["id"]
        after = residue(self.service)
        self.assertEqual([len(after[key]) for key in sorted(after) if key != "workers"],
                         [len(before[key]) for key in sorted(before) if key != "workers"])


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = product.Service()
        cls.addClassCleanup(cls.service.close)

    def root(self, session, command, **more):
        return self.service.api("POST", f"/v1/sessions/{session}/exec", {"command": command, "user": "root", **more})

    def test_cgroups_belong_to_the_host(self):
        session = self.service.launch(name="groups")["id"]
        for kind in ("freezer", "memory", "pids", "cpu", "devices"):
            self.root(session, f"mkdir -p /mnt/g; mount -t cgroup -o {kind} none /mnt/g && {{ mkdir /mnt/g/.x; "
                               "sleep 1000 & echo $! >/mnt/g/.x/cgroup.procs; echo FROZEN >/mnt/g/.x/freezer.state; "
                               "for f in /mnt/g/*.limit_in_bytes /mnt/g/pids.max /mnt/g/cpu.cfs_quota_us; do "
                               "echo -1 >$f; done; echo a >/mnt/g/devices.allow; } 2>/dev/null; "
                               "[ ! -e /mnt/g/.x ] && umount /mnt/g")
        got = self.root(session, "mount -t cgroup2 none /mnt/g && cd /mnt/g && mkdir .x && i=0; "
                                 "while mkdir .x/$i && [ $i -lt 3000 ]; do i=$((i + 1)); done 2>/dev/null; echo $i",
                        timeout=60000)
        self.assertLess(int(got["stdout"] or 0), 3000)
        self.assertEqual(self.service.api("GET", f"/v1/sessions/{session}")["state"], "running")
        start = product.time.monotonic()
        self.service.ctl("rm", session)
        self.assertLess(product.time.monotonic() - start, 10)

    def test_full_memory_file_systems_do_not_end_the_session(self):
        self.service.launch(name="full", limits={"memory": "512M"})
        for path in ("/dev/shm", "/tmp", "/run"):
            got = self.root("full", f"dd if=/dev/zero of={path}/fill bs=1M count=600")
            self.assertIn("No space left", got["stderr"])
        self.assertEqual(self.root("full", "rm /dev/shm/fill /tmp/fill /run/fill")["exit_code"], 0)
        self.assertEqual(self.service.api("GET", "/v1/sessions/full")["state"], "running")
        self.assertEqual(self.service.action("full", "screen_size")["width"], 1280)


if __name__ == "__main__":
    unittest.main()
