#!/usr/bin/python3
"""A terminal; arguments are options of xterm. Its line is raw, so Return arrives as it is sent; it is
told as a newline."""
import codecs
import os
import select
import subprocess
import sys
import tempfile

import sink


class Terminal:
    def __init__(self, directory, options):
        path = os.path.join(directory, "typed")
        os.mkfifo(path, 0o600)
        self.fd = os.open(path, os.O_RDWR)
        self.data = b""
        script = f"stty raw -echo; exec >{path}; printf '\\033READY'; exec cat"
        self.process = subprocess.Popen(["xterm", *options, "-e", "sh", "-c", script], stdin=subprocess.DEVNULL)

    def read(self):
        self.data += os.read(self.fd, 65536)

    def get(self):
        return codecs.decode(self.data, "utf-8", "replace").replace("\r", "\n")

    def clear(self):
        self.data = b""


def has_focus(process):
    """xterm asks for the focus when its window is mapped; xdotool names the process that has it."""
    found = subprocess.run(["xdotool", "getwindowfocus", "getwindowpid"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    return found.stdout.strip() == b"%d" % process.pid


def main(directory):
    terminal = Terminal(directory, sys.argv[1:])
    while b"READY" not in terminal.data:
        terminal.read()
    while not has_focus(terminal.process):
        select.select([], [], [], 0.02)
    terminal.clear()
    commands = sink.Commands(terminal.get, terminal.clear)
    sink.ready()
    more = True
    while more:
        readable, _, _ = select.select([0, terminal.fd], [], [])
        if terminal.fd in readable:
            terminal.read()
        elif 0 in readable:
            more = commands.read()
    terminal.process.kill()
    terminal.process.wait()


with tempfile.TemporaryDirectory(prefix="cuad-sink-") as place:
    main(place)
