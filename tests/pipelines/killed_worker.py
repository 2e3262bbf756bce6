"""One worker of a training by the command line, which is killed, if told so, at a step.

Run as `python -m tests.pipelines.killed_worker STEP WEIGHTS ARGUMENTS`: STEP counts the steps of
this process (0: train to the end and write the final weights to WEIGHTS), ARGUMENTS are those of
`keras-attn`.
"""

import sys

from keras_attn_pipelines import console
from keras_attn_pipelines.cli import main


def killed(step, weights, arguments):
    """The command line, whose training is killed."""
    from keras_attn_pipelines.runs import train as training
    from tests.pipelines.interrupted import Kill

    kill, callbacks = Kill(step, weights), training.Fitting._callbacks
    training.Fitting._callbacks = lambda *given: [*callbacks(*given), kill]
    return main(arguments)


if __name__ == "__main__":
    console.run(lambda: killed(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
