#!/usr/bin/env python3
"""The clipboard through HTTP, WebSocket and cuactl, between the product and programs of a session."""
import base64
import hashlib
import pathlib
import time
import unittest

import product
from product import RpcError, wait_until


class Clipboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = product.Service()
        cls.addClassCleanup(cls.service.close)
        cls.id = cls.service.launch(name="clip")["id"]
        cls.rpc = cls.service.rpc(cls.id)

    def exec(self, command):
        return self.rpc("exec", command=command)

    # xclip goes to the background before it has told the X server

    def wait_text(self, text, **params):
        wait_until(lambda: self.rpc("clipboard_get", **params).get("text") == text, f"the text {text[:20]!r}")

    def wait_error(self, kind, part):
        def has_failed():
            try:
                self.rpc("clipboard_get")
            except RpcError as error:
                return error.kind == kind and part in error.message
            return False
        wait_until(has_failed, f"the error {kind}")

    def install_xclip(self):
        """The test's own: a session need not have one."""
        program = base64.b64encode(pathlib.Path("/usr/bin/xclip").read_bytes()).decode()
        self.rpc("file_write", path="xclip", data_b64=program, mode="0755")

    def test_clipboard_and_commands(self):
        self.install_xclip()
        for text in ("plain", "日本語 İğüş 👩‍👩‍👧‍👦 é\r\n\ttab"):
            self.assertEqual(self.rpc("clipboard_set", text=text), {})
            self.assertEqual(self.exec("./xclip -o -selection clipboard")["stdout"], text)
            self.assertEqual(self.rpc("clipboard_get"), {"text": text, "empty": False})
        start = time.monotonic()
        self.assertEqual(self.exec("echo hi | ./xclip")["exit_code"], 0)
        self.assertEqual(self.exec("echo ho | ./xclip -selection clipboard")["exit_code"], 0)
        self.assertLess(time.monotonic() - start, 5)
        self.wait_text("hi\n", selection="primary")
        self.wait_text("ho\n")
        # what its owner leaves behind
        self.exec("sleep 0.5; pkill -KILL -x xclip; sleep 0.2")
        self.assertEqual(self.rpc("clipboard_get")["text"], "ho\n")
        self.exec("printf 'a\\377b' | ./xclip -selection clipboard -t UTF8_STRING")
        wait_until(lambda: self.rpc("clipboard_get") == {"data_b64": "Yf9i", "empty": False}, "bytes that are no text")
        self.exec("printf x | ./xclip -selection clipboard -t image/png")
        self.wait_error("conflict", "image/png")
        for params in ({"text": "a\0b"}, {"text": 1}, {}, {"text": "x", "selection": "secondary"}):
            with self.assertRaises(RpcError):
                self.rpc("clipboard_set", **params)
        self.assertEqual(self.service.ctl("do", self.id, "clipboard_set", "text=from the shell").returncode, 0)
        self.assertIn("from the shell", self.service.ctl("do", self.id, "clipboard_get").stdout)

    def test_clipboard_of_16_mib(self):
        self.install_xclip()
        text = "".join(chr(33 + i * 7 % 90) for i in range(1 << 16)) * 256
        self.assertEqual(len(text), 16 << 20)
        self.rpc("clipboard_set", text=text)
        self.assertEqual(self.rpc("clipboard_get")["text"], text)
        self.assertEqual(self.service.action(self.id, "clipboard_get")["text"], text)
        swapped = text.swapcase()
        self.assertEqual(self.service.action(self.id, "clipboard_set", text=swapped), {})
        digest = hashlib.sha256(swapped.encode()).hexdigest()
        self.assertIn(digest, self.exec("./xclip -o -selection clipboard | sha256sum")["stdout"])
        # and from a program
        self.exec("./xclip -o -selection clipboard >large; tr a-z A-Z <large >upper; ./xclip -selection clipboard upper")
        self.wait_text(swapped.upper())
        with self.assertRaises(RpcError) as caught:
            self.rpc("clipboard_set", text=text + "x")
        self.assertEqual(caught.exception.kind, "too_large")
        self.service.action(self.id, "clipboard_set", status=413, text=text + "x")
        self.exec("cat upper >>large; ./xclip -selection clipboard large")
        self.wait_error("too_large", "16777216")
        self.exec("pkill -KILL -x xclip; rm -f large upper")

    def test_paste_into_a_terminal(self):
        self.rpc("clipboard_set", text="as it was")
        self.rpc("launch", command=["xterm", "-u8", "-T", "sink", "-e", "sh", "-c", "stty -echo; exec cat >/tmp/pasted"])
        wait_until(lambda: any(w["title"] == "sink" and w["active"] for w in self.rpc("windows")), "the terminal")
        result = self.rpc("paste", text="eingefügt 日本\n", settle=50)
        self.assertIn(result["effect"], ("changed", "unchanged"))
        wait_until(lambda: self.exec("cat /tmp/pasted")["stdout"] == "eingefügt 日本\n", "the text", 10)
        self.assertEqual(self.rpc("clipboard_get"), {"text": "as it was", "empty": False})
        self.assertTrue(self.rpc("clipboard_get", selection="primary")["empty"])
        self.exec("pkill -x cat")


if __name__ == "__main__":
    unittest.main(verbosity=2)
