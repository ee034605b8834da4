#!/usr/bin/python3
"""A text area of a page in Chromium, which is read through its debugging pipe. Tab, which leaves a text
area, is made to write a tab as editors on pages do."""
import itertools
import json
import os
import select
import subprocess
import tempfile

import sink

PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>sink</title>
<textarea id="t" placeholder="sink" autofocus spellcheck="false" style="width:95vw;height:90vh"></textarea><script>
const t = document.getElementById("t");
t.addEventListener("keydown", e => {
    if (e.key === "Tab" && !e.ctrlKey && !e.altKey) {
        e.preventDefault();
        t.setRangeText("\\t", t.selectionStart, t.selectionEnd, "end");
    }
});
</script>"""
READY = """document.hasFocus() && document.activeElement === document.getElementById("t")
    && performance.getEntriesByName("first-contentful-paint").length > 0"""
OPTIONS = ["--no-sandbox", "--no-first-run", "--no-default-browser-check", "--password-store=basic", "--disable-gpu",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--test-type",
           "--remote-debugging-pipe", "--window-size=700,500"]


class Browser:
    def __init__(self, directory):
        page = os.path.join(directory, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(PAGE)
        commands, answers = os.pipe(), os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec 3<&{commands[0]} 4>&{answers[1]}; exec chromium "$@"', "sh", *OPTIONS,
             f"--user-data-dir={directory}/profile", f"--app=file://{page}"],
            pass_fds=(commands[0], answers[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(commands[0])
        os.close(answers[1])
        self.out, self.into = commands[1], answers[0]
        self.pending = b""
        self.serials = itertools.count(1)
        self.session = {}

    def read_message(self):
        while b"\0" not in self.pending:
            data = os.read(self.into, 1 << 20)
            if not data:
                raise SystemExit("chromium has ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        serial = next(self.serials)
        data = json.dumps({"id": serial, "method": method, "params": params, **self.session}).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            message = self.read_message()
            if message.get("id") == serial:
                return message.get("result", {})

    def attach(self):
        """Waits for the page."""
        while not self.session:
            for target in self.call("Target.getTargets").get("targetInfos", []):
                if target["type"] == "page":
                    found = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
                    self.session = {"sessionId": found["sessionId"]}
            select.select([], [], [], 0.05)
        while not self.evaluate(READY):
            select.select([], [], [], 0.05)
        # Input that comes before a page has been shown is thrown away.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True).get("result", {}).get("value")


def main(directory):
    browser = Browser(directory)
    browser.attach()
    commands = sink.Commands(lambda: browser.evaluate("t.value"), lambda: browser.evaluate("t.value = ''"))
    sink.ready()
    while commands.read():
        pass
    browser.call("Browser.close")
    browser.process.wait()


with tempfile.TemporaryDirectory(prefix="cuad-sink-", ignore_cleanup_errors=True) as place:
    main(place)
