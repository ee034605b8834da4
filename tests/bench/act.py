"""Commands, pictures and text of one small desktop beside the tools that people would use in its place."""
import difflib
import random
import select
import time

import product
from desk import Desk
from figures import VERSUS, measure, table, versus

TYPED = 2000


def compare_exec(desk):
    return versus("exec true", measure(lambda: desk.rpc("exec", command=["true"])),
                  "lxc-attach -- true", measure(desk.attach))


def compare_pictures(desk, screen):
    rows = []
    for form in ("png", "jpeg"):
        rows.append(versus(f"screenshot {form}, {screen} screen", measure(lambda: desk.picture(form)), "import",
                           measure(lambda: desk.tool("import", "-window", "root", f"{form}:-"), 10)))
    return rows


def compare_times(desk):
    rows = [compare_exec(desk)]
    desk.terminal("sh", "-c", "ls -lR /usr/lib | head -60; exec cat")
    rows += compare_pictures(desk, "still")
    desk.close_terminal()
    desk.terminal("seq", "-f", "%.0f the quick brown fox jumps over the lazy dog", "1000000000")
    rows += compare_pictures(desk, "busy")
    desk.close_terminal()
    table("One action at 1280x800, milliseconds", VERSUS, rows)


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


def run(service):
    desk = Desk(service)
    try:
        compare_times(desk)
        compare_typing(desk)
    finally:
        desk.close()
