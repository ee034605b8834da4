#!/usr/bin/python3
"""A text view of GTK 3."""
import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

import sink  # noqa: E402

view = Gtk.TextView()
window = Gtk.Window(title="sink")
window.set_default_size(600, 400)
window.add(view)
window.connect("destroy", Gtk.main_quit)


def get():
    text = view.get_buffer()
    return text.get_text(text.get_start_iter(), text.get_end_iter(), True)


commands = sink.Commands(get, lambda: view.get_buffer().set_text(""))


def on_command(*_):
    if not commands.read():
        Gtk.main_quit()
    return True


def on_focus(*_):
    window.disconnect(focused)
    sink.ready()


GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, on_command)
focused = window.connect_after("focus-in-event", on_focus)
window.show_all()
view.grab_focus()
Gtk.main()
