"""The tensors of encoder-decoder checkpoints, and where they go in a `Transformer`."""

import math

import numpy as np
from keras import ops

from keras_attn.contracts import START_ID
from keras_attn.models.transformer.transformer_config import ALL, NOTHING
from keras_attn.ops.positions import LONGEST, sinusoids
from keras_attn.pretrained.tensors import PlannedTensor, scaled
from keras_attn.pretrained.translator_sizes import BART, MBART
from keras_attn.pretrained.translator_vocabulary import SILENT

SHARED = "model.shared.weight"
TABLES = {
    "source": "model.encoder.embed_tokens.weight",
    "target": "model.decoder.embed_tokens.weight",
}
HEAD, BIAS = "lm_head.weight", "final_logits_bias"
_T5_TABLES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
READ, WRITTEN, UNITS, INNER = "read", "written", "units", "inner"
"""What a tensor is: a kernel that reads or writes the model's units, a vector of those, or a vector
of units inside a sublayer."""
_BART_ATTENTIONS = {"self": "self_attn", "cross": "encoder_attn"}
_PARTS = {"query": "q", "key": "k", "value": "v"}


def with_whole_tables(checkpoint, sizes):
    """The tensors with each table of embeddings under one name, and without static positions.

    Checkpoints of earlier versions of transformers repeat tied tables and hold sinusoids.

    Args:
        checkpoint: `Checkpoint`.
        sizes: `Sizes`.

    Returns:
        dict of name -> array.

    Raises:
        ValueError: repeated tables that differ, or positions that are no sinusoids.
    """
    tensors = dict(checkpoint.tensors)
    tied, kind = sizes.arguments["tied"], checkpoint.settings["model_type"]
    if kind not in BART:
        unify(checkpoint, tensors, "shared.weight", _T5_TABLES)
        return tensors
    if tied == ALL:
        unify(checkpoint, tensors, SHARED, (*TABLES.values(), HEAD))
    else:
        if SHARED in tensors:
            shared = tensors.pop(SHARED)
            for name in TABLES.values():
                tensors.setdefault(name, shared)
        if tied != NOTHING:
            unify(checkpoint, tensors, TABLES["target"], (HEAD,))
    table = tensors.get(SHARED if tied == ALL else TABLES["target"])
    if table is not None:  # A missing one is named with the others.
        tensors.setdefault(BIAS, np.zeros((1, *table.shape[:1]), "float32"))
    if kind != MBART:
        _drop_sinusoids(checkpoint, tensors, sizes)
    return tensors


def unify(checkpoint, tensors, name, others):
    """Leaves one of several equal tables, under `name`."""
    present = {each: tensors.pop(each) for each in (name, *others) if each in tensors}
    first = next(iter(present.values()), None)
    for each, array in present.items():
        if array.shape != first.shape or not np.array_equal(array, first):
            raise checkpoint.refusal(
                f"{each}, which is tied, but differs from {next(iter(present))}"
            )
    if first is not None:
        tensors[name] = first


def _drop_sinusoids(checkpoint, tensors, sizes):
    """Removes tables of static positions, which are computed here."""
    where = sizes.arguments.get("position_arguments", {})
    width = sizes.arguments["hidden_dim"]
    for name in [name for name in tensors if ".embed_positions.weight" in name]:
        table = tensors.pop(name).astype("float64")
        if table.ndim != 2 or table.shape[1] != width:
            raise checkpoint.refusal(f"{name} of shape {table.shape}")
        offset = where.get("offset", 0)
        known = ops.convert_to_numpy(
            sinusoids(np.arange(len(table)), width, where.get("base", LONGEST))
        )
        # Rows before the first position are never read.
        if not np.allclose(table[offset:, alternating(width)], known[offset:], atol=1e-3):
            raise checkpoint.refusal(f"{name}, which are no sinusoids")


def alternating(width):
    """Places, in halves of sines and cosines, of units that alternate.

    Example:
        >>> alternating(5).tolist()
        [0, 3, 1, 4, 2]
    """
    places = np.arange(width)
    return np.where(places % 2, (width + 1) // 2 + places // 2, places // 2)


def bart_block(is_decoder):
    """The tensors of a block: their names, ours, and what they are.

    Args:
        is_decoder: bool. Whether the block attends to the encoder, too.
    """
    attentions = dict(list(_BART_ATTENTIONS.items())[: 2 if is_decoder else 1])
    for kind, name in attentions.items():
        for role, letter in _PARTS.items():
            yield f"{name}.{letter}_proj.weight", f"{kind}/{role}_kernel", READ
            yield f"{name}.{letter}_proj.bias", f"{kind}/{role}_bias", INNER
        yield f"{name}.out_proj.weight", f"{kind}/output_kernel", WRITTEN
        yield f"{name}.out_proj.bias", f"{kind}/output_bias", UNITS
        yield f"{name}_layer_norm.weight", f"{kind}/norm/scale", UNITS
        yield f"{name}_layer_norm.bias", f"{kind}/norm/offset", UNITS
    yield "fc1.weight", "feed/hidden_kernel", READ
    yield "fc1.bias", "feed/hidden_bias", INNER
    yield "fc2.weight", "feed/output_kernel", WRITTEN
    yield "fc2.bias", "feed/output_bias", UNITS
    yield "final_layer_norm.weight", "feed/norm/scale", UNITS
    yield "final_layer_norm.bias", "feed/norm/offset", UNITS


class Plan:
    """The `PlannedTensor`s of a checkpoint.

    Args:
        kind: model_type.
        sizes: `Sizes`.
        config: `TransformerConfig`.
        vocabularies: dict of "source" and "target" to `Vocabulary`.
        is_silent: bool. Whether the start of the decoder's input, which is padding in the
            checkpoint, has no part in the probabilities, as padding that is never produced has none
            where they are normalized anew.
    """

    def __init__(self, kind, sizes, config, vocabularies, is_silent):
        self.kind, self.sizes, self.config, self.vocabularies = kind, sizes, config, vocabularies
        width = config.hidden_dim
        self.units = alternating(width) if sizes.halves else np.arange(width)
        self.silent = [vocabularies["target"].repeated] + [START_ID] * is_silent

    def tensors(self):
        """All of them."""
        yield from self._bart() if self.kind in BART else self._t5()

    def _table(self, name, *parts, side="target", factor=None):
        """A table of embeddings (V, D)."""
        rows, units = self.vocabularies[side].rows, self.units
        if factor is None:
            factor = 1.0 if self.sizes.scaled else 1 / math.sqrt(self.config.hidden_dim)

        def converted(array):
            return dict.fromkeys(parts, array[rows][:, units] * factor)

        shape = (len(self.vocabularies[side].names), self.config.hidden_dim)
        return PlannedTensor(name, shape, converted)

    def _bias_of(self, array):
        """Biases of the logits, of the checkpoint's ids, with silent ids."""
        bias = array.reshape(-1)[self.vocabularies["target"].rows]
        bias[self.silent] = SILENT
        return {"output_bias": bias}

    def _read(self, name, part, outputs):
        """A kernel of torch's Linear that reads the model's units."""
        shape = (outputs, self.config.hidden_dim)
        return PlannedTensor(name, shape, lambda array: {part: array.T[self.units]})

    def _written(self, name, part, inputs):
        """A kernel of torch's Linear that writes the model's units."""
        shape = (self.config.hidden_dim, inputs)
        return PlannedTensor(name, shape, lambda array: {part: array.T[:, self.units]})

    def _vector(self, name, part, factor=1.0):
        """A vector of the model's units."""
        shape = (self.config.hidden_dim,)
        return PlannedTensor(name, shape, lambda array: {part: array[self.units] * factor})

    def _inner(self, name, part, size):
        """A vector of other units, which keep their order."""
        return PlannedTensor(name, (size,), lambda array: {part: array})

    def _norm(self, name, part, factor=1.0):
        yield self._vector(f"{name}.weight", f"{part}/scale", factor)
        yield self._vector(f"{name}.bias", f"{part}/offset", factor)

    @property
    def _last_factor(self):
        """Factor of the decoder's last normalization, where a tied table holds 1/√D."""
        is_folded = not self.sizes.scaled and self.config.tied != NOTHING
        return math.sqrt(self.config.hidden_dim) if is_folded else 1.0

    def _bart(self):
        config, tied = self.config, self.config.tied
        if tied == ALL:
            yield self._table(SHARED, "table")
        else:
            yield self._table(TABLES["source"], "source_table", side="source")
            yield self._table(TABLES["target"], "table")
            if tied == NOTHING:
                yield self._table(HEAD, "output_table", factor=1.0)
        yield PlannedTensor(BIAS, (1, len(self.vocabularies["target"].names)), self._bias_of)
        for stack, layers in (("encoder", config.num_layers), ("decoder", config.decoder_layers)):
            start, is_decoder = f"model.{stack}", stack == "decoder"
            if self.kind == MBART:
                shape = (config.max_sequence_length + 2, config.hidden_dim)
                part = f"{stack}/positions"
                yield PlannedTensor(
                    f"{start}.embed_positions.weight",
                    shape,
                    lambda array, part=part: {part: array[2:]},
                )
                yield from self._norm(f"{start}.layernorm_embedding", f"{stack}/first_norm")
            if config.normalize_first:
                factor = self._last_factor if is_decoder else 1.0
                yield from self._norm(f"{start}.layer_norm", f"{stack}/last_norm", factor)
            for n in range(layers):
                last = is_decoder and n == layers - 1 and not config.normalize_first
                factor = self._last_factor if last else 1.0
                yield from self._bart_block(f"{start}.layers.{n}", f"{stack}/block_{n}", factor)

    def _bart_block(self, start, part, last_factor):
        inner, hidden = self.config.num_heads * self.config.key_dim, self.config.intermediate_dim
        for name, own, role in bart_block("decoder" in part):
            name, units = f"{start}.{name}", hidden if own.startswith("feed") else inner
            factor = last_factor if own.startswith("feed/norm") else 1.0
            own = f"{part}/{own}"
            if role == READ:
                yield self._read(name, own, units)
            elif role == WRITTEN:
                yield self._written(name, own, units)
            elif role == UNITS:
                yield self._vector(name, own, factor)
            else:
                yield self._inner(name, own, units)

    def _t5(self):
        config = self.config
        unit = 1 / math.sqrt(config.hidden_dim)
        bias = np.zeros(len(self.vocabularies["target"].names), "float32")

        def tables(array):
            parts = self._table("", "table", "source_table").parts(array)
            return {**parts, **self._bias_of(bias)}

        shape = (len(self.vocabularies["target"].names), config.hidden_dim)
        yield PlannedTensor("shared.weight", shape, tables)
        folded = 1.0
        if config.tied == NOTHING:
            factor = unit if self.sizes.scaled_output else 1.0
            yield self._table(HEAD, "output_table", factor=factor)
        elif not self.sizes.scaled_output:
            folded = math.sqrt(config.hidden_dim)
        for stack, layers in (("encoder", config.num_layers), ("decoder", config.decoder_layers)):
            name = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
            buckets = (config.position_arguments["num_buckets"], config.num_heads)
            part = f"{stack}/relative"
            yield PlannedTensor(name, buckets, lambda array, part=part: {part: array})
            factor = folded if stack == "decoder" else 1.0
            yield self._vector(
                f"{stack}.final_layer_norm.weight", f"{stack}/last_norm/scale", factor
            )
            for n in range(layers):
                yield from self._t5_block(f"{stack}.block.{n}", f"{stack}/block_{n}")

    def _t5_block(self, start, part):
        config = self.config
        inner, hidden = config.num_heads * config.key_dim, config.intermediate_dim
        attentions = [("self", "SelfAttention"), ("cross", "EncDecAttention")]
        attentions = attentions[: 2 if "decoder" in part else 1]
        for place, (kind, name) in enumerate(attentions):
            layer = f"{start}.layer.{place}"
            for role, letter in _PARTS.items():
                planned = self._read(
                    f"{layer}.{name}.{letter}.weight", f"{part}/{kind}/{role}_kernel", inner
                )
                # T5 does not divide scores by √d_k.
                yield scaled(planned, math.sqrt(config.key_dim)) if role == "query" else planned
            yield self._written(f"{layer}.{name}.o.weight", f"{part}/{kind}/output_kernel", inner)
            yield self._vector(f"{layer}.layer_norm.weight", f"{part}/{kind}/norm/scale")
        layer = f"{start}.layer.{len(attentions)}"
        inputs = {"wi_0": "gate", "wi_1": "hidden"} if config.gated else {"wi": "hidden"}
        for name, role in inputs.items():
            yield self._read(
                f"{layer}.DenseReluDense.{name}.weight", f"{part}/feed/{role}_kernel", hidden
            )
        yield self._written(
            f"{layer}.DenseReluDense.wo.weight", f"{part}/feed/output_kernel", hidden
        )
        yield self._vector(f"{layer}.layer_norm.weight", f"{part}/feed/norm/scale")


def weights_of(model):
    """name -> variable of all weights of a `Transformer`, under the names of `Plan`."""
    named = {**decoder_weights(model.decoder), **_stack_weights(model.encoder)}
    if model.source_embedding is not None:
        named["source_table"] = model.source_embedding.table
    return {name: variable for name, variable in named.items() if variable is not None}


def decoder_weights(decoder):
    """name -> variable of the weights of a `TransformerDecoder`; None for those it lacks."""
    named = {"table": decoder.embedding.table, "output_bias": decoder.output_bias}
    if decoder.output_embedding is not None:
        named["output_table"] = decoder.output_embedding.table
    if decoder.output_transform is not None:
        named["decoder/output_transform/kernel"] = decoder.output_transform.kernel
        named["decoder/output_transform/bias"] = decoder.output_transform.bias
    return {**named, **_stack_weights(decoder)}


def _stack_weights(stack):
    named = {}
    for part in ("first_norm", "last_norm", "output_norm"):
        named |= _norm_weights(f"{stack.name}/{part}", getattr(stack, part, None))
    for part, layer in (("positions", stack.positions), ("relative", stack.relative)):
        if getattr(layer, "table", None) is not None:
            named[f"{stack.name}/{part}"] = layer.table
    for block in stack.blocks:
        named |= _block_weights(f"{stack.name}/{block.name}", block)
    return named


def _block_weights(start, block):
    parts = [getattr(block, name) for name in block.attentions]
    layers = dict(zip(("self", "cross"), parts)) | {"feed": block.feed_forward}
    named = {}
    for (part, layer), residual in zip(layers.items(), block.residuals, strict=True):
        for role in ("query", "key", "value", "gate", "hidden", "output"):
            for kind in ("kernel", "bias"):
                named[f"{start}/{part}/{role}_{kind}"] = getattr(layer, f"{role}_{kind}", None)
        named |= _norm_weights(f"{start}/{part}/norm", residual.normalization)
    return named


def _norm_weights(start, norm):
    if norm is None:
        return {}
    if hasattr(norm, "scale") and not hasattr(norm, "gamma"):
        return {f"{start}/scale": norm.scale}
    return {f"{start}/scale": norm.gamma, f"{start}/offset": norm.beta}
