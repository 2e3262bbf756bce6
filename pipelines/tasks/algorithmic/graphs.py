"""Random graphs with a shortest path that is the only one."""

import numpy as np


def path_problem(
    random: np.random.Generator, count: int, hops: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """A connected random graph and the only shortest path between two of its nodes.

    A random tree gets half as many further edges as there are nodes. The number of hops is drawn
    from those that the graph has.

    Args:
        random: NumPy generator.
        count: number of nodes, at least 2.
        hops: maximum number of edges of the path.

    Returns:
        edges: pairs of nodes, each edge once, in random order and direction.
        path: nodes from the first to the last.
    """
    edges = {(int(random.integers(node)), node) for node in range(1, count)}
    for _ in range(count // 2):
        first, second = sorted(random.choice(count, 2, replace=False).tolist())
        edges.add((first, second))
    neighbors = [
        sorted({b for a, b in edges if a == node} | {a for a, b in edges if b == node})
        for node in range(count)
    ]
    start = int(random.integers(count))
    paths = only_paths(neighbors, start)
    by_hops: dict[int, list[list[int]]] = {}
    for path in paths:
        if 1 <= len(path) - 1 <= hops:
            by_hops.setdefault(len(path) - 1, []).append(path)
    chosen = by_hops[int(random.choice(sorted(by_hops)))]
    order = random.permutation(len(edges))
    shuffled = [sorted(edges)[place] for place in order]
    turned = random.integers(0, 2, len(shuffled))
    edges_drawn = [(b, a) if turn else (a, b) for (a, b), turn in zip(shuffled, turned)]
    return edges_drawn, chosen[int(random.integers(len(chosen)))]


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
