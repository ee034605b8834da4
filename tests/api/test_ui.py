"""Accessible nodes through the whole product: cuad, worker, cuad-init, and programs of the desktop."""
import unittest

from product import RpcError, Service, wait_until

PAGE = """<title>Form</title><label>City <input id=city></label>
<button onclick="document.title='Sent ' + document.getElementById('city').value">Send</button>
<textarea aria-label="Notes"></textarea><p>Some text to wait for</p>"""


def flat(nodes):
    for node in nodes:
        yield node
        yield from flat(node.get("children", []))


class Nodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        try:
            cls.session = cls.service.launch(template="desktop")["id"]
            cls.rpc = cls.service.rpc(cls.session)
        except BaseException:
            cls.service.close()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def find(self, **query):
        return self.rpc("ui_find", **query)["nodes"]

    def await_node(self, **query):
        return wait_until(lambda: self.find(**query), f"a node {query}", 60)[0]

    def refused(self, kind, method, **params):
        with self.assertRaises(RpcError) as caught:
            self.rpc(method, **params)
        self.assertEqual(caught.exception.kind, kind, caught.exception.message)
        return caught.exception.message

    def test_gtk(self):
        self.rpc("launch", command=["mousepad"])
        text = self.await_node(role="text", states=["editable", "showing"])
        done = self.rpc("ui_set_value", id=text["id"], value="Zeile 1\nЁлка 😀", settle=50, screenshot=True)
        self.assertEqual(done["node"]["value"], "Zeile 1\nЁлка 😀")
        self.assertEqual(done["effect"], "changed")
        self.assertIn("data", done["screenshot"])
        tree = self.rpc("ui_tree", scope="all")
        self.assertIs(tree["truncated"], False)
        frame = [n for n in flat(tree["nodes"]) if n["role"] == "frame" and "Mousepad" in n["name"]][0]
        self.assertIn(text["id"], [n["id"] for n in flat([frame])])
        # its bounds are where it is on the screen
        x, y, width, height = text["bounds"]
        self.rpc("click", x=x + width // 2, y=y + height // 2)
        focused = self.rpc("ui_tree", scope="focused")["nodes"]
        self.assertEqual(focused[0]["id"], text["id"])
        self.rpc("ui_invoke", role="menu", name="Help", match="exact")
        self.await_node(role="menu item", name="About", states=["showing"])

    def test_chromium(self):
        self.rpc("file_write", path="/tmp/form.html", text=PAGE)
        self.rpc("launch", command=["chromium", "/tmp/form.html"])
        self.await_node(role="push button", name="Send")
        done = self.rpc("ui_set_value", role="entry", name="City", value="Łódź")
        self.assertEqual(done["node"]["value"], "Łódź")
        self.rpc("ui_set_value", name="Notes", role="entry", value="two\nlines")
        self.refused("invalid", "ui_set_value", role="entry", name="City", value="two\nlines")
        self.assertEqual(self.rpc("wait_for", text="text to WAIT for")["matched"], "text")
        waiting = self.rpc.send("wait_for", text="Sent Łódź", timeout=20000)
        other = self.service.rpc(self.session) # a connection's actions go one after the other
        other("ui_invoke", role="push button", name="Send", settle=100)
        other.close()
        self.assertEqual(self.rpc.receive(waiting)["matched"], "text")
        self.refused("timeout", "wait_for", text="never to be seen", timeout=500)
        wait_until(lambda: [w for w in self.rpc("windows") if w["title"].startswith("Sent Łódź")],
                   "the button's click")
        window = self.rpc("ui_tree", scope="window")
        self.assertIn("document web", {n["role"] for n in flat(window["nodes"])})
        self.assertEqual([n["role"] for n in window["nodes"]], ["application"])
        for query in {"role": "push button"}, {"states": ["focusable"]}, {"name": "Send"}:
            found = self.find(scope="window", **query)
            self.assertIn("Send", {n["name"] for n in found}, query)

    def test_program_that_hangs(self):
        self.rpc("exec", command="pkill -KILL mousepad")
        pid = self.rpc("launch", command=["mousepad"])["pid"]
        wait_until(lambda: len(self.find(role="frame", name="Mousepad")) == 1, "mousepad")
        node = self.find(role="frame", name="Mousepad")[0]
        self.rpc("exec", command=f"kill -STOP {pid}")
        try:
            tree = self.rpc("ui_tree", scope="all")
            silent = [n for n in tree["nodes"] if n.get("unresponsive")]
            self.assertEqual(len(silent), 1)
            self.assertIn("Mousepad", silent[0]["name"])
            self.refused("timeout", "ui_focus", id=silent[0]["id"])
        finally:
            self.rpc("exec", command=f"kill -KILL {pid}")
        wait_until(lambda: not any(n.get("unresponsive") for n in self.rpc("ui_tree", scope="all")["nodes"]),
                   "its being gone")
        self.refused("not_found", "ui_focus", id=node["id"])

    def test_refusals(self):
        self.refused("invalid", "ui_find", role="no such role")
        self.refused("invalid", "ui_find", name="(a", match="regex")
        self.refused("invalid", "ui_invoke")
        self.refused("not_found", "ui_invoke", id="nothing")
        self.refused("not_found", "ui_invoke", name="nowhere to be seen")
        viewer = self.service.rpc(self.session, self.service.token("viewer"))
        viewer("ui_tree")
        with self.assertRaises(RpcError) as caught:
            viewer("ui_invoke", name="x")
        self.assertEqual(caught.exception.kind, "forbidden")
        viewer.close()

    def test_after_the_worker_died(self):
        self.rpc("ui_tree")
        self.service.kill("cuad-desktop")

        def works():
            try:
                return self.rpc("ui_tree")
            except RpcError:
                return None
        wait_until(works, "the new worker")


class WithoutNodes(unittest.TestCase):
    def test_says_what_is_missing(self):
        service = Service()
        try:
            rpc = service.rpc(service.launch(template="base")["id"])
            with self.assertRaises(RpcError) as caught:
                rpc("ui_tree")
            self.assertEqual(caught.exception.kind, "not_found")
            self.assertIn("at-spi2-core", caught.exception.message)
        finally:
            service.close()


if __name__ == "__main__":
    unittest.main()
