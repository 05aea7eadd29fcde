# SPDX-License-Identifier: MIT
"""The libraries that are measured at each server, and their features."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Side:
    """One library, or one mode of it."""
    letter: str  # in its names, so that no two sides use the same name
    title: str
    command: tuple
    ours: bool = False
    # Share of the calls and turns of the fastest library, so that a slow one does not dominate the run.
    calls: float = 1
    turns: float = 1
    # Whether it renews its locks by itself.
    renews: bool = True
    # Commands that it sends in addition to scripts and subscriptions; its scripts do not call them.
    also: typing.Tuple[str, ...] = ()
    # The title of the other side, if both can share a lock.
    shares_with: typing.Optional[str] = None


def at_redis(port, commands):
    where = f"redis://127.0.0.1:{port}"
    ours = commands["Mortise"]
    found = [
        Side("m", "Mortise", (*ours, where), ours=True),
        Side("i", "Mortise interop=redisson", (*ours, where + "?interop=redisson"), ours=True,
             shares_with="Redisson"),
    ]
    if "Redisson" in commands:
        found.append(Side("r", "Redisson", (*commands["Redisson"], where)))
    if "redis-plus-plus" in commands:
        found.append(Side("p", "redis-plus-plus", (*commands["redis-plus-plus"], where),
                          calls=0.08, turns=0.5, also=("set",)))
    if "redis-py" in commands:
        found.append(Side("y", "redis-py", (*commands["redis-py"], where), calls=0.4, turns=0.12,
                          renews=False, also=("set",)))
    if "redlock" in commands:
        found.append(Side("n", "node-redlock", (*commands["redlock"], where), calls=0.5, turns=0.08))
    return found


def at_zookeeper(port, commands):
    where = f"127.0.0.1:{port}/peers"
    found = [Side("m", "Mortise", (*commands["Mortise"], f"zookeeper://{where}"), ours=True,
                  shares_with="Curator")]
    if "Curator" in commands:
        found.append(Side("c", "Curator", (*commands["Curator"], where)))
    if "kazoo" in commands:
        found.append(Side("k", "kazoo", (*commands["kazoo"], where), calls=0.2, turns=0.7))
    return found
