"""Slow twins of memories: loops over slots and numbers, in float64, of one example."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def softmax(x):
    return np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x)))


def cosine(key, slot, epsilon=1e-6):
    return key @ slot / (np.sqrt(key @ key + epsilon) * np.sqrt(slot @ slot + epsilon))


def by_content(key, strength, memory):
    return softmax(np.array([strength * cosine(key, slot) for slot in memory]))


def take(interface, *sizes):
    """Splits a vector; the rest must be empty."""
    parts, start = [], 0
    for size in sizes:
        count = int(np.prod(size))
        parts.append(interface[start : start + count].reshape(size))
        start += count
    assert start == len(interface)
    return parts


def lstm(inputs, state, kernel, recurrent, bias):
    """One step of Keras' LSTMCell."""
    enter, forget, new, leave = np.split(inputs @ kernel + state[0] @ recurrent + bias, 4)
    memory = sigmoid(forget) * state[1] + sigmoid(enter) * np.tanh(new)
    hidden = sigmoid(leave) * np.tanh(memory)
    return hidden, (hidden, memory)


def dense(inputs, state, kernel, bias):
    """A feed-forward controller with a tanh."""
    return np.tanh(inputs @ kernel + bias), state


def ntm_address(head, memory, wanted, previous):
    """Weights of one head of a Neural Turing Machine."""
    key, strength, gate, shifts, exponent = (part[head] for part in wanted)
    content = by_content(np.tanh(key), softplus(strength), memory)
    mixed = sigmoid(gate) * content + (1 - sigmoid(gate)) * previous
    chances, moved, most = softmax(shifts), np.zeros(len(memory)), len(shifts) // 2
    for i in range(len(memory)):
        for shift in range(-most, most + 1):
            moved[i] += mixed[(i - shift) % len(memory)] * chances[shift + most]
    powers = moved ** (1 + softplus(exponent))
    return powers / powers.sum()


def ntm(inputs, controller, state, interface, readout, first, sizes):
    """Outputs, write weights and read weights of a Neural Turing Machine over inputs (T, E).

    `interface` and `readout` are (kernel, bias); `first` is (scores (H + R, N), reads (R, W));
    `sizes` is (N, W, R, H, S).
    """
    slots, width, readers, writers, most = sizes
    heads = readers + writers
    weights = np.array([softmax(scores) for scores in first[0]])
    reads, memory = first[1], np.full((slots, width), 1e-6)
    outputs, writes, looks = [], [], []
    for x in inputs:
        hidden, state = controller(np.concatenate([x, reads.ravel()]), state)
        *wanted, erased, added = take(
            hidden @ interface[0] + interface[1],
            (heads, width),
            (heads,),
            (heads,),
            (heads, 2 * most + 1),
            (heads,),
            (writers, width),
            (writers, width),
        )

        def look(chosen, memory, wanted=wanted, weights=weights):
            return np.array([ntm_address(head, memory, wanted, weights[head]) for head in chosen])

        write = look(range(writers), memory)
        memory = memory.copy()
        for head in range(writers):
            for i in range(slots):
                memory[i] *= 1 - write[head, i] * sigmoid(erased[head])
        for head in range(writers):
            for i in range(slots):
                memory[i] += write[head, i] * np.tanh(added[head])
        read = look(range(writers, heads), memory)
        reads = np.array([sum(row[i] * memory[i] for i in range(slots)) for row in read])
        weights = np.concatenate([write, read])
        outputs.append(np.concatenate([hidden, reads.ravel()]) @ readout[0] + readout[1])
        writes.append(write)
        looks.append(read)
    return np.array(outputs), np.array(writes), np.array(looks)


def free_list(usage):
    """The slots by usage, least first; equal ones in their order."""
    return sorted(range(len(usage)), key=lambda slot: usage[slot])


def allocation(usage, order, epsilon=1e-6):
    """Weights of free slots, by a free list."""
    usage, weights = epsilon + (1 - epsilon) * usage, np.zeros(len(usage))
    for j, slot in enumerate(order):
        weights[slot] = 1 - usage[slot]
        for i in range(j):
            weights[slot] *= usage[order[i]]
    return weights


def dnc(inputs, controller, state, interface, readout, sizes, first=None, orders=None):
    """Outputs, write weights, read weights and states of a DNC over inputs (T, E).

    `interface` and `readout` are (kernel, bias); `sizes` is (N, W, R); `first` is the memory and
    the usage at the start, zeros by default; `orders` are free lists (T, N), by usage by default. A
    state is (memory, usage, links, precedence).
    """
    slots, width, readers = sizes
    memory, usage = first or (np.zeros((slots, width)), np.zeros(slots))
    links, precedence, write = np.zeros((slots, slots)), np.zeros(slots), np.zeros(slots)
    read, reads = np.zeros((readers, slots)), np.zeros((readers, width))
    outputs, writes, looks, states = [], [], [], []
    for t, x in enumerate(inputs):
        hidden, state = controller(np.concatenate([x, reads.ravel()]), state)
        read_keys, read_strengths, key, strength, erased, added, free, allocate, gate, modes = take(
            hidden @ interface[0] + interface[1],
            (readers, width),
            (readers,),
            (width,),
            (),
            (width,),
            (width,),
            (readers,),
            (),
            (),
            (readers, 3),
        )
        kept = np.ones(slots)
        for head in range(readers):
            kept *= 1 - sigmoid(free[head]) * read[head]
        usage = (usage + write - usage * write) * kept
        content = by_content(key, 1 + softplus(strength), memory)
        free = allocation(usage, free_list(usage) if orders is None else orders[t])
        write = sigmoid(gate) * (sigmoid(allocate) * free + (1 - sigmoid(allocate)) * content)
        memory = np.array(
            [memory[i] * (1 - write[i] * sigmoid(erased)) + write[i] * added for i in range(slots)]
        )
        before, links = links, np.zeros((slots, slots))
        for i in range(slots):
            for j in range(slots):
                if i != j:
                    links[i, j] = (1 - write[i] - write[j]) * before[i, j]
                    links[i, j] += write[i] * precedence[j]
        precedence = (1 - write.sum()) * precedence + write
        last, read = read, np.zeros((readers, slots))
        for head in range(readers):
            back, at, on = softmax(modes[head])
            look = by_content(read_keys[head], 1 + softplus(read_strengths[head]), memory)
            for i in range(slots):
                backward = sum(links[j, i] * last[head, j] for j in range(slots))
                forward = sum(links[i, j] * last[head, j] for j in range(slots))
                read[head, i] = back * backward + at * look[i] + on * forward
        reads = np.array([sum(row[i] * memory[i] for i in range(slots)) for row in read])
        outputs.append(np.concatenate([hidden, reads.ravel()]) @ readout[0] + readout[1])
        writes.append(write[None])
        looks.append(read)
        states.append((memory, usage, links, precedence))
    return np.array(outputs), np.array(writes), np.array(looks), states
