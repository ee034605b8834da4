#!/usr/bin/python3
"""A plain text edit of Qt; the argument, 5 or 6, tells of which."""
import importlib
import sys

import sink

QtCore, QtWidgets = (importlib.import_module(f"PyQt{sys.argv[1]}.{name}") for name in ("QtCore", "QtWidgets"))


class Edit(QtWidgets.QPlainTextEdit):
    announced = False

    def focusInEvent(self, event):
        super().focusInEvent(event)
        if not self.announced:
            self.announced = True
            sink.ready()


def get():
    # toPlainText() makes a no-break space an ordinary one.
    return edit.document().toRawText().replace("\u2029", "\n")


def on_command():
    if not commands.read():
        application.quit()


application = QtWidgets.QApplication(sys.argv[:1])
edit = Edit()
edit.setWindowTitle("sink")
edit.setUndoRedoEnabled(False)
edit.resize(600, 400)
commands = sink.Commands(get, edit.clear)
notifier = QtCore.QSocketNotifier(0, QtCore.QSocketNotifier.Type.Read)
notifier.activated.connect(on_command)
edit.show()
sys.exit(application.exec() if hasattr(application, "exec") else application.exec_())
