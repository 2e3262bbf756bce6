"""Random graphs with a shortest path that is the only one."""

import numpy as np

TRIES = 100
"""Most graphs that are drawn for a path of some length."""


def path_problem(
    random: np.random.Generator, count: int, hops: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """A connected random graph and the only shortest path between two of its nodes.

    A random tree gets half as many further edges as there are nodes. The number of hops is drawn
    first, and graphs until one has such a path from a random node: otherwise most paths of small
    graphs are a single edge, and the question itself has the answer. Of TRIES graphs without one,
    the first of those with the longest path is taken.

    Args:
        random: NumPy generator.
        count: number of nodes, at least 2.
        hops: maximum number of edges of the path.

    Returns:
        edges: pairs of nodes, each edge once, in random order and direction.
        path: nodes from the first to the last.
    """
    wanted = int(random.integers(1, min(hops, count - 1) + 1))
    edges: list[tuple[int, int]] = []
    chosen: list[list[int]] = []
    longest = 0
    for _ in range(TRIES):
        graph = _random_edges(random, count)
        neighbors = [
            sorted({b for a, b in graph if a == node} | {a for a, b in graph if b == node})
            for node in range(count)
        ]
        paths = only_paths(neighbors, int(random.integers(count)))
        most = max(len(path) - 1 for path in paths if len(path) - 1 <= wanted)
        if most > longest:
            edges, longest = graph, most
            chosen = [path for path in paths if len(path) - 1 == most]
        if longest == wanted:
            break
    order = random.permutation(len(edges))
    shuffled = [edges[place] for place in order]
    turned = random.integers(0, 2, len(shuffled))
    edges_drawn = [(b, a) if turn else (a, b) for (a, b), turn in zip(shuffled, turned)]
    return edges_drawn, chosen[int(random.integers(len(chosen)))]


def _random_edges(random, count):
    """Pairs of nodes, sorted: a random tree and up to half as many further edges as nodes."""
    edges = {(int(random.integers(node)), node) for node in range(1, count)}
    for _ in range(count // 2):
        first, second = sorted(random.choice(count, 2, replace=False).tolist())
        edges.add((first, second))
    return sorted(edges)


def only_paths(neighbors: list[list[int]], start: int) -> list[list[int]]:
    """The shortest paths from a node to those nodes to which there is only one.

    Example:
        >>> only_paths([[1, 2], [0, 3], [0, 3], [1, 2]], 0)  # Two ways lead to node 3.
        [[0], [0, 1], [0, 2]]
    """
    counts, before, distances, frontier = {start: 1}, {start: -1}, {start: 0}, [start]
    while frontier:
        reached = []
        for node in frontier:
            for other in neighbors[node]:
                if other not in distances:
                    distances[other], counts[other], before[other] = distances[node] + 1, 0, node
                    reached.append(other)
                if distances[other] == distances[node] + 1:
                    counts[other] += counts[node]
        frontier = reached
    paths = []
    for node, count in counts.items():
        if count == 1:
            path = [node]
            while path[-1] != start:
                path.append(before[path[-1]])
            paths.append(path[::-1])
    return paths
