"""Kernels that may have low-rank updates, or be held in 8 bits."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_above, check_choice, check_sizes
from keras_attn.layers.constructor_config import constructor_arguments
from keras_attn.ops.linear import Factor

INT8 = "int8"
LARGEST = 127


class Projections:
    """Mixin of Keras layers whose `kernels` are matrices that rows are multiplied with."""

    projections: ClassVar[tuple[str, ...]]
    """Attributes that hold kernels, with "_kernel" at the end."""
    contracted: ClassVar[Mapping[str, int]] = {}
    """How many of a kernel's first axes are contracted, where it is not one."""
    lora_rank = lora_alpha = None
    lora_targets: tuple[str, ...] = ()
    quantization = None
    factors: Mapping[str, Factor] = MappingProxyType({})
    """What takes the place of matrices in `kernels`, by their names there; of all or none."""

    def add_kernel(self, shape, name, initializer):
        """A kernel, initialized like the matrix that it is multiplied as."""
        matrix, initializer = self._matrix_shape(name, shape), initializer.clone()
        return self.add_weight(
            shape=shape,
            initializer=lambda shape, dtype=None: ops.reshape(initializer(matrix, dtype), shape),
            name=name,
        )

    def kernels(self):
        """A named tuple of matrices, as they are applied, and biases; subclasses have it."""
        raise NotImplementedError

    def made_kernels(self):
        """Names of the kernels that the layer has."""
        return [name for name in self.projections if getattr(self, name, None) is not None]

    def matrix(self, name):
        """A kernel as it is applied: compute dtype (rows, columns)."""
        kernel = getattr(self, name)
        shape = self._matrix_shape(name, kernel.shape)
        matrix = ops.reshape(ops.cast(kernel, self.compute_dtype), shape)
        if self.quantization is not None:
            scale = ops.reshape(getattr(self, f"{name}_scale"), (1, -1))
            matrix = matrix * ops.cast(scale, self.compute_dtype)
        if name in self.lora_targets:
            matrix = matrix + ops.cast(self._update(name), self.compute_dtype)
        return matrix

    def _matrix_shape(self, name, shape):
        """Rows and columns of a kernel of this shape."""
        inputs = self.contracted.get(name, 1)
        return math.prod(shape[:inputs]), math.prod(shape[inputs:])

    def _update(self, name):
        """What LoRA adds to a kernel: float32 (rows, columns)."""
        first, second = getattr(self, f"{name}_lora_a"), getattr(self, f"{name}_lora_b")
        return ops.matmul(first, second) * (self.lora_alpha / self.lora_rank)

    def enable_lora(self, rank, lora_alpha=None, targets=None):
        """Freezes kernels W and adds trainable updates of a low rank: W + (α / r) A B.

        The update is 0 at first. `keras_attn.models` have the same for a whole model.

        Args:
            rank: int > 0. r.
            lora_alpha: float > 0 or None. α; None is r.
            targets: list of names of projections, such as ["query", "value"], or None for all.

        Raises:
            ValueError: rank < 1; lora_alpha ≤ 0; no target, or an unknown one; a layer that is not
                built, or has updates.

        Source: Hu et al. 2021, arXiv:2106.09685, 4.1.
        """
        check_lora(rank, lora_alpha, targets)
        if not self.built:
            raise ValueError(f"Expected a built layer for enable_lora. Received: {self.name}")
        if self.lora_targets:
            raise ValueError("Expected a layer without LoRA. Received: one that has it enabled")
        known = [name.removesuffix("_kernel") for name in self.made_kernels()]
        targets = known if targets is None else list(dict.fromkeys(targets))
        for target in targets:
            check_choice("a target", target, known)
        self._tracker.unlock()
        for target in targets:
            name = f"{target}_kernel"
            kernel = getattr(self, name)
            rows, columns = self._matrix_shape(name, kernel.shape)
            for part, shape, initializer in (
                ("a", (rows, rank), "he_uniform"),
                ("b", (rank, columns), "zeros"),
            ):
                weight = self.add_weight(
                    shape=shape,
                    initializer=initializer,
                    name=f"{name}_lora_{part}",
                    dtype="float32",
                )
                setattr(self, f"{name}_lora_{part}", weight)
            kernel.trainable = False
        self._tracker.lock()
        self.lora_rank, self.lora_alpha = rank, float(lora_alpha or rank)
        self.lora_targets = tuple(f"{target}_kernel" for target in targets)

    def merge_lora(self):
        """Adds the updates to their kernels, which are then trained again, and removes them.

        Raises:
            ValueError: kernels in 8 bits, which cannot hold the sum.
        """
        if not self.lora_targets:
            return
        if self.quantization is not None:
            raise ValueError("Expected kernels of floats to merge LoRA into. Received: int8")
        for name in self.lora_targets:
            kernel = getattr(self, name)
            update = ops.reshape(self._update(name), kernel.shape)
            kernel.assign(kernel + ops.cast(update, kernel.dtype))
            kernel.trainable = True
        self._tracker.unlock()
        for name in self.lora_targets:
            self._remove(f"{name}_lora_a")
            self._remove(f"{name}_lora_b")
        self._tracker.lock()
        self.lora_targets, self.lora_rank, self.lora_alpha = (), None, None

    def quantize(self, mode=None, type_check=True, config=None):
        """Holds the kernels in 8 bits, with a float32 factor for each column.

        Inputs and products stay as they are: kernels are expanded where they are used, once before
        a decoding loop. `keras.Model.quantize` calls it.

        Args:
            mode: "int8".
            type_check: bool. Of Keras; subclasses are quantized alike.
            config: as in Keras; its quantizer of activations is not used.

        Raises:
            NotImplementedError: another mode, or a quantizer of weights.
            ValueError: a layer that has LoRA enabled; of Keras, one that is not built.
        """
        own = getattr(config, "weight_quantizer", None)
        if mode != INT8 or own is not None:
            raise NotImplementedError(
                f"Expected quantize('int8') without a quantizer of weights for "
                f"{type(self).__name__}. Received: mode={mode!r}, weight_quantizer={own!r}"
            )
        if self.quantization is not None:
            return
        self.check_no_lora()
        self._tracker.unlock()
        for name in self.made_kernels():
            kernel = getattr(self, name)
            values = np.asarray(ops.convert_to_numpy(ops.cast(kernel, "float32")))
            shape, inputs = values.shape, self.contracted.get(name, 1)
            rows = values.reshape(self._matrix_shape(name, shape))
            scale = np.abs(rows).max(axis=0) / LARGEST
            held = np.rint(rows / np.where(scale == 0, 1, scale)).astype("int8")
            self._remove(name)
            options = {"initializer": "zeros", "trainable": False}
            setattr(self, name, self.add_weight(shape=shape, dtype="int8", name=name, **options))
            factors = self.add_weight(
                shape=shape[inputs:], dtype="float32", name=f"{name}_scale", **options
            )
            setattr(self, f"{name}_scale", factors)
            getattr(self, name).assign(held.reshape(shape))
            factors.assign(scale.reshape(shape[inputs:]))
        self._tracker.lock()
        self.quantization = mode

    def _remove(self, name):
        """Deletes a variable; Keras would collect garbage after each, for up to a second."""
        self._untrack_variable(getattr(self, name))
        super(keras.layers.Layer, self).__delattr__(name)

    def check_no_lora(self):
        """Raises ValueError if updates have to be merged before kernels are held in 8 bits."""
        if self.lora_targets and self.quantization is None:
            raise ValueError("Expected merge_lora() before quantize. Received: LoRA enabled")


def adaptations_config(layer):
    """What a config says of LoRA and quantization inside a layer or model; {} of neither.

    Returns:
        {} or {"adaptations": dict}, from the number of a layer among those with `Projections`, as a
        string, to what was done to it; "keras", from that of a layer of Keras' own among all to the
        mode and config of its quantization; "frozen", what merging LoRA trains again.
    """
    found = {}
    for number, part in enumerate(parts_of(layer)):
        settings = {}
        if part.quantization is not None:
            settings["quantize"] = part.quantization
        if part.lora_targets:
            targets = [name.removesuffix("_kernel") for name in part.lora_targets]
            settings["lora"] = [part.lora_rank, part.lora_alpha, targets]
        if settings:
            found[str(number)] = settings
    if quantized := {
        str(number): [part.quantization_mode, _quantization_config(part)]
        for number, part in enumerate(layer._flatten_layers())
        if getattr(part, "_is_quantized", False)
    }:
        found["keras"] = quantized
    if frozen := getattr(layer, "frozen_for_lora", ()):
        found["frozen"] = list(frozen)
    return {"adaptations": found} if found else {}


def _quantization_config(layer):
    """The config of the quantization of a layer of Keras' own, or None."""
    config = getattr(layer, "quantization_config", None)
    return None if config is None else keras.saving.serialize_keras_object(config)


def restored(cls, config):
    """A layer or model from its config; what `adaptations_config` added waits for its weights."""
    config = dict(config)
    adaptations = config.pop("adaptations", {})
    made = cls(**constructor_arguments(config))
    made.saved_adaptations = adaptations
    if made.built:
        adapt_as_saved(made)
    return made


def adapt_as_saved(layer):
    """Does to a built layer what its config said, before its weights are read."""
    adaptations, layer.saved_adaptations = dict(getattr(layer, "saved_adaptations", {})), {}
    frozen, parts = adaptations.pop("frozen", ()), parts_of(layer)
    if quantized := adaptations.pop("keras", None):
        every = list(layer._flatten_layers())
        for number, (mode, config) in quantized.items():
            if not getattr(every[int(number)], "_is_quantized", False):
                settings = keras.saving.deserialize_keras_object(config)
                every[int(number)].quantize(mode, config=settings)
    for number, settings in adaptations.items():
        part = parts[int(number)]
        # A layer that is an argument of this one has a config of its own, and may be done.
        if "quantize" in settings and part.quantization is None:
            part.quantize(settings["quantize"])
        if "lora" in settings and not part.lora_targets:
            part.enable_lora(*settings["lora"])
    if frozen:
        _freeze(layer, frozen)


def check_lora(rank, lora_alpha, targets):
    """Raises ValueError unless all are in their ranges; targets are names, but not yet known."""
    check_sizes(rank=rank)
    if lora_alpha is not None:
        check_above("lora_alpha", lora_alpha)
    if targets is not None and (isinstance(targets, str) or not list(targets)):
        raise ValueError(
            f"Expected targets as a list of names, or None for all. Received: targets={targets!r}"
        )


def enable_lora(model, rank, lora_alpha=None, targets=None):
    """See `BaseModel.enable_lora`."""
    check_lora(rank, lora_alpha, targets)
    parts = [part for part in parts_of(model) if part.trainable]
    if any(part.lora_targets for part in parts):
        raise ValueError("Expected a model without LoRA. Received: one that has it enabled")
    known, chosen = set(), {}
    for part in parts:
        for name in part.made_kernels():
            kernel = getattr(part, name)
            projection = name.removesuffix("_kernel")
            named = {*kernel.path.split("/")[:-1], projection}
            known |= named
            if targets is None or named & set(targets):
                chosen.setdefault(id(part), (part, []))[1].append(projection)
    if not parts:
        raise ValueError(
            f"Expected a model with projections of attention or feed-forward layers for LoRA. "
            f"Received: {model.name}, which has none"
        )
    if unknown := [target for target in targets or () if target not in known]:
        raise ValueError(
            f"Expected LoRA targets in {', '.join(sorted(known))}. Received: {', '.join(unknown)}"
        )
    trained = {id(weight) for weight in model.trainable_weights}
    for part, projections in chosen.values():
        part.enable_lora(rank, lora_alpha, projections)
    places = [place for place, weight in enumerate(_kept(model)) if id(weight) in trained]
    _freeze(model, places)
    track_parameters(model)


def track_parameters(model):
    """Renews PyTorch's parameters of a model, layers of which have other weights than before."""
    if keras.backend.backend() == "torch":
        for layer in model._flatten_layers():
            layer._track_variables()


def _kept(model):
    """The weights that stay when LoRA is merged."""
    return [weight for weight in model.weights if "_lora_" not in weight.name]


def _freeze(model, places):
    """Trains the updates of LoRA only, and remembers which of the other weights were trained."""
    kept = _kept(model)
    for place in places:
        kept[place].trainable = False
    model.frozen_for_lora = places


def merge_lora(model):
    """See `BaseModel.merge_lora`."""
    parts = [part for part in parts_of(model) if part.lora_targets]
    if quantized := [part.name for part in parts if part.quantization is not None]:
        raise ValueError(
            f"Expected projections of floats to merge LoRA into. Received: int8 in {quantized[0]}"
        )
    for part in parts:
        part.merge_lora()
    for layer in model._flatten_layers():
        if places := getattr(layer, "frozen_for_lora", ()):
            kept = _kept(layer)
            for place in places:
                kept[place].trainable = True
            layer.frozen_for_lora = []
    track_parameters(model)


def parts_of(layer):
    """All layers with projections in a layer or model, itself included."""
    return [part for part in layer._flatten_layers() if isinstance(part, Projections)]
