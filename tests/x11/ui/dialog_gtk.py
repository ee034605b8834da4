"""A GTK dialog for the tests of accessible nodes; prints the text of a button that was clicked."""
import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk

window = Gtk.Window(title="Sample")
box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
window.add(box)
entry = Gtk.Entry()
entry.set_text("before")
box.add(entry)
for number in range(3):
    button = Gtk.Button(label=f"Button {number}")
    button.connect("clicked", lambda clicked: window.set_title("Clicked " + clicked.get_label()))
    box.add(button)
check = Gtk.CheckButton(label="Choice")
box.add(check)
scale = Gtk.Scale.new_with_range(Gtk.Orientation.HORIZONTAL, 0, 100, 1)
box.add(scale)
password = Gtk.Entry(visibility=False)
password.get_accessible().set_name("Secret")
box.add(password)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
