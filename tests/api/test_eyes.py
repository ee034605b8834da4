#!/usr/bin/env python3
"""Pictures that are right from the first one on, whatever happens to the screen, on the whole product."""
import base64
import io
import os
import select
import socket
import struct
import threading
import unittest

from PIL import Image

from product import RpcError, wait_until
from test_product import Base

FIRST_PICTURES = int(os.environ.get("CUAD_ROUNDS", "50"))


def pause(seconds):
    select.select([], [], [], seconds)


def picture(answer):
    return Image.open(io.BytesIO(base64.b64decode(answer["data"]))).convert("RGB")


def colours(image):
    return len(image.getcolors(1 << 24))


def receive(sock, size):
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return data


def paint_noise(display, width, height):
    """Fills the screen, windows included, with noise: a few requests of the X protocol."""
    with socket.socket(socket.AF_UNIX) as x:
        x.connect(display)
        x.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
        status, length = struct.unpack("<B5xH", receive(x, 8))
        assert status == 1
        setup = receive(x, 4 * length)
        gc, = struct.unpack_from("<I", setup, 4)
        vendor, = struct.unpack_from("<H", setup, 16)
        root, = struct.unpack_from("<I", setup, 32 + (vendor + 3) // 4 * 4 + 8 * setup[21])
        x.sendall(struct.pack("<BxHIIII", 55, 5, gc, root, 0x8000, 1)) # CreateGC, IncludeInferiors
        for y in range(0, height, 16):
            rows = min(16, height - y)
            data = os.urandom(4 * width * rows)
            x.sendall(struct.pack("<BBHIIHHhhBBxx", 72, 2, 6 + len(data) // 4, root, gc, width, rows, 0, y, 0, 24) + data)
        x.sendall(struct.pack("<BxH", 43, 1)) # GetInputFocus: an answer when all is painted
        assert receive(x, 32)[0] == 1


class Eyes(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.launch(name="e")
        cls.rpc = cls.service.rpc("e")

    def test_first_picture_is_painted(self):
        for i in range(FIRST_PICTURES):
            self.service.launch(name="first")
            rpc = self.service.rpc("first")
            self.assertGreater(colours(picture(rpc("screenshot"))), 1, i)
            rpc.close()
            self.service.ctl("rm", "first")

    def test_static_screen_answers(self):
        self.rpc("wait_settled", quiet=300)
        frame = self.rpc("screenshot")["frame"]
        for _ in range(20):
            answer = self.rpc("screenshot", if_changed_since=frame)
            self.assertEqual(answer, {"unchanged": True, "frame": frame})
            self.assertEqual(self.rpc("screenshot")["frame"], frame)

    def crash(self, rpc, **ask):
        """Kills the X server while an action is under way; the errors that were told until it is back."""
        kinds = []
        serial = rpc.send(ask.pop("method"), **ask)
        pause(0.1)
        killer = threading.Thread(target=self.service.ctl, args=("exec", "x", "--", "pkill", "-9", "Xvfb"))
        killer.start()
        try:
            rpc.receive(serial)
        except RpcError as e:
            kinds.append(e.kind)
        killer.join()
        return kinds

    def test_x_server_dies(self):
        self.service.launch(name="x")
        rpc = self.service.rpc("x")
        frame = rpc("screenshot")["frame"]
        other = self.rpc("screenshot")["frame"]
        told = []
        for ask in ({"method": "wait", "ms": 20000}, {"method": "type", "text": "x" * 400, "delay": 50},
                    {"method": "wait_for", "window": "none", "timeout": 20000},
                    {"method": "screenshot", "settle": 5000, "settle_max": 20000}):
            name = ask["method"]
            self.assertEqual(self.crash(rpc, **ask), ["conflict"], name)

            def again():
                try:
                    return rpc("screenshot", if_changed_since=frame)
                except RpcError as e:
                    self.assertEqual(e.kind, "conflict", name)
                    told.append(self.service.api("GET", "/v1/sessions/x").get("reason"))
                    return None
            answer = wait_until(again, "a picture from the new X server", 20)
            self.assertNotIn("unchanged", answer, name)
            self.assertGreater(answer["frame"], frame, name)
            self.assertGreater(colours(picture(answer)), 1, name)
            frame = answer["frame"]
            wait_until(lambda: "reason" not in self.service.api("GET", "/v1/sessions/x"), "the trouble being over", 10)
        self.assertTrue(any(told), told) # now and then the trouble is over before it is asked about
        self.assertEqual(self.service.api("GET", "/v1/sessions/x")["state"], "running")
        self.assertEqual(self.rpc("screenshot")["frame"], other) # the others are left alone
        self.service.ctl("rm", "x")

    def test_noise_of_4k_as_png(self):
        """Nothing compresses it: the largest answer that a screen of this size can give."""
        session = self.service.launch(name="big", screen="3840x2160", screen_max="3840x2160")
        rpc = self.service.rpc("big")
        lxc = self.service.run / "sessions" / session["id"] / "lxc"
        init = (lxc / "init").read_text().split()[0]
        paint_noise(f"/proc/{init}/root/tmp/.X11-unix/X0", 3840, 2160)
        answer = rpc("screenshot")
        image = picture(answer)
        self.assertEqual(image.size, (3840, 2160))
        self.assertGreater(colours(image), 100000)
        self.assertLess(len(rpc("screenshot", format="jpeg", quality=50, max=[1920, 1080])["data"]), 4 << 20)
        rpc.close()
        self.service.ctl("rm", "big")


if __name__ == "__main__":
    unittest.main(verbosity=2)
