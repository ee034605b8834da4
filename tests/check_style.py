#!/usr/bin/env python3
"""Style that a formatter does not know: sizes, sleeps, words, one file per foreign library.

Usage: check_style.py SOURCE_DIR. Needs universal-ctags and clang-format. Prints each fault, exits 1
if there is one.
"""
import pathlib
import re
import subprocess
import sys

FUNCTION_MAX = 80
FILE_MAX = 800
MAIN_MAX = 60
FOLDERS = ["cua", "server", "desktop", "gpu", "tests"]

# Which files may include a library's headers; the first row that matches counts.
FOREIGN = {
    r"lxc/": {"server/supervisor/container.c"},
    r"nftables/": {"server/supervisor/firewall.c"},
    r"libwebsockets": {"server/ctl/client.c", "server/front/lws_priv.h"},
    r"X11/extensions/Xdamage\.h": {"desktop/capture.c"},
    r"X11/extensions/Xfixes\.h": {"desktop/capture.c", "desktop/clip_keep.c", "desktop/pointer.c"},
    r"xcb/res\.h": {"desktop/reader.c"},
    r"xcb/": {"desktop/shm.c"},
    r"X11/extensions/dpms\.h": {"desktop/x11.c"},
    r"X11/extensions/XTest\.h": {"desktop/input.c"},
    r"X11/XKBlib\.h": {"desktop/input.c", "desktop/keys.c", "desktop/layout.c", "desktop/typing.c"},
    r"X11/extensions/(record|XKBproto)\.h|X11/Xlibint\.h": {"desktop/mapwatch.c"},
    r"X11/extensions/Xrandr\.h": {"desktop/screen.c"},
    r"X11/Xutil\.h": {"desktop/windows.c", "desktop/winact.c"},
    r"X11/extensions/(Xcomposite|shape)\.h": {"desktop/composite.c"},
    r"X11/(Xlib|Xlib-xcb|Xatom)\.h": {"desktop/x11_priv.h"},
    r"X11/|xcb/": set(),
    r"jpeglib|turbojpeg": {"desktop/encode_jpeg.c"},
    r"isa-l|igzip": {"desktop/encode_png.c"},
    r"webp/": {"desktop/encode_webp.c"},
    r"sqlite3": {"server/front/tokens.c"},
    r"openssl/": {"server/front/digest.c"},
    r"cyaml/": {"server/front/config_yaml.c", "server/build/recipe.c"},
    r"yaml\.h": {"server/ctl/yaml.c"},
    r"seccomp\.h": {"desktop/sandbox_calls.c"},
    r"uv\.h": {"server/supervisor/loop.c", "desktop/loop.c"},
}
# Words that have no place in the project.
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SLEEPS = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep)\s*\(|time\.sleep|^\s*sleep\s+[0-9.]", re.M)

faults = []


def fault(path, line, text):
    faults.append(f"{path}:{line}: {text}")


def sources(root, *endings):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in endings and "vendor" not in path.parts and "corpus" not in path.parts:
                yield path


def check_sizes(root, files):
    out = subprocess.run(
        ["ctags", "-f", "-", "--language-force=C", "--kinds-C=f", "--fields=+ne", *map(str, files)],
        capture_output=True, text=True, check=True).stdout
    for row in out.splitlines():
        name, path = row.split("\t")[:2]
        start = int(re.search(r"\tline:(\d+)", row)[1])
        end = re.search(r"\tend:(\d+)", row)
        length = int(end[1]) - start + 1 if end else 0
        limit = MAIN_MAX if name == "main" else FUNCTION_MAX
        if length > limit:
            fault(pathlib.Path(path).relative_to(root), start, f"{name} has {length} lines (at most {limit})")
    for path in files:
        lines = path.read_text().count("\n")
        if lines > FILE_MAX:
            fault(path.relative_to(root), 1, f"{lines} lines (at most {FILE_MAX})")


def check_text(root, path):
    name = str(path.relative_to(root))
    text = path.read_text()
    if name.startswith("tests/check_style"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        if WORDS.search(line):
            fault(name, number, "a word that has no place here: " + line.strip())
    for match in SLEEPS.finditer(text):
        fault(name, text.count("\n", 0, match.start()) + 1, "a sleep: wait for an event instead")


def check_includes(root, path):
    name = str(path.relative_to(root))
    if name.startswith("tests/"):
        return
    for number, line in enumerate(path.read_text().split("\n"), 1):
        match = re.match(r"#include <([^>]+)>", line)
        if not match:
            continue
        allowed = next((files for library, files in FOREIGN.items() if re.match(library, match[1])), {name})
        if name not in allowed:
            fault(name, number, f"includes {match[1]}, which only {', '.join(sorted(allowed)) or 'nobody'} may")


def check_documented(root, path):
    """Every prototype of a header has a comment above it, or stands in a commented group."""
    name = str(path.relative_to(root))
    if name.startswith("tests/") or name.endswith("_priv.h"):
        return
    commented = False
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if line.startswith("/*") or line.startswith(" *") or line.startswith("static inline"):
            commented = True
        elif not line.strip():
            commented = False
        elif not commented and re.match(r"^[a-z].*\)( CUA_\w+(\(.*\))?)*;$", line) and "typedef" not in line:
            fault(name, number, "a prototype without a comment")


def check_format(files):
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *map(str, files)], capture_output=True, text=True)
    if run.returncode != 0:
        for line in run.stderr.splitlines():
            if "error:" in line:
                faults.append(line)


def check_layers(root, path):
    """desktop and server never include each other; cua includes neither."""
    name = str(path.relative_to(root))
    top = name.split("/")[0]
    forbidden = {"cua": ("server/", "desktop/", "gpu/"), "desktop": ("server/",), "server": ("desktop/",), "gpu": ("server/", "desktop/")}
    for number, line in enumerate(path.read_text().split("\n"), 1):
        match = re.match(r'#include "([^"]+)"', line)
        if match and match[1].startswith(forbidden.get(top, ())):
            fault(name, number, f"{top} must not include {match[1]}")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    code = list(sources(root, ".c", ".h"))
    check_sizes(root, [p for p in code if p.suffix == ".c"])
    check_format(code)
    for path in code:
        check_includes(root, path)
        check_layers(root, path)
    for path in (p for p in code if p.suffix == ".h"):
        check_documented(root, path)
    for path in [*code, *sources(root, ".py", ".sh"), root / "bootstrap.sh", root / ".ci/run"]:
        if path.exists():
            check_text(root, path)
    print("\n".join(faults) if faults else "style: no fault")
    sys.exit(1 if faults else 0)


main()
