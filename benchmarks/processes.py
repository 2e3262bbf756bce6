"""What a process costs, and functions in a process of their own. It needs Python alone."""

import concurrent.futures
import multiprocessing
import re
import resource
import sys
from pathlib import Path


def peak() -> float:
    """MiB that this process has held at most."""
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 2**20


def resident() -> float:
    """MiB that this process has now; its most so far where that is not known."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1]) / 1024
    return peak()


def processor_seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def in_its_own_process(function, *arguments):
    """What a function returns in a fresh process, which imports its module and ends with it.

    Args:
        function: of the top level of a module.
        arguments: that can be pickled, as its answer can.

    Raises:
        BrokenProcessPool: the process crashed.
    """
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()
