#!/usr/bin/env python3
"""Windows and the screen's size on the whole product, with the programs of the desktop template."""
import base64
import io
import unittest

from PIL import Image

from product import RpcError, wait_until
from test_product import Base

PAGE = """<title>page</title><body style="margin:0;background:#2040c0"><script>
onkeydown = () => { document.body.style.background = '#c02020'; };
setTimeout(() => { document.body.style.background = '#20c040'; document.title = 'later'; }, 6000);
</script>"""


def picture_of(answer):
    picture = Image.open(io.BytesIO(base64.b64decode(answer["data"]))).convert("RGB")
    assert picture.size == (answer["width"], answer["height"])
    return picture


def find(rpc, title):
    return next((w for w in rpc("windows") if title in w["title"]), None)


class Screen(Base):
    def screen(self, name):
        told = self.service.api("GET", f"/v1/sessions/{name}")["screen"]
        return told["width"], told["height"]

    def check_painted(self, rpc, size):
        """The picture has the size, its background reaches every corner, the panel is below."""
        picture = picture_of(rpc("screenshot"))
        self.assertEqual(picture.size, size)
        panel = [w for w in rpc("windows", all=True) if w["type"] == "dock"][0]
        background = [w for w in rpc("windows", all=True) if w["type"] == "desktop"][0]
        self.assertEqual((background["x"], background["y"], background["width"], background["height"]), (0, 0, *size))
        self.assertEqual((panel["x"], panel["width"]), (0, size[0]))
        self.assertEqual(panel["y"] + panel["height"], size[1])
        # The background is blue with a gradient.
        for x in range(1, size[0], 20):
            for y in range(1, size[1] - panel["height"], 20):
                red, _, blue = picture.getpixel((x, y))
                self.assertGreater(blue, 40, (x, y))
                self.assertLess(red, 120, (x, y))
        below = picture.crop((0, size[1] - panel["height"] // 2, size[0], size[1] - panel["height"] // 2 + 1))
        self.assertNotIn((0, 0, 0), below.getdata())

    def test_everything_follows_the_size(self):
        self.service.launch(name="s", template="desktop")
        rpc = self.service.rpc("s")
        wait_until(lambda: len([w for w in rpc("windows", all=True) if w["type"] in ("dock", "desktop")]) == 2,
                   "panel and background")
        rpc("wait_settled", quiet=500)
        self.assertEqual([w for w in rpc("windows") if w["type"] in ("dock", "desktop")], [])
        for size in ((1920, 1200), (800, 600), (1366, 768), (1600, 900)):
            answer = rpc("set_screen", width=size[0], height=size[1])
            self.assertEqual((answer["width"], answer["height"], answer["dpi"]), (*size, 96))
            self.assertEqual(self.screen("s"), size)
            self.assertEqual(rpc("screen_size")["width"], size[0])
            self.check_painted(rpc, size)
        rpc("move", x=1599, y=899)
        with self.assertRaises(RpcError) as e:
            rpc("move", x=1600, y=10)
        self.assertEqual(e.exception.kind, "out_of_screen")
        for width, height, what in ((1921, 1200, "1920x1200"), (1920, 1201, "1920x1200"), (319, 300, ""), (400, 239, "")):
            with self.assertRaises(RpcError) as e:
                rpc("set_screen", width=width, height=height)
            self.assertEqual(e.exception.kind, "invalid")
            self.assertIn(what, e.exception.message)
        # A maximized window fits into another screen, too.
        rpc("launch", command=["xterm", "-T", "term", "-e", "sleep", "1000"])
        term = wait_until(lambda: find(rpc, "term"), "xterm")
        self.assertTrue(rpc("window_maximize", id=term["id"])["window"]["maximized"])
        rpc("set_screen", width=1024, height=768)
        wait_until(lambda: 980 < find(rpc, "term")["width"] <= 1024, "xterm following")
        self.service.ctl("rm", "s")

    def test_the_size_outlives_whoever_dies(self):
        self.service.launch(name="k", template="base")
        self.service.rpc("k")("set_screen", width=1111, height=777)
        before = self.screen("k")
        self.assertEqual(before, (1111, 777))
        def usable():
            try:
                answer = self.service.rpc("k")("screenshot")
                return (answer["width"], answer["height"]) == (1111, 777)
            except (OSError, RpcError, AssertionError):
                return False
        self.service.kill("cuad-desktop")
        wait_until(usable, "the size after another worker", 20)
        self.service.rpc("k")("exec", command="pkill -9 Xvfb")
        wait_until(usable, "the size after another X server", 30)
        self.service.kill("cuad", "cuad-desktop", "cuad-supervisor")
        self.service.start()
        wait_until(usable, "the size after another service", 30)
        self.assertEqual(self.screen("k"), (1111, 777))
        self.service.ctl("rm", "k")


class Windows(Base):
    def test_chromium_and_terminals(self):
        s = self.service.launch(name="w", template="desktop")
        rpc = self.service.rpc("w")
        rpc("file_write", path="/tmp/page.html", text=PAGE)
        rpc("launch", command=["chromium", "--new-window", "file:///tmp/page.html"])
        page = wait_until(lambda: find(rpc, "page - "), "Chromium", 60)
        self.assertIn("hromium", page["app"])
        rpc("launch", command=["xterm", "-T", "above", "-e", "sleep", "1000"])
        above = wait_until(lambda: find(rpc, "above"), "xterm")
        self.assertTrue(rpc("window_maximize", id=above["id"])["window"]["maximized"])
        self.assertEqual(rpc("windows")[0]["id"], above["id"])
        middle = page["width"] // 2, page["height"] * 3 // 4
        self.assertEqual(picture_of(rpc("window_screenshot", id=page["id"])).getpixel(middle), (0x20, 0x40, 0xC0))
        # What it paints while it is covered.
        wait_until(lambda: find(rpc, "later"), "the page's change", 20)
        def later():
            return picture_of(rpc("window_screenshot", id=page["id"])).getpixel(middle) == (0x20, 0xC0, 0x40)
        wait_until(later, "its colour", 5)
        # Typed right behind it, a key goes to the window that was brought to the front.
        focus = rpc.send("window_focus", id=page["id"])
        key = rpc.send("key", keys="a", settle=200)
        self.assertTrue(rpc.receive(focus)["window"]["active"])
        rpc.receive(key)
        def red():
            return picture_of(rpc("window_screenshot", id=page["id"])).getpixel(middle) == (0xC0, 0x20, 0x20)
        wait_until(red, "the key's colour", 5)
        moved = rpc("window_move", id=page["id"], x=120, y=90, settle=100)
        self.assertEqual((moved["window"]["x"], moved["window"]["y"]), (120, 90))
        size = rpc("window_resize", id=page["id"], width=700, height=500, screenshot=True)
        self.assertEqual((size["window"]["width"], size["window"]["height"]), (700, 500))
        self.assertEqual(size["screenshot"]["width"], 1280)
        self.assertTrue(rpc("window_minimize", id=page["id"])["window"]["minimized"])
        with self.assertRaises(RpcError) as e:
            rpc("window_screenshot", id=page["id"])
        self.assertEqual(e.exception.kind, "conflict")
        self.assertIn("window_restore", e.exception.message)
        self.assertFalse(rpc("window_restore", id=page["id"])["window"]["minimized"])
        self.assertTrue(rpc("window_close", id=page["id"])["closed"])
        with self.assertRaises(RpcError) as e:
            rpc("window_focus", id=page["id"])
        self.assertEqual(e.exception.kind, "not_found")
        self.service.ctl("do", s["id"], "window_close", f"id={above['id']}")
        self.assertEqual(rpc("windows"), [])
        self.service.ctl("rm", "w")


if __name__ == "__main__":
    unittest.main(verbosity=2)
