"""A training step in plain torch."""

import torch


def trainer(model, loss_of, clip_norm=None, learning_rate=1e-4):
    """A function that does one training step with Adam and returns the loss.

    Args:
        model: `torch.nn.Module`.
        loss_of: function to a scalar tensor; it gets the arguments of the step.
        clip_norm: largest norm of all gradients together, or None.
        learning_rate: float.
    """
    optimizer = torch.optim.Adam(model.parameters(), learning_rate)

    def step(*arguments):
        model.train()
        loss = loss_of(*arguments)
        optimizer.zero_grad()
        loss.backward()
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()
        return loss.item()

    return step
