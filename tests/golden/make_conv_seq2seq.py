"""Writes conv_seq2seq.npz: small convolutional models in torch, their outputs and gradients.

    PYTHON tests/golden/make_conv_seq2seq.py

PYTHON is one with torch 2.13; takes a few seconds. The model is written here from Gehring et al.
2017 with torch's own convolutions, gated linear units and weight normalization. "untied" has
learned positions and residual projections, "tied" sinusoids and one table of embeddings. Names are
those of our weights, shapes are torch's. "count/…" are the parameters of the published models for
a vocabulary of 40,000, from torch's modules without storage.
"""

import math
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

GOLDEN = Path(__file__).with_name("conv_seq2seq.npz")
HALF = math.sqrt(0.5)
UNTIED = {
    "vocabularies": (13, 17),
    "encoder": [(7, 3), (7, 5), (11, 1)],
    "decoder": [(7, 2), (3, 4), (3, 1)],
    "embedding": 5,
    "output": 3,
    "positions": 19,
    "tied": False,
}
TIED = {
    **UNTIED,
    "vocabularies": (13, 13),
    "encoder": [(7, 5), (3, 3)],
    "decoder": [(3, 3), (3, 3)],
    "output": 5,
    "positions": None,
    "tied": True,
}
DE = [(512, 3)] * 10 + [(768, 3)] * 3 + [(2048, 1)] * 2
FR = [(512, 3)] * 5 + [(768, 3)] * 4 + [(1024, 3)] * 3 + [(2048, 1), (4096, 1)]
LATER_DE = [(512, 3)] * 9 + [(1024, 3)] * 4 + [(2048, 1)] * 2
LATER_FR = [(512, 3), *FR]
PUBLISHED = {
    "wmt16_en_ro": ([(512, 3)] * 20, [(512, 3)] * 20, 512, 512),
    "wmt14_en_de": (DE, DE, 512, 512),
    "wmt14_en_fr": (FR, FR, 512, 512),
    "fairseq_wmt14_en_de": (LATER_DE, LATER_DE, 768, 512),
    "fairseq_wmt14_en_fr": (LATER_FR, LATER_FR, 768, 512),
    "iwslt14_de_en": ([(256, 3)] * 4, [(256, 3)] * 3, 256, 256),
}


class Scaled(torch.autograd.Function):
    """The identity, whose gradient is scaled."""

    @staticmethod
    def forward(context, inputs, scale):
        context.scale = scale
        return inputs.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * context.scale, None


class Stack(nn.Module):
    """Convolutions between two projections."""

    def __init__(self, layers, inputs, outputs):
        super().__init__()
        before = layers[0][0]
        self.layers = len(layers)
        self.enter = weight_norm(nn.Linear(inputs, before))
        for place, (channels, width) in enumerate(layers):
            if before != channels:
                setattr(self, f"projection_{place}", weight_norm(nn.Linear(before, channels)))
            convolution = weight_norm(nn.Conv1d(before, 2 * channels, width))
            setattr(self, f"convolution_{place}", convolution)
            before = channels
        self.leave = weight_norm(nn.Linear(before, outputs))

    def residual(self, place, hidden):
        projection = getattr(self, f"projection_{place}", None)
        return hidden if projection is None else projection(hidden)

    def convolve(self, place, hidden, left, right):
        convolution = getattr(self, f"convolution_{place}")
        padded = functional.pad(hidden.transpose(1, 2), (left, right))
        return functional.glu(convolution(padded), dim=1).transpose(1, 2)

    def width(self, place):
        return getattr(self, f"convolution_{place}").kernel_size[0]


def sinusoids(length, units):
    table = torch.zeros(length, units, dtype=torch.float64)
    for place in range(length):
        for column in range(units):
            angle = place / 10000 ** (2 * (column // 2) / units)
            table[place, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


class Model(nn.Module):
    def __init__(self, vocabularies, encoder, decoder, embedding, output, positions, tied):
        super().__init__()
        self.encoder = Stack(encoder, embedding, embedding)
        self.decoder = Stack(decoder, embedding, output)
        self.tied, self.units = tied, embedding
        self.decoder.embedding = nn.Embedding(vocabularies[1], embedding)
        self.source_embedding = None if tied else nn.Embedding(vocabularies[0], embedding)
        self.learned = positions is not None
        if self.learned:
            self.encoder.positions = nn.Embedding(positions, embedding)
            self.decoder.positions = nn.Embedding(positions, embedding)
        for place, (channels, _) in enumerate(decoder):
            attention = nn.Module()
            attention.query_projection = weight_norm(nn.Linear(channels, embedding))
            attention.output_projection = weight_norm(nn.Linear(embedding, channels))
            setattr(self.decoder, f"attention_{place}", attention)
        if tied:
            self.decoder.output_bias = nn.Parameter(torch.zeros(vocabularies[1]))
        else:
            self.decoder.logits = weight_norm(nn.Linear(output, vocabularies[1]))

    def positioned(self, stack, tokens, embedding):
        length = tokens.shape[1]
        if self.learned:
            return embedding(tokens) + stack.positions(torch.arange(length))
        return embedding(tokens) + 0.1 * sinusoids(length, self.units)

    def encode(self, source):
        """Keys z and values of a source, one row at a time and without its padding."""
        stack = self.encoder
        embedded = self.positioned(stack, source, self.source_embedding or self.decoder.embedding)
        hidden = stack.enter(embedded)
        for place in range(stack.layers):
            side = stack.width(place) // 2
            residual = stack.residual(place, hidden)
            hidden = (stack.convolve(place, hidden, side, side) + residual) * HALF
        keys = Scaled.apply(stack.leave(hidden), 1 / (2 * self.decoder.layers))
        return keys, (keys + embedded) * HALF

    def forward(self, source, tokens):
        """Logits (1, T, V) and a list of weights (1, T, S) by layer."""
        keys, values = self.encode(source)
        stack, weights, size = self.decoder, [], source.shape[1]
        embedded = self.positioned(stack, tokens, stack.embedding)
        hidden = stack.enter(embedded)
        for place in range(stack.layers):
            attention = getattr(stack, f"attention_{place}")
            residual = stack.residual(place, hidden)
            hidden = stack.convolve(place, hidden, stack.width(place) - 1, 0)
            query = (attention.query_projection(hidden) + embedded) * HALF
            weights.append(torch.softmax(query @ keys.transpose(1, 2), dim=-1))
            context = weights[-1] @ values * (size * math.sqrt(1 / size))
            hidden = (attention.output_projection(context) + hidden) * HALF
            hidden = (hidden + residual) * HALF
        hidden = stack.leave(hidden)
        if self.tied:
            return hidden @ stack.embedding.weight.T + stack.output_bias, weights
        return stack.logits(hidden), weights


def path(name):
    """The name of one of our weights."""
    kinds = {
        ".parametrizations.weight.original0": "/gain",
        ".parametrizations.weight.original1": "/kernel",
        "embedding.weight": "embedding/embeddings",
        "positions.weight": "positions/table",
    }
    for theirs, ours in kinds.items():
        name = name.replace(theirs, ours)
    return name.replace(".", "/")


def example(name, sizes):
    """Arrays of a model with random weights."""
    model = Model(**sizes).double()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.7)
    random = np.random.default_rng(3)
    source = random.integers(1, sizes["vocabularies"][0], (3, 11))
    source[1, 4:] = source[2, 1:] = 0
    tokens = random.integers(1, sizes["vocabularies"][1], (3, 5))
    lengths = (source != 0).sum(1)
    weights = np.zeros((3, model.decoder.layers, 5, 11))
    logits = []
    for row, length in enumerate(lengths):
        pair = torch.tensor(source[row : row + 1, :length]), torch.tensor(tokens[row : row + 1])
        answer, attended = model(*pair)
        logits.append(answer[0])
        weights[row, ..., :length] = torch.cat(attended).detach().numpy()
    torch.stack(logits).sin().sum().backward()
    arrays = {"source": source, "tokens": tokens, "weights": weights}
    arrays["logits"] = torch.stack(logits).detach().numpy()
    for weight_name, weight in model.named_parameters():
        arrays[f"weight/{path(weight_name)}"] = weight.detach().numpy()
        arrays[f"gradient/{path(weight_name)}"] = weight.grad.numpy()
    return {f"{name}/{key}": np.asarray(array) for key, array in arrays.items()}


def main():
    torch.manual_seed(3)
    arrays = {**example("untied", UNTIED), **example("tied", TIED)}
    for name, (encoder, decoder, embedding, output) in PUBLISHED.items():
        with torch.device("meta"):
            model = Model((40000, 40000), encoder, decoder, embedding, output, 1024, False)
        arrays[f"count/{name}"] = np.array(sum(weight.numel() for weight in model.parameters()))
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    main()
