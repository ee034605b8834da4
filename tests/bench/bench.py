#!/usr/bin/env python3
"""Speed of the whole product beside the tools that people would use in its place, from one run.

The other tools run on the host with the container's network and IPC namespaces, on its display; their
times include their start, as for anybody who calls them once for each step. Needs root and a network
namespace of its own; `./bootstrap.sh bench` runs it."""
import difflib
import json
import os
import pathlib
import random
import select
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
import product

ROUNDS = 40
LAUNCHES = 10
MANY = 20
IDLE_SECONDS = 20
TYPED = 2000


# ---- figures ----

def p95(times):
    return sorted(times)[max(0, round(len(times) * 0.95) - 1)]


def measure(call, rounds=ROUNDS):
    """Milliseconds of each round; the first call warms up."""
    call()
    times = []
    for _ in range(rounds):
        start = time.monotonic()
        call()
        times.append((time.monotonic() - start) * 1000)
    return times


def table(title, head, rows):
    cells = [head] + [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                               for i, (c, w) in enumerate(zip(row, widths))).rstrip(), flush=True)


def versus(name, ours, tool, theirs):
    """A row that compares two lists of times; the ratio tells how many times faster ours is."""
    ratio = statistics.median(theirs) / statistics.median(ours)
    return [name, f"{statistics.median(ours):.1f}", f"{p95(ours):.1f}", tool,
            f"{statistics.median(theirs):.1f}", f"{p95(theirs):.1f}", f"{ratio:.1f}"]


# ---- one session and the tools beside it ----

class Desk:
    """A running session of the template base, its RPC connection, and other tools on its display."""

    def __init__(self, service):
        self.service = service
        self.id = service.launch(name="bench")["id"]
        self.connect()
        self.lxcpath = service.run / "sessions" / self.id / "lxc"
        self.init = (self.lxcpath / "init").read_text().split()[0]

    def connect(self):
        self.rpc = self.service.rpc(self.id)

    def tool(self, *command, **more):
        """Runs a program of the host on the session's display."""
        return subprocess.run(["nsenter", "-t", self.init, "-n", "-i", *command], check=True, timeout=300,
                              env=dict(os.environ, DISPLAY=":0", XAUTHORITY="/dev/null"),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)

    def attach(self):
        subprocess.run(["lxc-attach", "-P", self.lxcpath, "-n", self.id, "--", "true"], check=True)

    def picture(self, form):
        self.rpc.socket.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "screenshot",
                                         "params": {"format": form, "binary": True}}))
        answer = self.rpc.socket.recv()
        assert isinstance(answer, bytes), answer

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


def compare_exec(desk):
    return versus("exec true", measure(lambda: desk.rpc("exec", command=["true"])),
                  "lxc-attach -- true", measure(desk.attach))


def compare_pictures(desk, screen):
    rows = []
    for form in ("png", "jpeg"):
        rows.append(versus(f"screenshot {form}, {screen} screen", measure(lambda: desk.picture(form)), "import",
                           measure(lambda: desk.tool("import", "-window", "root", f"{form}:-"), 10)))
    return rows


def compare_click(desk):
    where = iter(range(100, 100 + 2 * ROUNDS + 10))
    return versus("click", measure(lambda: desk.rpc("click", x=next(where), y=300)), "xdotool",
                  measure(lambda: desk.tool("xdotool", "mousemove", str(next(where)), "300", "click", "1")))


def compare_times(desk):
    rows = [compare_exec(desk)]
    desk.terminal("sh", "-c", "ls -lR /usr/lib | head -60; exec cat")
    rows += compare_pictures(desk, "still")
    rows.append(compare_click(desk))
    desk.close_terminal()
    desk.terminal("seq", "-f", "%.0f the quick brown fox jumps over the lazy dog", "1000000000")
    rows += compare_pictures(desk, "busy")
    desk.close_terminal()
    table("One action at 1280x800, milliseconds",
          ["", "median", "p95", "other", "median", "p95", "times faster"], rows)


# ---- typing ----

def mixed_text():
    """Characters of the keyboard and of several scripts that no keyboard layout has together."""
    choice = random.Random(1)
    common = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,;:!?()[]{}<>/=+-*#$%&@"
    other = "äöüßéèñçøåþ€абвгдежзийклмнопрстαβγδεζηθ日本語中文字한국어→✓"
    return "".join(choice.choice(common if choice.random() < 0.7 else other) for _ in range(TYPED))


def typed_correctly(want, got):
    blocks = difflib.SequenceMatcher(None, want, got, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


def settled_file(desk, path):
    """The file's text once nothing is added to it any more."""
    sizes = [None]

    def same():
        sizes.append(desk.shell(f"stat -c %s {path}"))
        select.select([], [], [], 0.3)
        return sizes[-1] == sizes[-2]
    product.wait_until(same, "the last typed character")
    data = desk.service.http("GET", f"/v1/sessions/{desk.id}/files{path}", unix=True, raw=True)[1]
    return data.decode(errors="replace")


def type_with(desk, name, write, text):
    desk.terminal("sh", "-c", "stty raw -echo; exec cat >/tmp/typed")
    product.wait_until(lambda: desk.rpc("exec", command="pgrep -x cat")["exit_code"] == 0, "the reader")
    desk.rpc("click", x=640, y=400, settle=100)
    start = time.monotonic()
    write()
    seconds = time.monotonic() - start
    desk.connect()  # a tool takes longer than a connection may leave pings unanswered
    correct = typed_correctly(text, settled_file(desk, "/tmp/typed"))
    desk.close_terminal()
    return [name, f"{correct}/{len(text)}", f"{seconds:.2f}", f"{correct / seconds:.0f}"]


def compare_typing(desk):
    text = mixed_text()
    rows = [type_with(desk, "cuad type", lambda: desk.rpc("type", text=text), text)]
    for options in ([], ["--delay", "0"]):
        rows.append(type_with(desk, " ".join(["xdotool type", *options]), lambda: desk.tool(
            "xdotool", "type", *options, "--file", "-", input=text.encode()), text))
    table(f"Typing {TYPED} mixed characters into a terminal", ["", "correct", "seconds", "correct per second"], rows)


# ---- launching ----

def measure_launch(service):
    times, phases = [], {}
    for i in range(LAUNCHES + 1):
        start = time.monotonic()
        session = service.launch(template="base")
        if i > 0:
            times.append((time.monotonic() - start) * 1000)
            for name, ms in session["phases"].items():
                phases.setdefault(name, []).append(ms)
        service.api("DELETE", f"/v1/sessions/{session['id']}")
    phases["asked to answered"] = times
    table("Launch of one base session until it runs, milliseconds (x counts from mounts on)", ["phase", "median", "p95"],
          [[name, f"{statistics.median(ms):.1f}", f"{p95(ms):.1f}"] for name, ms in phases.items()])


def launch_many(service):
    start = time.monotonic()
    service.ctl("launch", "-n", MANY, "--name", "m", "--set", "limits.memory=512M", timeout=300)
    table(f"{MANY} base sessions at once", ["", "seconds"],
          [["until all run", f"{time.monotonic() - start:.1f}"]])


# ---- idling ----

def process_table():
    """pid -> (parent, name, command line)"""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text()
            name = fields[fields.index("(") + 1:fields.rindex(")")]
            found[int(entry.name)] = (int(fields[fields.rindex(")") + 2:].split()[1]), name,
                                      (entry / "cmdline").read_bytes())
        except (OSError, ValueError):
            continue
    return found


def descendants(processes, roots):
    found = set(roots)
    while True:
        more = {pid for pid, (parent, _, _) in processes.items() if parent in found} - found
        if not more:
            return found
        found |= more


def idle_groups(service):
    """Our own processes, and those of the desktops that we keep running."""
    processes = process_table()
    mark = b"[lxc monitor] " + str(service.run).encode()
    monitors = {pid for pid, (_, _, line) in processes.items() if line.startswith(mark)}
    inits = {pid for pid, (parent, _, _) in processes.items() if parent in monitors}
    ours = descendants(processes, {service.process.pid}) | monitors | inits
    return {"ours": ours, "desktops": descendants(processes, inits) - inits}, processes


def spent(pids):
    """Nanoseconds on a CPU and voluntary switches of each."""
    found = {}
    for pid in pids:
        try:
            switches = pathlib.Path(f"/proc/{pid}/status").read_text().split("\nvoluntary_ctxt_switches:")[1]
            found[pid] = (int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]), int(switches.split()[0]))
        except OSError:
            continue
    return found


def by_program(before, after, processes):
    """[name, count, % of one core, wake-ups per second] for each program that did anything."""
    sums = {}
    for pid in before.keys() & after.keys():
        entry = sums.setdefault(processes[pid][1], [0, 0, 0])
        entry[0] += 1
        entry[1] += after[pid][0] - before[pid][0]
        entry[2] += after[pid][1] - before[pid][1]
    return [[name, count, f"{ns / 1e7 / IDLE_SECONDS:.2f}", f"{wakes / IDLE_SECONDS:.1f}"]
            for name, (count, ns, wakes) in sorted(sums.items())]


def measure_idle(service):
    groups, processes = idle_groups(service)
    select.select([], [], [], IDLE_SECONDS / 4)
    before = {name: spent(pids) for name, pids in groups.items()}
    select.select([], [], [], IDLE_SECONDS)
    for name, pids in groups.items():
        table(f"{MANY} idle sessions for {IDLE_SECONDS} s: {name}",
              ["program", "processes", "% of one core", "wake-ups per second"],
              by_program(before[name], spent(pids), processes))


def main():
    missing = [tool for tool in ("lxc-attach", "import", "xdotool", "nsenter") if not shutil.which(tool)]
    if missing:
        sys.exit(f"not installed: {' '.join(missing)}")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} CPUs, load {load:.1f}" + (": other programs disturb these figures" if load > 1 else ""))
    service = product.Service()
    try:
        measure_launch(service)
        desk = Desk(service)
        compare_times(desk)
        compare_typing(desk)
        service.api("DELETE", f"/v1/sessions/{desk.id}")
        launch_many(service)
        measure_idle(service)
    finally:
        service.close()


main()
