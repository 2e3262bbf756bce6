"""A recurrent encoder–decoder with additive attention in plain torch, in `seq2seq_speed`."""

import torch
from torch import nn

from benchmarks.torch_training import trainer
from benchmarks.translation_task import GREEDY, SINGLE, SPECIAL, TRAIN, Task, decoding_works
from benchmarks.worker import serve

START, END = 2, 3
DROPOUT, CLIP_NORM = 0.1, 5.0


class Seq2Seq(nn.Module):
    """h_t, c_t = LSTM([E y_{t−1}; ã_{t−1}]), ã_t = tanh(W [attention(h_t); h_t]), logits E ã_t."""

    def __init__(self, vocabulary, units):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, units)
        nn.init.normal_(self.embedding.weight, std=units**-0.5)
        self.dropout = nn.Dropout(DROPOUT)
        self.encoder = nn.LSTM(units, units, bidirectional=True, batch_first=True)
        self.first = nn.ModuleList(nn.Linear(2 * units, units) for _ in range(2))
        self.cell = nn.LSTMCell(2 * units, units)
        self.query = nn.Linear(units, units, bias=False)
        self.key = nn.Linear(2 * units, units, bias=False)
        self.vector = nn.Linear(units, 1, bias=False)
        self.combine = nn.Linear(3 * units, units, bias=False)
        self.scale = units**0.5

    def embed(self, tokens):
        return self.dropout(self.scale * self.embedding(tokens))

    def read(self, source):
        """The memory, its keys, and the state before the first step."""
        value, (hidden, _) = self.encoder(self.embed(source))
        last = torch.cat(list(hidden), dim=-1)
        state = [torch.tanh(layer(last)) for layer in self.first]
        return value, self.key(value), (torch.zeros_like(state[0]), *state)

    def step(self, embedded, value, keys, state):
        """ã_t and the next state."""
        fed, hidden, cell = state
        hidden, cell = self.cell(torch.cat([embedded, fed], dim=-1), (hidden, cell))
        scores = self.vector(torch.tanh(self.query(hidden)[:, None] + keys))[..., 0]
        weights = torch.softmax(scores, dim=-1)
        context = torch.bmm(weights[:, None], value)[:, 0]
        output = torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))
        return output, (output, hidden, cell)

    def logits(self, hidden):
        return hidden @ self.embedding.weight.T

    def forward(self, source, tokens):
        value, keys, state = self.read(source)
        outputs = []
        for embedded in self.embed(tokens).unbind(1):
            output, state = self.step(embedded, value, keys, state)
            outputs.append(output)
        return self.logits(self.dropout(torch.stack(outputs, dim=1)))

    @torch.inference_mode()
    def greedy(self, source, length):
        """Tokens (B, length), fewer if all have ended."""
        value, keys, state = self.read(source)
        token = torch.full((len(source),), START)
        ended = torch.zeros(len(source), dtype=torch.bool)
        tokens = []
        for _ in range(length):
            output, state = self.step(self.embed(token), value, keys, state)
            token = self.logits(output).argmax(-1).masked_fill(ended, 0)
            tokens.append(token)
            ended |= token == END
            if bool(ended.all()):
                break
        return torch.stack(tokens, dim=1)


def works_of(task, kind, training=False):
    """The works; there is one kind of model."""
    torch.manual_seed(0)
    model = Seq2Seq(task.vocabulary, task.units)
    with torch.no_grad():
        model.embedding.weight[:SPECIAL] = 0
    if training:
        source, target = (torch.from_numpy(tokens).long() for tokens in task.pairs_of_tokens())
        start = torch.full((len(target), 1), START)
        tokens = torch.cat([start, target[:, :-1]], dim=1)

        def loss():
            logits = model(source, tokens)
            return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())

        return {TRAIN: trainer(model, loss, CLIP_NORM)}
    model.eval()
    source = torch.from_numpy(task.sources()).long()
    return decoding_works(
        task, lambda rows, _: model.greedy(source[:rows], task.target), (GREEDY, SINGLE)
    )


if __name__ == "__main__":
    serve(works_of, Task, torch.set_num_threads)
