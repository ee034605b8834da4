#!/usr/bin/env python3
"""What a Qt program gets of the mouse: a text, a list whose rows can be dragged. Lines as of mouse_gtk.py; the
argument is Qt's number, 5 or 6."""
import importlib
import sys

qt = f"PyQt{sys.argv[1]}"
QtCore, QtWidgets = (importlib.import_module(f"{qt}.{name}") for name in ("QtCore", "QtWidgets"))
Qt = QtCore.Qt
LINES = 1200


def say(*words):
    print(*words, flush=True)


def number(value):
    return value.value if hasattr(value, "value") else int(value)


class Text(QtWidgets.QPlainTextEdit):
    def tell(self, word, event):
        say(word, number(event.button()), number(event.modifiers()) >> 24)

    def mousePressEvent(self, event):
        self.tell("press", event)
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event):
        self.tell("double", event)
        super().mouseDoubleClickEvent(event)

    def mouseReleaseEvent(self, event):
        super().mouseReleaseEvent(event)
        self.tell("release", event)
        say("selection", repr(self.textCursor().selectedText()) if self.textCursor().hasSelection() else "none")


class Rows(QtWidgets.QListWidget):
    def __init__(self):
        super().__init__()
        self.addItems(["one", "two", "three", "four"])
        self.setDragDropMode(QtWidgets.QAbstractItemView.DragDropMode.InternalMove)

    def dropEvent(self, event):
        super().dropEvent(event)
        QtCore.QTimer.singleShot(0, lambda: say("rows", *(self.item(i).text() for i in range(self.count()))))


def place(name, widget, rect):
    corner = widget.mapToGlobal(rect.topLeft())
    say("at", name, corner.x(), corner.y(), min(rect.width(), 60), rect.height())


def tell_places():
    cursor = text.textCursor()
    cursor.setPosition(text.document().findBlockByNumber(1).position() + 6)
    first = text.cursorRect(cursor)
    cursor.setPosition(cursor.position() + 4)
    place("word", text.viewport(), QtCore.QRect(first.topLeft(), text.cursorRect(cursor).bottomRight()))
    for i in range(4):
        place(f"row{i}", rows.viewport(), rows.visualItemRect(rows.item(i)))
    say("ready")


app = QtWidgets.QApplication(sys.argv[:1])
window = QtWidgets.QWidget(None, Qt.WindowType.FramelessWindowHint)
window.setWindowTitle("mouse_qt")
window.setGeometry(0, 0, 900, 600)
text = Text("".join(f"alpha beta gamma {i} {'wide ' * 1200 if i == 5 else ''}\n" for i in range(LINES)))
text.setLineWrapMode(QtWidgets.QPlainTextEdit.LineWrapMode.NoWrap)
text.setReadOnly(True)
text.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
rows = Rows()
layout = QtWidgets.QHBoxLayout(window)
layout.addWidget(text)
layout.addWidget(rows)
text.verticalScrollBar().valueChanged.connect(lambda v: say("vertical", v))
text.horizontalScrollBar().valueChanged.connect(lambda v: say("horizontal", v))
window.show()
QtCore.QTimer.singleShot(300, tell_places)
(getattr(app, "exec", None) or app.exec_)()
