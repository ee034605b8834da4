"""The same dialog in Qt, 5 or 6 by the argument."""
import importlib
import sys

widgets = importlib.import_module(f"PyQt{sys.argv[1]}.QtWidgets")
core = importlib.import_module(f"PyQt{sys.argv[1]}.QtCore")
app = widgets.QApplication([])
window = widgets.QWidget()
window.setWindowTitle("Sample")
box = widgets.QVBoxLayout(window)
box.addWidget(widgets.QLineEdit("before"))
for number in range(3):
    button = widgets.QPushButton(f"Button {number}")
    button.clicked.connect(lambda _=False, b=button: window.setWindowTitle("Clicked " + b.text()))
    box.addWidget(button)
box.addWidget(widgets.QCheckBox("Choice"))
box.addWidget(widgets.QSlider(core.Qt.Orientation.Horizontal, maximum=100))
password = widgets.QLineEdit()
password.setAccessibleName("Secret")
password.setEchoMode(widgets.QLineEdit.EchoMode.Password)
box.addWidget(password)
window.show()
sys.exit(app.exec_() if hasattr(app, "exec_") else app.exec())
