"""Slow solvers of the algorithmic problems, from their texts alone."""

from itertools import pairwise, permutations


def solved(problem: str, source: str) -> set[str]:
    """All right answers to a problem."""
    words = source.split()
    if problem == "copy":
        return {source}
    if problem == "repeat_copy":
        return {" ".join(words[:-1] * int(words[-1][1:]) + ["."])}
    if problem == "associative_recall":
        listed, asked = source.split(" ? ")
        items = listed.split(" | ")
        return {after for item, after in pairwise(items) if item == asked}
    if problem == "priority_sort":
        pairs = [word.split(":") for word in words[:-1]]
        ordered = sorted(pairs, key=lambda pair: -float(pair[1]))
        return {" ".join(word for word, _ in ordered[: int(words[-1][1:])])}
    return {" ".join([*path[1:], "."]) for path in shortest_paths(source)}


def shortest_paths(source: str) -> set[tuple[str, ...]]:
    """Every shortest path of a graph's text, by trying all orders of its nodes."""
    listed, asked = source.split(" ? ")
    edges = {tuple(edge.split("-")) for edge in listed.split()}
    edges |= {(last, first) for first, last in edges}
    start, goal = asked.split("-")
    between = sorted({node for edge in edges for node in edge} - {start, goal})
    for count in range(len(between) + 1):
        paths = {
            (start, *middle, goal)
            for middle in permutations(between, count)
            if all(edge in edges for edge in pairwise((start, *middle, goal)))
        }
        if paths:
            return paths
    return set()
