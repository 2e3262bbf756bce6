"""Every tree over so many words, one after the other."""


def whole_trees(openings, closings, word, words, chain, deepest, length, end=3):
    """Set of all answers: tuples of ids, `end` last, of at most `length`.

    Made from the inside outwards: a constituent is a sequence of words and constituents.
    """
    if words == 0:
        return {(end,)}
    known = {}

    def nodes(count, depth):
        """(symbols, chain) of each constituent over `count` words, `depth` deep at most."""
        key = (count, depth)
        if key not in known:
            known[key] = []
            if depth:
                labels = list(zip(openings, closings))
                for inner, children, longest in list(forests(count, depth - 1, 0)):
                    own = longest + 1 if children == 1 and longest else 1
                    if own <= chain and len(inner) + 3 <= length:
                        known[key] += [((o, *inner, c), own) for o, c in labels]
        return known[key]

    def forests(count, depth, children):
        """(symbols, children, chain of an only constituent) over `count` words."""
        if count == 0:
            if children:
                yield (), 0, 0
            return
        for symbols, number, _ in forests(count - 1, depth, children + 1):
            yield (word, *symbols), number + 1, 0
        for part in range(1, count + 1):
            for first, own in nodes(part, depth):
                for symbols, number, _ in forests(count - part, depth, children + 1):
                    yield (*first, *symbols), number + 1, 0 if number else own

    trees = {(*symbols, end) for symbols, _ in nodes(words, deepest)}
    if words == 1:
        trees.add((word, end))
    return {tree for tree in trees if len(tree) <= length}
