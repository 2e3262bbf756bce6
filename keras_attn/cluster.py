"""The workers of a training on several machines, which the environment variable TF_CONFIG names."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_attn.untrusted import parse_json

MULTIWORKER = "multiworker"
"""Name of the strategy that trains on them."""
TF_CONFIG = "TF_CONFIG"
CHIEF, WORKER = "chief", "worker"
_FORM = (
    '{"cluster": {"worker": ["host:port", "host:port"]}, "task": {"type": "worker", "index": 0}}'
)


class LostWorkerError(ConnectionError):
    """Another worker of a training ended, or cannot be reached."""


@dataclass(frozen=True)
class Cluster:
    """Processes that train one model together.

    Attributes:
        addresses: "host:port" of each; the first is the chief, which writes the run directory.
        place: int. This process among them, from 0.
    """

    addresses: tuple[str, ...]
    place: int

    @property
    def is_chief(self) -> bool:
        """Whether this process is the chief."""
        return self.place == 0

    @property
    def others(self) -> tuple[str, ...]:
        """Addresses of the other processes."""
        return self.addresses[: self.place] + self.addresses[self.place + 1 :]

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> "Cluster":
        """The cluster that TF_CONFIG names: workers, the first of which may be called chief.

        Raises:
            ValueError: TF_CONFIG is missing or malformed, names other roles, or a task that the
                cluster does not have.

        Example:
            >>> import json
            >>> config = {"cluster": {"worker": ["a:2", "b:3"]}, "task": {"type": "worker"}}
            >>> config["task"]["index"] = 1
            >>> Cluster.read({"TF_CONFIG": json.dumps(config)})
            Cluster(addresses=('a:2', 'b:3'), place=1)
        """
        text = environment.get(TF_CONFIG, "")
        try:
            config = parse_json(text)
        except ValueError:
            config = None
        if not isinstance(config, dict):
            raise _error(f"such as {_FORM}", repr(text) if text else "none")
        jobs = _jobs(config.get("cluster"))
        return cls(jobs.get(CHIEF, ()) + jobs.get(WORKER, ()), _place(config.get("task"), jobs))


def _error(expected, received):
    return ValueError(f"Expected {TF_CONFIG} {expected}. Received: {received}")


def _jobs(cluster: Any) -> dict[str, tuple[str, ...]]:
    """Addresses by role."""
    if not isinstance(cluster, dict) or not cluster:
        raise _error(f"with a cluster, such as {_FORM}", f"cluster={cluster!r}")
    if extra := sorted(set(cluster) - {CHIEF, WORKER}):
        raise _error(
            f"with a cluster of {WORKER}s, the first of which may be the {CHIEF}", ", ".join(extra)
        )
    for role, addresses in cluster.items():
        if not isinstance(addresses, list) or not all(map(_is_address, addresses)):
            raise _error(f'with a list of "host:port" for {role}', repr(addresses))
    together = [address for addresses in cluster.values() for address in addresses]
    if len(cluster.get(CHIEF, ())) > 1 or len(set(together)) < len(together) or not together:
        raise _error(f"with at most one {CHIEF} and an address for each process", repr(cluster))
    return {role: tuple(addresses) for role, addresses in cluster.items()}


def _is_address(address: Any) -> bool:
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536


def _place(task: Any, jobs: dict[str, tuple[str, ...]]) -> int:
    """This process's place among the addresses, the chief's first."""
    if not isinstance(task, dict):
        raise _error("with this process's task, a type and an index", f"task={task!r}")
    role, index = task.get("type"), task.get("index")
    if not isinstance(role, str) or role not in jobs:
        raise _error(f"with a task of type {' or '.join(jobs)}", f"type={role!r}")
    if type(index) is not int or not 0 <= index < len(jobs[role]):
        raise _error(
            f"with an index from 0 to {len(jobs[role]) - 1} of this {role}", f"index={index!r}"
        )
    return index + (len(jobs.get(CHIEF, ())) if role == WORKER else 0)
