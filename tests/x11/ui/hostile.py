"""A program on the accessibility bus that lies: cycles, floods, wrong types, silence, as the argument says."""
import sys

from gi.repository import Gio, GLib

KIND = sys.argv[1]
ROOT = "/org/a11y/atspi/accessible/root"
BASE = "/org/a11y/atspi/accessible/"
ROLE = "s" if KIND == "types" else "u"
XML = f"""<node><interface name="org.a11y.atspi.Accessible">
<method name="GetChildren"><arg direction="out" type="{'a(os)' if KIND == 'types' else 'a(so)'}"/></method>
<method name="GetRole"><arg direction="out" type="{ROLE}"/></method>
<method name="GetState"><arg direction="out" type="au"/></method>
<method name="GetInterfaces"><arg direction="out" type="as"/></method>
<property name="Name" type="{'i' if KIND == 'types' else 's'}" access="read"/>
</interface><interface name="org.a11y.atspi.Component">
<method name="GetExtents"><arg direction="in" type="u"/><arg direction="out" type="(iiii)"/></method>
</interface><interface name="org.a11y.atspi.Application">
<property name="Id" type="i" access="readwrite"/></interface></node>"""

session = Gio.bus_get_sync(Gio.BusType.SESSION)
address = session.call_sync("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", None, None,
                            0, 20000, None).unpack()[0]
flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
me = bus.get_unique_name()


def children(path):
    if KIND == "cycle":
        return [(me, ROOT), (me, BASE + "a"), (me, BASE + "b"), (me, path)]
    if KIND == "flood":
        return [(me, f"{BASE}x{number}") for number in range(20000)]
    if KIND == "deep":
        return [(me, BASE + "d")] if path == ROOT else []
    if KIND == "strange":
        return [("no bus name", BASE + "a"), (":1.99999", BASE + "b"), (me, "/"), ("", ROOT)]
    return []


def on_call(_, sender, path, interface, member, args, call):
    if KIND == "silent":
        return
    answers = {
        "GetChildren": lambda: GLib.Variant("(a(so))", (children(path),)),
        "GetRole": lambda: GLib.Variant("(u)", (4000000000,)),
        "GetState": lambda: GLib.Variant("(au)", ([0xffffffff] * (100000 if KIND == "flood" else 2),)),
        "GetInterfaces": lambda: GLib.Variant("(as)", (["org.a11y.atspi.Component"] * 1000,)),
        "GetExtents": lambda: GLib.Variant("((iiii))", ((-2**31, -2**31, -1, 2**31 - 1),)),
    }
    if KIND == "types":
        answers.update(GetRole=lambda: GLib.Variant("(s)", ("role",)),
                       GetChildren=lambda: GLib.Variant("(a(os))", ([(ROOT, me)],)))
    call.return_value(answers[member]())


def on_get(_, sender, path, interface, name):
    if name == "Id":
        return GLib.Variant("i", 1)
    if KIND == "types":
        return GLib.Variant("i", 7)
    return GLib.Variant("s", "Liar " + ("\u00e9" * 100000 if KIND == "flood" else KIND))


info = Gio.DBusNodeInfo.new_for_xml(XML)
for end in ("root", "a", "b", "d"):
    for interface in info.interfaces:
        bus.register_object(BASE + end, interface, on_call, on_get, lambda *_: True)
bus.call_sync("org.a11y.atspi.Registry", ROOT, "org.a11y.atspi.Socket", "Embed",
              GLib.Variant("((so))", ((me, ROOT),)), None, 0, 20000, None)
print("ready", flush=True)
GLib.MainLoop().run()
