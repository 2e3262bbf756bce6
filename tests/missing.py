"""Runs a module where some packages seem not to be installed.

Run as `python -m tests.missing PACKAGE,PACKAGE… MODULE ARGUMENT…`.
"""

import runpy
import sys
from importlib.machinery import PathFinder


def hide(packages):
    """Lets imports of packages fail."""
    find = PathFinder.find_spec

    def find_others(name, path=None, target=None):
        return None if name.partition(".")[0] in packages else find(name, path, target)

    PathFinder.find_spec = find_others


if __name__ == "__main__":
    _, packages, module, *_ = sys.argv
    hide(packages.split(","))
    sys.argv[:3] = sys.argv[2:3]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
