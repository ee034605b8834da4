#!/usr/bin/env python3
"""What a session reaches on the network, and what it can do to others there: with an outside world of our
own behind a second network namespace, so that no packet leaves this host."""
import ctypes
import os
import select
import socket
import struct
import subprocess
import threading
import unittest

import product
from product import wait_until

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
HOST, PEER = "203.0.113.1", "203.0.113.2"
PUBLIC = ("8.8.8.8", "192.0.2.5")
PRIVATE = ("10.1.2.3", "172.16.5.5", "192.168.7.7", "169.254.169.254", "100.64.1.1")
ALLOWED = "10.9.9.9"
RESOLVER = "198.51.100.9"


def in_netns(pid, function):
    """Runs a function in the network namespace of a process, in a thread of its own."""
    result = []

    def enter():
        with open(f"/proc/{pid}/ns/net", encoding="ascii") as namespace:
            if LIBC.setns(namespace.fileno(), CLONE_NEWNET) < 0:
                raise OSError(ctypes.get_errno(), "setns")
        result.append(function())
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return result[0]


class World:
    """The host's uplink and what is behind it: an echo of the caller's address at port 80 of every address, a
    name server that answers all names but those of "slow", and an ear for what arrives."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"], stdout=subprocess.DEVNULL)
        own = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "the namespace")
        self.ip(False, "link", "add", "wan0", "type", "veth", "peer", "name", "up0", "netns", str(self.holder.pid))
        self.ip(True, "link", "set", "lo", "up")
        for outside, device, address in ((False, "wan0", HOST), (True, "up0", PEER)):
            self.ip(outside, "addr", "add", f"{address}/24", "dev", device)
            self.ip(outside, "link", "set", device, "up")
        for address in (*PUBLIC, *PRIVATE, ALLOWED, RESOLVER):
            self.ip(True, "addr", "add", f"{address}/32", "dev", "lo")
        self.ip(False, "route", "add", "default", "via", PEER)
        self.web = in_netns(self.holder.pid, lambda: socket.create_server(("0.0.0.0", 80), backlog=200))
        self.names = in_netns(self.holder.pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.names.bind((RESOLVER, 53))
        self.ear = in_netns(self.holder.pid, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                                                                   socket.htons(0x800)))
        self.ear.bind(("up0", 0x800))
        self.ear.setblocking(False)
        for serve in (self.serve_web, self.serve_names):
            threading.Thread(target=serve, daemon=True).start()

    def ip(self, outside, *args):
        enter = ["nsenter", "-t", str(self.holder.pid), "-n"] if outside else []
        subprocess.run([*enter, "ip", *args], check=True)

    def serve_web(self):
        while True:
            connection, peer = self.web.accept()
            connection.sendall(peer[0].encode())
            connection.close()

    def serve_names(self):
        while True:
            question, peer = self.names.recvfrom(4096)
            if b"slow" not in question:
                end = question.index(b"\0", 12) + 5
                self.names.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end] +
                                  b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(PUBLIC[0]), peer)

    def sources_heard(self):
        """Source addresses of all that has arrived so far."""
        found = set()
        while select.select([self.ear], [], [], 0.3)[0]:
            packet = self.ear.recv(2048)
            found.add(socket.inet_ntoa(packet[12:16]))
        return found

    def close(self):
        self.holder.kill()
        self.holder.wait()


def segment(source, flags):
    """A TCP segment with a header and nothing around it."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 1, 0, 64, 6, 0, socket.inet_aton(source),
                       socket.inet_aton(PUBLIC[0]))
    body = struct.pack("!HHIIBBHHH", 4000 + flags, 80, 1, 1, 0x50, flags, 100, 0, 0)
    pseudo = socket.inet_aton(source) + socket.inet_aton(PUBLIC[0]) + struct.pack("!BBH", 0, 6, 20) + body
    total = sum(struct.unpack("!16H", pseudo))
    total = (total & 0xffff) + (total >> 16)
    return head + body[:16] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + body[18:]


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.service = product.Service(f"allow: [{ALLOWED}/32]\ndns: [{RESOLVER}]\n")
        cls.addClassCleanup(cls.service.close)
        cls.init = {}
        cls.rpc = {}
        for name in ("a", "b", "flood"):
            session = cls.service.launch(name=name, network="open")
            cls.rpc[name] = cls.service.rpc(name)
            cls.init[name] = cls.find_init(session["id"])

    @staticmethod
    def find_init(session):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/cgroup", encoding="ascii") as group:
                    if line.read().startswith(b"/run/cuad/init") and session in group.read():
                        return int(pid)
            except OSError:
                continue
        raise AssertionError("no init")

    def inside(self, name, function):
        """What root inside does, without the tools that a template may lack."""
        return in_netns(self.init[name], function)

    def fetch(self, name, address, port=80):
        """What a server sends, or None when it is not reached; by a socket of the session's network."""
        def connect():
            with socket.socket() as sock:
                sock.settimeout(5)
                try:
                    sock.connect((address, port))
                    return sock.recv(100).decode()
                except OSError:
                    return None
        return self.inside(name, connect)

    def resolves(self, name):
        return self.rpc[name]("exec", command="timeout 4 getent hosts www.example.test")["stdout"]

    def test_reach(self):
        for address in (*PUBLIC, ALLOWED):
            self.assertEqual(self.fetch("a", address), HOST, address)
        for address in PRIVATE:
            self.assertIsNone(self.fetch("a", address), address)
        with socket.create_server(("0.0.0.0", 0)) as server:
            port = server.getsockname()[1]
            for address in (HOST, "10.213.255.1"):
                self.assertIsNone(self.fetch("a", address, port), address)
            self.assertIsNone(self.fetch("a", "10.213.255.1", self.service.port))
        with self.inside("b", lambda: socket.create_server(("0.0.0.0", 7777))):
            for address in ("10.213.0.3", "10.213.0.4"):
                self.assertIsNone(self.fetch("a", address, 7777), address)
        self.assertIn(PUBLIC[0], self.resolves("a"))

    def test_only_the_hosts_address_leaves(self):
        self.world.sources_heard()
        raw = self.inside("a", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
        with raw:
            for source in ("10.213.0.3", "10.213.0.4", "10.213.0.5", HOST):
                # a reset, FIN with SYN, FIN alone, nothing, ACK, SYN
                for flags in (4, 3, 1, 0, 16, 2):
                    try:
                        raw.sendto(segment(source, flags), (PUBLIC[0], 0))
                    except OSError:
                        pass
        heard = self.world.sources_heard()
        self.assertEqual(heard - {HOST}, set())
        self.assertEqual(heard, {HOST})

    def test_one_cannot_use_up_the_name_server(self):
        query = b"\1\0\0\1\0\0\0\0\0\0"
        flood = self.inside("flood", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with flood:
            for i in range(20000):
                label = f"n{i}".encode()
                flood.sendto(struct.pack("!H", i) + query + bytes([len(label)]) + label + b"\4slow\4test\0\0\1\0\1",
                             ("10.213.255.1", 53))
        self.assertIn(PUBLIC[0], self.resolves("b"))
        held = []
        for _ in range(40):
            sock = self.inside("flood", socket.socket)
            self.addCleanup(sock.close)
            sock.settimeout(1)
            try:
                sock.connect(("10.213.255.1", 53))
                held.append(sock)
            except OSError:
                pass
        self.assertLess(len(held), 5)
        other = self.inside("b", socket.socket)
        with other:
            other.settimeout(3)
            other.connect(("10.213.255.1", 53))

    def test_one_cannot_fill_the_table_of_connections(self):
        flood = self.inside("flood", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with flood:
            for port in range(1, 12000):
                try:
                    flood.sendto(b"x", (PUBLIC[0], port))
                except OSError:
                    pass
        with open("/proc/sys/net/netfilter/nf_conntrack_count", encoding="ascii") as count:
            self.assertLess(int(count.read()), 2500)
        self.assertEqual(self.fetch("b", PUBLIC[0]), HOST)

    def test_neighbours_do_not_pile_up(self):
        frames = self.inside("a", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        own = bytes.fromhex("0ac500000001")
        with frames:
            frames.bind(("eth0", 0))
            for i in range(3000):
                frames.send(b"\xff" * 6 + own + b"\x08\6\0\1\x08\0\6\4\0\1" + own + struct.pack("!I", 0x0a640002 + i) +
                            bytes(6) + socket.inet_aton("10.213.255.1"))
        for family in ("-4", "-6"):
            entries = subprocess.run(["ip", family, "neigh"], capture_output=True, text=True, check=True).stdout
            self.assertLess(len(entries.splitlines()), 20, family)


if __name__ == "__main__":
    unittest.main()
