#!/usr/bin/env python3
"""A small computer-use agent: fills a form in Chromium, seeing only pictures, acting only by mouse and
keyboard, over the public WebSocket and nothing else.

The session serves a page with a form. The agent opens Chromium on it, finds the coloured fields in
the screenshot, clicks and types, submits, and checks what the page's server received.

Usage: agent.py --url ws://HOST:PORT/v1/sessions/ID/rpc [--token TOKEN] [--output PICTURE.png]
The token may also come in CUAD_TOKEN.
"""
import argparse
import base64
import json
import os
import struct
import sys
import time
import zlib

import websocket

NAME = "Zoë Žižek 東京"
MESSAGE = "Fünf Bücher, 100 % — ok? \U0001f600"
PORT = 8000

# What runs in the session: the form, and a record of what was sent.
SERVER = r'''
import http.server, json, urllib.parse
PAGE = """<!doctype html><meta charset=utf-8><title>Guest book</title>
<style>body{background:#fff;font:20px sans-serif;margin:40px}
input{display:block;width:500px;height:44px;font-size:20px;margin:12px 0;border:1px solid #444}
#n{background:#ffd9a0}#m{background:#a0e8ff}#s{background:#c060ff;color:#fff;width:200px}</style>
<h1>Guest book</h1><form method=post accept-charset=utf-8>
<label>Name <input id=n name=name autocomplete=off></label>
<label>Message <input id=m name=message autocomplete=off></label>
<input id=s type=submit value=Sign></form>"""
DONE = """<!doctype html><meta charset=utf-8><title>Thank you</title>
<body style="background:#20a060;color:#fff;font:28px sans-serif;margin:60px"><h1>Thank you</h1>
<p>%s</p><p>%s</p>"""
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self):
        self.answer(PAGE)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {k: v[0] for k, v in urllib.parse.parse_qs(body).items()}
        with open("received.json", "w") as f:
            json.dump(form, f)
        self.answer(DONE % (form.get("name"), form.get("message")))
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
'''

FIELD_NAME = (0xFF, 0xD9, 0xA0)
FIELD_MESSAGE = (0xA0, 0xE8, 0xFF)
BUTTON = (0xC0, 0x60, 0xFF)
RESULT = (0x20, 0xA0, 0x60)


class Desktop:
    """JSON-RPC over one WebSocket."""

    def __init__(self, url, token):
        header = [f"Authorization: Bearer {token}"] if token else []
        self.socket = websocket.create_connection(
            url, header=header, subprotocols=["cua.rpc.v1"], timeout=90)
        self.serial = 0

    def __call__(self, method, **params):
        self.serial += 1
        self.socket.send(json.dumps(
            {"jsonrpc": "2.0", "id": self.serial, "method": method, "params": params}))
        answer = json.loads(self.socket.recv())
        if answer.get("id") != self.serial:
            raise SystemExit(f"{method}: answer to another request: {answer}")
        if "error" in answer:
            raise SystemExit(f"{method}: {answer['error']}")
        return answer["result"]


class Picture:
    """Pixels of an 8-bit RGB or RGBA PNG."""

    def __init__(self, png):
        self.png = png
        at, data = 8, b""
        while at < len(png):
            length, kind = struct.unpack(">I4s", png[at:at + 8])
            chunk = png[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour = struct.unpack(">IIBB", chunk[:10])
                self.step = {2: 3, 6: 4}[colour]
                assert depth == 8
            elif kind == b"IDAT":
                data += chunk
            at += 12 + length
        self.rows = self.unfilter(zlib.decompress(data))

    def unfilter(self, raw):
        stride, rows, above = self.width * self.step, [], bytes(self.width * self.step)
        for y in range(self.height):
            start = y * (stride + 1)
            row = bytearray(raw[start + 1:start + 1 + stride])
            self.undo(raw[start], row, above)
            rows.append(row)
            above = row
        return rows

    def undo(self, kind, row, above):
        step = self.step
        if kind == 2:
            row[:] = bytes((a + b) & 255 for a, b in zip(row, above))
            return
        for i in range(len(row) if kind else 0):
            left = row[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            if kind == 1:
                guess = left
            elif kind == 3:
                guess = (left + above[i]) // 2
            else:
                p = left + above[i] - corner
                guess = min((abs(p - left), 0, left), (abs(p - above[i]), 1, above[i]),
                            (abs(p - corner), 2, corner))[2]
            row[i] = (row[i] + guess) & 255

    def find(self, colour):
        """Centre of the area of this colour, or None if there are fewer than 2000 such pixels."""
        xs, ys, wanted = [], [], bytes(colour)
        for y in range(self.height):
            row, at = self.rows[y], -1
            while (at := row.find(wanted, at + 1)) >= 0:
                if at % self.step == 0:
                    xs.append(at // self.step)
                    ys.append(y)
        if len(xs) < 2000:
            return None
        return (min(xs) + max(xs)) // 2, (min(ys) + max(ys)) // 2


def look(desktop):
    return Picture(base64.b64decode(desktop("screenshot", settle=100)["data"]))


def wait_for(desktop, colour, what, seconds=60):
    """Looks after every change of the screen until the colour is there."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        picture = look(desktop)
        place = picture.find(colour)
        if place:
            return place, picture
        desktop("wait", ms=200)
    with open("/tmp/cuad-demo-failed.png", "wb") as out:
        out.write(picture.png)
    raise SystemExit(f"{what} did not appear; the last screen is /tmp/cuad-demo-failed.png")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default=os.environ.get("CUAD_TOKEN"))
    parser.add_argument("--output")
    options = parser.parse_args()
    desktop = Desktop(options.url, options.token)

    desktop("file_write", path="demo/server.py", text=SERVER, mkdirs=True)
    desktop("exec", command="rm -f received.json; pkill chromium; fuser -k 8000/tcp", cwd="demo")
    desktop("launch", command=["python3", "server.py"], cwd="demo")
    desktop("launch", command=["chromium", "--new-window", f"http://127.0.0.1:{PORT}/"])

    (x, y), _ = wait_for(desktop, FIELD_NAME, "the form")
    result = desktop("click", x=x, y=y, settle=200)
    print(f"clicked the name field at {x},{y}: {result['effect']}")
    desktop("type", text=NAME, settle=200)
    (x, y), _ = wait_for(desktop, FIELD_MESSAGE, "the second field")
    desktop("click", x=x, y=y, settle=200)
    desktop("type", text=MESSAGE, settle=200)
    (x, y), _ = wait_for(desktop, BUTTON, "the button")
    desktop("click", x=x, y=y, settle=200)
    _, picture = wait_for(desktop, RESULT, "the page of thanks")
    if options.output:
        with open(options.output, "wb") as out:
            out.write(picture.png)

    received = json.loads(desktop("file_read", path="demo/received.json")["text"])
    wanted = {"name": NAME, "message": MESSAGE}
    if received != wanted:
        sys.exit(f"the page's server received {received}, not {wanted}")
    print(f"the page's server received exactly what was meant: {received}")


main()
