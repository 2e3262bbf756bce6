"""Made-up names in training batches, so that names are copied and not remembered."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET, WORD_MARK
from keras_attn.models.fact_encoder import FactTokens
from keras_attn.text.slot_tokenizer import SlotTokenizer

NAMED = "named"
"""Feature of training batches: int32 (B, T), number of the name that each piece of the target
spells, see `FactTokens.nodes`; 0 for other words."""
PROPERTY = 2
"""Role of pieces that are no names."""


def named_pieces(source: np.ndarray, target: np.ndarray, slots: int | None = None) -> np.ndarray:
    """Names of facts that a text has piece for piece: int32 (T,), their numbers, else 0.

    A name with a slot, which is then its last piece, is where its slot is.

    Args:
        source: int32 (S, 7), see `FactTokens`, without padding.
        target: int32 (T,), pieces of the text.
        slots: id of the first slot, or None for none.

    Example:
        >>> source = np.zeros((3, 7), "int32")
        >>> source[:, 0], source[:, 2], source[:, 3] = (11, 13, 17), (1, 1, 3), (1, 1, 2)
        >>> named_pieces(source, np.array([5, 11, 13, 7, 17])).tolist()
        [0, 1, 1, 0, 2]
    """
    tokens, spelled = FactTokens.of(source), {}
    for node, fact, role in dict.fromkeys(zip(tokens.nodes, tokens.facts, tokens.roles)):
        if role != PROPERTY:
            inside = (tokens.facts == fact) & (tokens.roles == role)
            pieces = tokens.pieces[inside].tolist()
            spelled[node] = tuple(pieces[-1:] if slots and pieces[-1] >= slots else pieces)
    pieces, named = target.tolist(), np.zeros(len(target), "int32")
    for node, name in sorted(spelled.items(), key=lambda item: -len(item[1])):
        for start in range(len(pieces) - len(name) + 1):
            end = start + len(name)
            if tuple(pieces[start:end]) == name and not named[start:end].any():
                named[start:end] = node
    return named


@dataclass(frozen=True)
class MadeUpNames:
    """Replaces names by made-up ones, in the facts and where the text says them.

    Each batch has a permutation of the pieces with letters, those that begin a word among
    themselves, which spells the made-up names. Names that a text does not say piece for piece stay,
    as do digits and punctuation marks.

    Attributes:
        tokenizer: `SlotTokenizer`; its slots stay as they are.
        share: probability that a name is replaced.
        seed: int. With the step of a batch it determines all that is drawn.
    """

    tokenizer: SlotTokenizer
    share: float
    seed: int

    def __call__(self, features, step):
        """Features with other names: SOURCE int32 (B, S, 7) and TARGET int32 (B, T).

        Args:
            features: dict with SOURCE, TARGET and NAMED.
            step: int64 scalar.
        """
        source, target, named = (features[key] for key in (SOURCE, TARGET, NAMED))
        nodes = FactTokens.of(source).nodes
        seed = tf.stack([tf.constant(self.seed, tf.int64), tf.cast(step, tf.int64)])
        numbers = tf.reduce_max(nodes) + 1
        drawn = tf.random.stateless_uniform((tf.shape(nodes)[0], numbers), seed) < self.share
        said = tf.reduce_any(named[:, :, None] == tf.range(1, numbers), axis=1)
        replaced = drawn & tf.pad(said, [[0, 0], [1, 0]])
        table = self._permutation(seed)

        def renamed(pieces, numbers):
            chosen = tf.gather(replaced, numbers, batch_dims=1)
            return tf.where(chosen, tf.gather(table, pieces), pieces)

        pieces = renamed(source[..., 0], nodes)
        source = tf.concat([pieces[..., None], source[..., 1:]], axis=-1)
        return {**features, SOURCE: source, TARGET: renamed(target, named)}

    def _permutation(self, seed):
        """int32 (V,): the piece that each piece becomes in this batch."""
        table = tf.range(self.tokenizer.vocabulary_size)
        for place, group in enumerate(self._groups()):
            seeds = tf.random.fold_in(seed, place + 1)
            shuffled = tf.random.experimental.stateless_shuffle(tf.constant(group), seeds)
            table = tf.tensor_scatter_nd_update(table, tf.constant(group)[:, None], shuffled)
        return table

    def _groups(self):
        """Ids of the pieces with letters that begin a word, and of the others; none is empty."""
        ids = np.arange(self.tokenizer.plain.vocabulary_size, dtype="int32")
        with tf.init_scope():  # Out of the graph of the batches.
            pieces = [piece.decode() for piece in self.tokenizer.pieces(ids).numpy()]
        letters = np.array([piece.removeprefix(WORD_MARK).isalpha() for piece in pieces])
        begins = np.array([piece.startswith(WORD_MARK) for piece in pieces])
        groups = (ids[letters & begins], ids[letters & ~begins])
        return [group for group in groups if len(group)]


@dataclass(frozen=True)
class ShuffledSlots:
    """Gives names other slots in each batch, so that every slot is learned as well as any other.

    Attributes:
        tokenizer: `SlotTokenizer`.
        seed: int. With the step of a batch it determines what is drawn.
    """

    tokenizer: SlotTokenizer
    seed: int

    def __call__(self, features, step):
        """Features with other slots: SOURCE int32 (B, S, 7) and TARGET int32 (B, T).

        Args:
            features: dict with SOURCE and TARGET.
            step: int64 scalar.
        """
        first, slots = self.tokenizer.plain.vocabulary_size, tf.range(self.tokenizer.slots)
        seed = tf.stack([tf.constant(self.seed, tf.int64), tf.cast(step, tf.int64)])
        seed = tf.random.fold_in(seed, 0)  # `MadeUpNames` has the others.
        shuffled = tf.random.experimental.stateless_shuffle(slots, seed)
        table = tf.concat([tf.range(first), first + shuffled], axis=0)
        source = features[SOURCE]
        pieces = tf.gather(table, source[..., :1])
        source = tf.concat([pieces, source[..., 1:]], axis=-1)
        return {**features, SOURCE: source, TARGET: tf.gather(table, features[TARGET])}
