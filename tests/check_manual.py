#!/usr/bin/env python3
"""What the tables have, the manual pages have: options, configuration keys, commands, actions. And the
README names only commands that exist. Usage: check_manual.py SOURCE BUILD"""
import pathlib
import re
import subprocess
import sys

source, build = map(pathlib.Path, sys.argv[1:])
faults = []


def output(program, *args):
    return subprocess.run([build / program, *args], capture_output=True, text=True, check=True).stdout


def page(path):
    """A manual page without roff's escapes."""
    return path.read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")


def want(where, text, words):
    assert words, where
    faults.extend(f"{where} lacks {word}" for word in words if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text))


def check_options():
    text = page(source / "server/man/cuad-supervisor.8")
    want("cuad-supervisor.8", text, re.findall(r"^  (--\w+)", output("server/supervisor/cuad-supervisor", "--help"), re.M))
    main = (source / "server/front/main.c").read_text()
    options = ["--" + name for name in re.findall(r'{"([\w-]+)", (?:no|required)_argument', main)]
    want("cuad.8", page(source / "server/man/cuad.8"), options)


def check_configuration():
    table = (source / "server/front/config_yaml.c").read_text()
    keys = re.findall(r'\t(?:TEXT|LIST|CYAML_FIELD_MAPPING_PTR)\("(\w+)"', table)
    want("cuad.yaml.5", page(source / "server/man/cuad.yaml.5"), keys)


def check_cuactl():
    text = page(build / "server/ctl/cuactl.1")
    help_text = output("server/ctl/cuactl", "help")
    commands = re.findall(r"^  (\w+(?: \w+)?)  ", help_text.split("Every command takes:")[0], re.M)
    want("cuactl.1", text, ["cuactl " + command for command in commands])
    for command in commands:
        about = output("server/ctl/cuactl", "help", *command.split())
        want("cuactl.1", text, ["--help", *re.findall(r"^  (?:-\w, )?(--[\w-]+)", about, re.M)])
    actions = re.findall(r"^  (\w+)  ", output("server/ctl/cuactl", "help", "do").split("Actions")[1], re.M)
    for action in actions:
        about = output("server/ctl/cuactl", "help", "do", action)
        want(f"cuactl.1, {action},", text, [action, *re.findall(r"^  (\w+)  ", about, re.M)])
    return {command.split()[0] for command in commands}


def check_documents(commands):
    for path in source.rglob("*.md"):
        if "build" in path.relative_to(source).parts[0]:
            continue
        text = path.read_text()
        used = re.findall(r"^(?:\$ )?cuactl (\w+)|\bcuactl (\w+)", text, re.M)
        faults.extend(f"{path.relative_to(source)}: there is no cuactl {a or b}"
                      for a, b in used if (a or b) not in commands)
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            if not (path.parent / link).exists():
                faults.append(f"{path.relative_to(source)}: {link} does not exist")


check_options()
check_configuration()
check_documents(check_cuactl())
print("\n".join(faults))
sys.exit(bool(faults))
