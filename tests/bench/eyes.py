"""Pictures and input beside scrot, xdotool and fixed sleeps."""
import io
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

from PIL import Image

import product
import scenes
from desk import Desk, ask, tell
from figures import VERSUS, alone, measure, p95, table, timed, versus

SIZES = [(640, 480), (1280, 800), (1920, 1080), (3840, 2160)]
FULL_HD = (1920, 1080)
TYPED = 10000
REACTIONS = 1000
SETTLE = {"xterm": 30, "chromium": 60}
WATCHED = 20
WATCH_SECONDS = 20
WARM_UP_SECONDS = 5
COLOURS = {"1": (205, 0, 0), "2": (0, 205, 0), "3": (205, 205, 0), "4": (0, 0, 238)}


def screen(size):
    return {"screen": f"{size[0]}x{size[1]}", "screen_max": f"{size[0]}x{size[1]}", "limits": {"memory": "2G"}}


# ---- pictures ----

def scrot(desk, form, rounds, before):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / f"shot.{form}"
        return measure(lambda: desk.tool("scrot", "-o", "-q", "80" if form == "jpg" else "75", file), rounds, before)


def whole_screen(desk, size):
    """Every pixel has changed before each picture."""
    rows = []
    for form, suffix in (("png", "png"), ("jpeg", "jpg")):
        theirs = scrot(desk, suffix, 5, desk.repaint)
        rows.append(versus(f"{form}, whole screen changed", measure(lambda: desk.picture(form), 30, desk.repaint),
                           "scrot", theirs))
        if form == "png":
            slow = theirs
    still = measure(lambda: desk.picture("png"))
    rows.append(versus("png, nothing changed, sent again", still, "scrot", slow))
    frame = desk.ask("screenshot", binary=True)[0]["frame"]
    rows.append(alone("png, nothing changed, told so", measure(
        lambda: tell(desk.rpc, "screenshot", if_changed_since=frame)["unchanged"], 300)))
    return rows, slow


def one_character(desk, slow):
    """A terminal in front of the busy page, one character typed before each picture."""
    desk.rpc("launch", command=["xterm", "-geometry", "80x24+100+100", "-e", "sh", "-c", "exec cat"])
    product.wait_until(desk.windows, "the terminal's window")
    desk.rpc("click", x=200, y=200, settle=200)
    rows = [versus("png, one character typed", measure(
        lambda: desk.picture("png"), 30, lambda: desk.rpc("type", text="x", settle=30)), "scrot", slow)]
    rows.append(alone("jpeg, one character typed", measure(
        lambda: desk.picture("jpeg"), 30, lambda: desk.rpc("type", text="y", settle=30))))
    return rows


def pictures(service, painter):
    for size in SIZES:
        desk = Desk(service, **screen(size))
        try:
            desk.paint(painter, [scenes.raw(scenes.page(size, seed)) for seed in (1, 2)], size)
            rows, slow = whole_screen(desk, size)
            desk.painter.stdin.close()
            desk.painter.wait(10)
            desk.painter = None
            rows += one_character(desk, slow)
            table(f"Pictures at {size[0]}x{size[1]}, milliseconds; the worker has {desk.worker_memory():.1f} MiB of its own",
                  VERSUS, rows)
        finally:
            desk.close()


# ---- acting and seeing what came of it ----

def colour_of(data):
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    return picture.getpixel((picture.width // 2, picture.height // 2))


def react(desk, program):
    """Presses keys that colour the whole window; times until the settled picture is here, and how many were right."""
    keys, times, right = list(COLOURS), [], 0
    for i in range(REACTIONS + 1):
        key = keys[i % len(keys)]
        start = time.monotonic()
        _, data = desk.ask("key", keys=key, settle=SETTLE[program], screenshot={"format": "png"}, binary=True)
        if i > 0:
            times.append((time.monotonic() - start) * 1000)
            right += colour_of(data) == COLOURS[key]
    return times, right


def show_colours_in_terminal(desk):
    script = 'while read -rsN1 key; do printf "\\e[4%sm\\e[2J" "$key"; done'
    desk.terminal("bash", "-c", script)
    desk.rpc("wait_settled", quiet=300)


def show_colours_in_browser(desk):
    page = "<body><script>const c=%s; onkeydown=e=>{document.body.style.background=c[e.key]}</script>" % (
        {key: "rgb" + str(rgb) for key, rgb in COLOURS.items()})
    desk.rpc("file_write", path="colours.html", text=page)
    desk.rpc("launch", command=["chromium", "--kiosk", "--no-first-run", "file:///home/agent/colours.html"])
    product.wait_until(lambda: any("colours" in w["title"] for w in desk.windows()), "the browser's window")
    desk.rpc("click", x=960, y=540, settle=1000, settle_max=10000)


def reactions(service):
    rows = []
    for program, template, show in (("xterm", "base", show_colours_in_terminal),
                                    ("chromium", "desktop", show_colours_in_browser)):
        desk = Desk(service, template=template, **screen(FULL_HD))
        try:
            show(desk)
            times, right = react(desk, program)
        finally:
            desk.close()
        median = statistics.median(times)
        rows.append([program, f"{median:.1f}", f"{p95(times):.1f}", f"{max(times):.1f}", f"{right} of {REACTIONS}",
                     *(f"{sleep / median:.0f}" for sleep in (500, 1000, 2000))])
    table("From a key to the settled picture at 1920x1080, milliseconds",
          ["", "median", "p95", "longest", "right picture", "x 0.5 s", "x 1 s", "x 2 s"], rows)


# ---- input ----

def click(service):
    desk = Desk(service, **screen(FULL_HD))
    where = iter(range(100, 2000))
    try:
        ours = measure(lambda: desk.rpc("click", x=next(where), y=300), 200)
        theirs = measure(lambda: desk.tool("xdotool", "mousemove", str(next(where)), "300", "click", "1"), 40)
    finally:
        desk.close()
    table("A click, milliseconds", VERSUS, [versus("click, processed by the X server", ours, "xdotool", theirs)])


def type_into_terminal(desk, write, text):
    """Seconds until the program in the terminal has all of it, and whether it is the text."""
    desk.shell("rm -f /tmp/typed")
    desk.terminal("sh", "-c", "stty raw -echo; exec cat >/tmp/typed")
    product.wait_until(lambda: desk.rpc("exec", command="pgrep -x cat")["exit_code"] == 0, "the reader")
    desk.rpc("click", x=400, y=400, settle=100)
    seconds = timed(write) / 1000
    desk.connect()  # a tool takes longer than a connection may leave pings unanswered
    desk.rpc("wait_settled", quiet=500, max=10000)
    got = desk.service.http("GET", f"/v1/sessions/{desk.id}/files/tmp/typed", unix=True, raw=True)[1]
    desk.close_terminal()
    return seconds, "exact" if got == text.encode() else f"{len(got)} bytes, not the text"


def typing(service):
    desk = Desk(service, **screen(FULL_HD))
    text = "".join(chr(33 + i * 7 % 94) if i % 9 else " " for i in range(TYPED))
    ways = [("cuad type", lambda: desk.rpc("type", text=text))]
    for delay in (0, 12):
        ways.append((f"xdotool type --delay {delay}", lambda delay=delay: desk.tool(
            "xdotool", "type", "--delay", delay, "--file", "-", input=text.encode())))
    rows = []
    try:
        for name, write in ways:
            seconds, exact = type_into_terminal(desk, write, text)
            rows.append([name, f"{seconds:.2f}", f"{TYPED / seconds:.0f}", exact])
    finally:
        desk.close()
    table(f"Typing {TYPED} ASCII characters into a terminal", ["", "seconds", "per second", "arrived"], rows)


# ---- many at once ----

def watch(service, ids, done):
    """One JPEG picture a second of each desktop, each over its own connection."""
    times = []

    def one(number, session):
        rpc = service.rpc(session)
        begin = time.monotonic() + number / len(ids)
        for i in range(WATCH_SECONDS):
            done.wait(max(0, begin + i - time.monotonic()))
            times.append(timed(lambda: ask(rpc, "screenshot", format="jpeg", quality=80, binary=True)))
        rpc.close()
    threads = [threading.Thread(target=one, args=item) for item in enumerate(ids)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def many(service):
    service.ctl("launch", "-n", WATCHED, "--name", "w", "--screen", "1920x1080", timeout=300)
    ids = [s["id"] for s in service.api("GET", "/v1/sessions")["sessions"] if s["name"].startswith("w")]
    count = 'mkfifo never; exec 3<>never; while :; do printf "%s\\n" {1..20} $((i++)); read -rt 0.1 <&3; done'
    for session in ids:
        service.action(session, "launch", command=["xterm", "-e", "bash", "-c", count])
    for session in ids:
        product.wait_until(lambda: service.action(session, "windows"), "the terminal's window", 60)
    threading.Event().wait(WARM_UP_SECONDS)
    times = watch(service, ids, threading.Event())
    service.ctl("rm", "--all", timeout=300)
    wanted = WATCHED * WATCH_SECONDS
    table(f"{WATCHED} desktops at 1920x1080, each changing 10 times a second, one JPEG of each a second, milliseconds",
          ["", "median", "p95", "longest", "served"],
          [["screenshot", f"{statistics.median(times):.1f}", f"{p95(times):.1f}", f"{max(times):.1f}",
            f"{len(times)} of {wanted}"]])


def run(service, programs):
    print(flush=True)
    subprocess.run([programs / "bench_capture"], check=True)
    subprocess.run([programs / "bench_encode"], check=True)
    subprocess.run([programs / "bench_click"], check=True, env=dict(os.environ, CUAD_BUILD=programs.parent.parent))
    pictures(service, programs / "painter")
    reactions(service)
    click(service)
    typing(service)
    many(service)
