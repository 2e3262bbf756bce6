"""The NTM and the DNC in plain torch, from the papers, in `memory_speed`."""

import torch
from torch import nn
from torch.nn import functional

from benchmarks.memory_speed import NTM, Task
from benchmarks.torch_training import trainer
from benchmarks.worker import serve

CLIP_NORM, EPSILON, FIRST_MEMORY = 10.0, 1e-6, 1e-6


def content(key, strength, memory):
    """Weights (B, N) by content, of key (B, W) and strength (B, 1)."""
    similarity = functional.cosine_similarity(key[:, None], memory, dim=-1, eps=EPSILON)
    return torch.softmax(strength * similarity, dim=-1)


class Memory(nn.Module):
    """An LSTM controller, its interface and the output; a subclass addresses the memory."""

    def __init__(self, task, interface):
        super().__init__()
        self.slots, self.width, self.parts = task.slots, task.width, list(interface)
        self.controller = nn.LSTMCell(task.bits + 1 + task.width, task.units)
        self.interface = nn.Linear(task.units, sum(interface))
        self.output = nn.Linear(task.units + task.width, task.bits)

    def forward(self, inputs):
        state, hidden = self.first(inputs), None
        read, outputs = inputs.new_zeros(len(inputs), self.width), []
        for step in inputs.unbind(1):
            hidden = self.controller(torch.cat([step, read], dim=-1), hidden)
            parts = self.interface(hidden[0]).split(self.parts, dim=-1)
            read, state = self.address(parts, state)
            outputs.append(self.output(torch.cat([hidden[0], read], dim=-1)))
        return torch.stack(outputs, dim=1)


class TuringMachine(Memory):
    """Graves et al. 2014: a head that writes and one that reads, with shifts of one slot."""

    def __init__(self, task):
        head = (task.width, 1, 1, 3, 1)
        super().__init__(task, (*head, *head, task.width, task.width))
        self.first_scores = nn.Parameter(torch.randn(2, task.slots))

    def first(self, inputs):
        weights = torch.softmax(self.first_scores, dim=-1)[:, None]
        memory = inputs.new_full((len(inputs), self.slots, self.width), FIRST_MEMORY)
        return memory, *weights.expand(2, len(inputs), self.slots)

    def head(self, parts, memory, previous):
        """Weights (B, N)."""
        key, strength, gate, shift, exponent = parts
        by_content = content(torch.tanh(key), functional.softplus(strength), memory)
        gate, shift = torch.sigmoid(gate), torch.softmax(shift, dim=-1)
        mixed = gate * by_content + (1 - gate) * previous
        moved = sum(shift[:, i : i + 1] * mixed.roll(i - 1, dims=1) for i in range(3))
        sharp = (moved + 1e-30) ** (1 + functional.softplus(exponent))
        return sharp / sharp.sum(dim=-1, keepdim=True)

    def address(self, parts, state):
        memory, write, read = state
        write = self.head(parts[:5], memory, write)
        erased, added = torch.sigmoid(parts[10]), torch.tanh(parts[11])
        memory = memory * (1 - write[:, :, None] * erased[:, None])
        memory = memory + write[:, :, None] * added[:, None]
        read = self.head(parts[5:10], memory, read)
        return torch.bmm(read[:, None], memory)[:, 0], (memory, write, read)


class NeuralComputer(Memory):
    """Graves et al. 2016: one head that writes and one that reads."""

    def __init__(self, task):
        super().__init__(task, (*(task.width, 1) * 2, task.width, task.width, 1, 1, 1, 3))
        self.register_buffer("off_diagonal", 1 - torch.eye(task.slots))

    def first(self, inputs):
        def zeros(*shape):
            return inputs.new_zeros(len(inputs), *shape)

        slots = self.slots
        return (
            zeros(slots, self.width),
            zeros(slots),
            zeros(slots, slots),
            *(zeros(slots) for _ in range(3)),
        )

    def allocation(self, usage):
        """Weights (B, N) of free slots."""
        usage = EPSILON + (1 - EPSILON) * usage
        ordered, order = usage.sort(dim=-1)
        before = torch.cumprod(torch.cat([torch.ones_like(ordered[:, :1]), ordered], -1), -1)
        return torch.zeros_like(usage).scatter(1, order, (1 - ordered) * before[:, :-1])

    def address(self, parts, state):
        memory, usage, links, precedence, write, read = state
        key, strength, read_key, read_strength, erased, added, free, kind, gate, modes = parts
        usage = (usage + write - usage * write) * (1 - torch.sigmoid(free) * read)
        strength, read_strength = (1 + functional.softplus(x) for x in (strength, read_strength))
        kind = torch.sigmoid(kind)
        address = kind * self.allocation(usage) + (1 - kind) * content(key, strength, memory)
        write = torch.sigmoid(gate) * address
        memory = memory * (1 - write[:, :, None] * torch.sigmoid(erased)[:, None])
        memory = memory + write[:, :, None] * added[:, None]
        links = (1 - write[:, :, None] - write[:, None]) * links
        links = (links + write[:, :, None] * precedence[:, None]) * self.off_diagonal
        precedence = (1 - write.sum(dim=-1, keepdim=True)) * precedence + write
        forward = torch.bmm(links, read[:, :, None])[..., 0]
        backward = torch.bmm(read[:, None], links)[:, 0]
        modes = torch.softmax(modes, dim=-1)
        by_content = content(read_key, read_strength, memory)
        read = modes[:, :1] * backward + modes[:, 1:2] * by_content + modes[:, 2:] * forward
        reads = torch.bmm(read[:, None], memory)[:, 0]
        return reads, (memory, usage, links, precedence, write, read)


def works_of(task, work, cell, batch):
    """The one work of a phase, a training step."""
    torch.manual_seed(0)
    model = (TuringMachine if cell == NTM else NeuralComputer)(task)
    inputs, targets, weights = map(torch.from_numpy, task.arrays(batch))

    def loss():
        costs = functional.binary_cross_entropy_with_logits(
            model(inputs), targets, reduction="none"
        )
        return (costs.mean(dim=-1) * weights).sum() / weights.sum()

    return {work: trainer(model, loss, CLIP_NORM)}


if __name__ == "__main__":
    serve(works_of, Task, torch.set_num_threads)
