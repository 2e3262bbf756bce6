"""The peer of `training_rate`: the same decoder as it is usually written in PyTorch.

An LSTM cell in a Python loop over the steps, additive attention over cached features, deep output,
label smoothing, the doubly stochastic penalty, Adam and a clip of the global gradient. It needs
torch alone, so that it can run in an environment of its own.
"""

import torch
from torch import nn

from benchmarks.torch_training import trainer
from benchmarks.worker import serve


class Decoder(nn.Module):
    """Soft attention over (B, S, D) features; see `keras_attn.models.CaptionDecoder`."""

    def __init__(self, sizes):
        super().__init__()
        features, hidden, embedding = (sizes[key] for key in ("features", "hidden", "embedding"))
        self.embedding = nn.Embedding(sizes["vocabulary"], embedding)
        self.projection = nn.Linear(sizes["input_features"], features)
        self.initial = nn.Linear(features, 2 * hidden)
        self.query = nn.Linear(hidden, sizes["attention"], bias=False)
        self.keys = nn.Linear(features, sizes["attention"], bias=False)
        self.score = nn.Linear(sizes["attention"], 1, bias=False)
        self.gate = nn.Linear(hidden, 1)
        self.cell = nn.LSTMCell(embedding + features, hidden)
        self.deep = nn.Linear(hidden + features, embedding)
        self.logits = nn.Linear(embedding, sizes["vocabulary"])
        self.dropout = nn.Dropout(sizes["dropout"])

    def forward(self, features, tokens):
        """Logits (B·C, T, V) and attention weights (B·C, T, S)."""
        features = self.dropout(torch.tanh(self.projection(features)))
        captions, length = tokens.shape[1:]
        hidden, cell = torch.tanh(self.initial(features.mean(1))).chunk(2, dim=1)
        hidden = hidden.repeat_interleave(captions, 0)
        cell = cell.repeat_interleave(captions, 0)
        keys = self.keys(features)[:, None]
        embedded = self.dropout(self.embedding(tokens.flatten(0, 1)))
        outputs, looked = [], []
        for step in range(length):
            query = self.query(hidden).unflatten(0, (-1, captions))[:, :, None]
            weights = torch.softmax(self.score(torch.tanh(query + keys))[..., 0], dim=-1)
            context = torch.sigmoid(self.gate(hidden)) * (weights @ features).flatten(0, 1)
            inputs = torch.cat([embedded[:, step], context], dim=1)
            hidden, cell = self.cell(inputs, (hidden, cell))
            outputs.append(torch.cat([hidden, context], dim=1))
            looked.append(weights.flatten(0, 1))
        deep = torch.tanh(embedded + self.deep(torch.stack(outputs, dim=1)))
        return self.logits(self.dropout(deep)), torch.stack(looked, dim=1)


def works_of(**sizes):
    """The one work: an epoch of steps on random captions of the batches' lengths."""
    torch.manual_seed(0)
    torch.set_num_threads(sizes["cores"])
    model = Decoder(sizes)
    criterion = nn.CrossEntropyLoss(label_smoothing=sizes["label_smoothing"])
    shape = sizes["pictures"], sizes["locations"], sizes["input_features"]
    features = torch.rand(shape, dtype=torch.float16)

    def loss(length):
        tokens = torch.randint(
            4, sizes["vocabulary"], (sizes["pictures"], sizes["captions"], length + 1)
        )
        logits, weights = model(features.float(), tokens[:, :, :-1])
        loss = criterion(logits.flatten(0, 1), tokens[:, :, 1:].flatten())
        return loss + ((1 - weights.sum(1)) ** 2).mean()

    step = trainer(model, loss, sizes["clip_norm"], 1e-3)
    return {"epoch": lambda: [step(length) for length in sizes["lengths"]][-1]}


if __name__ == "__main__":
    serve(works_of)
