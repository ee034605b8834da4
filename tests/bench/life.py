"""How fast sessions come, and what they cost while nothing happens."""
import pathlib
import select
import statistics
import time

from figures import p95, table

LAUNCHES = 10
MANY = 20
IDLE_SECONDS = 60


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


def run(service):
    measure_launch(service)
    launch_many(service)
    measure_idle(service)
    service.ctl("rm", "--all", timeout=300)
