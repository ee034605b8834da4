#!/usr/bin/env python3
"""clang-tidy over our own C, as many at once as there are cores.

Usage: check_tidy.py SOURCE_DIR BUILD_DIR. Exits 1 when there is a finding.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

FOLDERS = ("cua", "server", "desktop", "gpu")


def main():
    source, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    commands = json.loads((build / "compile_commands.json").read_text())
    files = sorted({c["file"] for c in commands if c["file"].startswith(tuple(f"{source}/{f}/" for f in FOLDERS))})

    def check(path):
        run = subprocess.run(["clang-tidy", "--quiet", "-p", build, path], capture_output=True, text=True)
        return path, run.returncode, run.stdout

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, status, output in pool.map(check, files):
            if status != 0:
                failed += 1
                print(output or f"{path}: clang-tidy failed")
    print(f"{len(files)} files, {failed} with findings")
    sys.exit(1 if failed or not files else 0)


main()
