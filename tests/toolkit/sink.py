"""What the programs of this folder have in common: each shows one window with a place to type, and tells
on request what text has arrived in it.

Standard input carries commands, one a line: `get` and `clear`. Each is answered on standard output by the
text's length in bytes, a newline, and the text in UTF-8 (after `clear`: none). Once its window has the
keyboard's focus the program says `ready`. It ends with its standard input."""
import os


def send(text):
    data = text.encode("utf-8", "surrogatepass")
    data = b"%d\n" % len(data) + data
    while data:
        data = data[os.write(1, data):]


def ready():
    os.write(1, b"ready\n")


class Commands:
    """get() gives the text, clear() forgets it."""

    def __init__(self, get, clear):
        self.get = get
        self.clear = clear
        self.pending = b""

    def read(self, *_):
        """To be called when standard input is readable. False at its end."""
        data = os.read(0, 4096)
        self.pending += data
        *lines, self.pending = self.pending.split(b"\n")
        for line in lines:
            if line == b"clear":
                self.clear()
            send(self.get() if line == b"get" else "")
        return bool(data)
