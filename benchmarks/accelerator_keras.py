"""keras-attn in `accelerator`, on JAX or PyTorch, without TensorFlow."""

import json
import sys

import keras
import numpy as np
from keras import ops

from benchmarks.accelerator import FLOAT32, Measured, Task, seconds_of, serve
from keras_attn.contracts import IMAGE, LOGITS, SOURCE, START_ID, TOKENS
from keras_attn.decoding import Beam, Greedy, MinimumLength, decode
from keras_attn.models import (
    Captioner,
    ImageClassifier,
    Transformer,
    TransformerCaptionDecoder,
    TransformerConfig,
    VisionTransformer,
    VisionTransformerConfig,
)
from keras_attn.training import TokenCrossEntropy

LABELS = 10


class Works:
    """The works of a task, each a model, what it is given, and its loss.

    Args:
        task: `Task`.
    """

    def __init__(self, task):
        self.task = task

    def translator(self, widths):
        """Trains a Transformer."""
        source, target = self.task.pairs_of_tokens()
        batch = {SOURCE: source, TOKENS: shifted(target)}
        model = Transformer(config_of(self.task.vocabulary, widths))
        return model, batch, lambda outputs: TokenCrossEntropy()(target, outputs[LOGITS])

    def classifier(self):
        """Trains a Vision Transformer."""
        images = self.task.images(self.task.pictures)
        labels = np.arange(len(images)) % LABELS
        entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model = ImageClassifier(self._encoder(), LABELS)
        return model, images, lambda logits: entropy(labels, logits)

    def captioner(self):
        """Trains a Vision Transformer with a decoder."""
        images, captions = self.task.images(self.task.captioned), self.task.captions()
        places = {"positions": "learned", "max_sequence_length": self.task.caption}
        decoder = TransformerCaptionDecoder(
            config_of(
                self.task.vocabulary,
                self.task.captioner,
                normalize_first=True,
                tied="decoder",
                **places,
            )
        )
        model = Captioner(self._encoder(), decoder, images.shape[1:3], 0.0)
        batch = {IMAGE: images, TOKENS: shifted(captions)}
        return model, batch, lambda outputs: TokenCrossEntropy()(captions, outputs[LOGITS])

    def answers(self, beams, length):
        """A Transformer and the function of sources that decodes."""
        model = Transformer(config_of(self.task.vocabulary, self.task.base))
        strategy = Greedy() if beams == 1 else Beam(beams)

        def search(source):
            limits = [MinimumLength(length)]
            return decode(model, source, strategy, length, False, limits).tokens

        return model, search

    def _encoder(self):
        widths = self.task.vision
        config = VisionTransformerConfig(
            (self.task.size, self.task.size),
            self.task.patch,
            num_layers=widths.layers,
            hidden_dim=widths.units,
            intermediate_dim=widths.hidden,
            num_heads=widths.heads,
        )
        return VisionTransformer(config)


def config_of(vocabulary, widths, **more):
    """`TransformerConfig` of some widths."""
    each = widths.units // widths.heads
    return TransformerConfig(
        vocabulary,
        num_layers=widths.layers,
        hidden_dim=widths.units,
        intermediate_dim=widths.hidden,
        num_heads=widths.heads,
        key_dim=each,
        value_dim=each,
        **more,
    )


def shifted(target):
    """The decoder's inputs for some targets."""
    return np.concatenate([np.full((len(target), 1), START_ID, "int32"), target[:, :-1]], axis=1)


class OnJax:
    """Runs works on JAX: one compiled program for each."""

    def device(self):
        import jax

        return jax.devices()[0].device_kind

    def product(self, matrix, budget):
        import jax

        multiply = jax.jit(ops.matmul)
        return Measured(seconds_of(*self._runs(lambda: multiply(matrix, matrix)), budget), None)

    def training(self, model, batch, loss, budget):
        import jax

        optimizer = keras.optimizers.Adam(1e-4)
        optimizer.build(model.trainable_variables)

        def losses(trainable, others, batch):
            outputs, others = model.stateless_call(trainable, others, batch, training=True)
            return loss(outputs), others

        def step(state, batch):
            trainable, others, slots = state
            slopes = jax.value_and_grad(losses, has_aux=True)
            (value, others), gradients = slopes(trainable, others, batch)
            trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
            return (trainable, others, slots), value

        parts = model.trainable_variables, model.non_trainable_variables, optimizer.variables
        state = tuple([variable.value for variable in part] for part in parts)
        program = jax.jit(step, donate_argnums=0).lower(state, batch).compile()
        held = [state]

        def run():
            held[0], value = program(held[0], batch)
            return value

        return Measured(seconds_of(*self._runs(run), budget), needed(program))

    def search(self, model, search, source, budget):
        import jax

        def stateless(values, source):
            with keras.StatelessScope(list(zip(model.variables, values))):
                return search(source)

        values = [variable.value for variable in model.variables]
        program = jax.jit(stateless).lower(values, source).compile()
        runs = self._runs(lambda: program(values, source))
        return Measured(seconds_of(*runs, budget), needed(program))

    def _runs(self, run):
        """A function that starts a run, and one that waits for the last."""
        last = []

        def start():
            last[:] = [run()]

        return start, lambda: last[0].block_until_ready()


def needed(program):
    """MiB of a compiled JAX program's arguments, results and everything between."""
    sizes = program.memory_analysis()
    total = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    return (total - sizes.alias_size_in_bytes) / 2**20


class OnTorch:
    """Runs works on PyTorch, operation by operation."""

    def device(self):
        from benchmarks.accelerator_torch import device_name

        return device_name()

    def product(self, matrix, budget):
        return self._measured(lambda: ops.matmul(matrix, matrix), budget)

    def training(self, model, batch, loss, budget):
        import torch

        optimizer = keras.optimizers.Adam(1e-4)
        optimizer.build(model.trainable_variables)

        def run():
            model.zero_grad()
            loss(model(batch, training=True)).backward()
            with torch.no_grad():
                variables = model.trainable_variables
                optimizer.apply([variable.value.grad for variable in variables], variables)

        return self._measured(run, budget)

    def search(self, model, search, source, budget):
        import torch

        def run():
            with torch.no_grad():
                search(source)

        return self._measured(run, budget)

    def _measured(self, run, budget):
        from benchmarks.accelerator_torch import measured

        return measured(run, budget)


def main():
    task = Task.of(json.loads(sys.argv[1]))
    works = Works(task)
    runner = {"jax": OnJax, "torch": OnTorch}[keras.backend.backend()]()

    def measure(precision, kind, budget):
        policy = precision if precision == FLOAT32 else f"mixed_{precision}"
        keras.utils.clear_session()
        keras.config.set_dtype_policy(policy)
        keras.utils.set_random_seed(0)
        name, *sizes = kind
        if name == "product":
            shape = task.square, task.square
            return runner.product(ops.cast(keras.random.normal(shape), precision), budget)
        if name == "answers":
            model, search = works.answers(*sizes)
            model.build()
            return runner.search(model, search, ops.convert_to_tensor(task.sources()), budget)
        model, batch, loss = getattr(works, name)(*sizes)
        batch = keras.tree.map_structure(ops.convert_to_tensor, batch)
        model.build(None if isinstance(batch, dict) else batch.shape)
        return runner.training(model, batch, loss, budget)

    serve(measure, runner.device())


if __name__ == "__main__":
    main()
