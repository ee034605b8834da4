#!/usr/bin/env python3
"""Speed of the whole product beside the tools that people would use in its place, from one run.

usage: bench.py PROGRAMS [life|act|eyes]…   (PROGRAMS: the folder of painter and the others in C)

Needs root and a network namespace of its own; `./bootstrap.sh bench` runs it."""
import os
import pathlib
import platform
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
import product

import act
import eyes
import life

PARTS = {"life": lambda service, _: life.run(service), "act": lambda service, _: act.run(service), "eyes": eyes.run}
TOOLS = ("lxc-attach", "import", "nsenter", "scrot", "xdotool")


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def main():
    programs, *chosen = sys.argv[1:]
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    unknown = [part for part in chosen if part not in PARTS]
    if missing or unknown:
        sys.exit(f"not installed: {' '.join(missing)}" if missing else f"no such part: {' '.join(unknown)}")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} CPUs ({processor()}), load {load:.1f}"
          + (": other programs disturb these figures" if load > 1 else ""))
    for part in chosen or PARTS:
        service = product.Service()
        try:
            PARTS[part](service, pathlib.Path(programs))
        finally:
            service.close()


main()
