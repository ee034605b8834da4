#!/usr/bin/env python3
"""What a GTK 3 program gets of the mouse: a text, a list whose rows can be dragged. One line each on stdout.

`at NAME X Y W H` tells where things are on the screen, `ready` that all is there."""
import gi

gi.require_version("Gdk", "3.0")
gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, GLib, Gtk

LINES = 1200
PRESSES = {Gdk.EventType.BUTTON_PRESS: "press", Gdk.EventType._2BUTTON_PRESS: "double",
           Gdk.EventType._3BUTTON_PRESS: "triple", Gdk.EventType.BUTTON_RELEASE: "release"}


def say(*words):
    print(*words, flush=True)


def selection():
    bounds = view.get_buffer().get_selection_bounds()
    say("selection", repr(view.get_buffer().get_text(*bounds, False)) if bounds else "none")


def on_button(_, event):
    say(PRESSES[event.type], event.button, int(event.state) & 0xff)
    if event.type == Gdk.EventType.BUTTON_RELEASE:
        GLib.idle_add(selection)
    return event.button == 3  # no menu


def place(name, x, y, w, h, window):
    _, left, top = window.get_origin()
    say("at", name, left + x, top + y, w, h)


def tell_places():
    first, last = (view.get_iter_location(view.get_buffer().get_iter_at_line_offset(1, n)) for n in (6, 10))
    x, y = view.buffer_to_window_coords(Gtk.TextWindowType.TEXT, first.x, first.y)
    place("word", x, y, last.x - first.x, first.height, view.get_window(Gtk.TextWindowType.TEXT))
    for i in range(4):
        r = tree.get_cell_area(Gtk.TreePath(i), tree.get_column(0))
        place(f"row{i}", r.x, r.y, 60, r.height, tree.get_bin_window())
    say("ready")
    return False


def on_rows(*_):
    GLib.idle_add(lambda: say("rows", *(row[0] for row in rows)))


def watch(adjustment, name):
    adjustment.connect("value-changed", lambda a: say(name, f"{a.get_value():.4f}"))


view = Gtk.TextView(editable=False, wrap_mode=Gtk.WrapMode.NONE)
view.get_buffer().set_text("".join(f"alpha beta gamma {i} {'wide ' * 1200 if i == 5 else ''}\n" for i in range(LINES)))
for signal in ("button-press-event", "button-release-event"):
    view.connect(signal, on_button)
scrolled = Gtk.ScrolledWindow()
scrolled.add(view)
watch(scrolled.get_vadjustment(), "vertical")
watch(scrolled.get_hadjustment(), "horizontal")

rows = Gtk.ListStore(str)
for word in ("one", "two", "three", "four"):
    rows.append([word])
tree = Gtk.TreeView(model=rows, reorderable=True, headers_visible=False)
tree.append_column(Gtk.TreeViewColumn("", Gtk.CellRendererText(), text=0))
rows.connect("row-deleted", on_rows)  # the last step of a move

window = Gtk.Window(title="mouse_gtk", decorated=False, default_width=900, default_height=600)
box = Gtk.Box()
box.pack_start(scrolled, True, True, 0)
box.pack_start(tree, True, True, 0)
window.add(box)
window.connect("map-event", lambda *_: GLib.timeout_add(100, tell_places) and None)
window.move(0, 0)
window.show_all()
Gtk.main()
