"""Made-up names in training batches, so that names are copied and not remembered."""

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET, WORD_MARK
from keras_attn.models.data_to_text.fact_encoder import FactTokens
from keras_attn.text.slot_tokenizer import SlotTokenizer
from keras_attn_pipelines.tasks.data_to_text.batch_seed import batch_seed, random_names

NAMED = "named"
"""Feature of training batches: int32 (B, T), number of the name that each piece of the target
spells, see `FactTokens.nodes`; 0 for other words."""
PROPERTY = 2
"""Role of pieces that are no names."""


def named_pieces(source: np.ndarray, target: np.ndarray, slots: int | None = None) -> np.ndarray:
    """Names of facts that a text has piece for piece: int32 (T,), their numbers, else 0.

    A name with a slot is found by the slot alone, which is among its first pieces.

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
            own = [piece for piece in pieces if slots and piece >= slots]
            spelled[node] = tuple(own or pieces)
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
        seed: int, see `batch_seed`.
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
        chosen = random_names(nodes, self.share, batch_seed(self.seed, step, "names"))
        said = tf.reduce_any(named[:, :, None] == tf.range(1, tf.shape(chosen)[1]), axis=1)
        replaced = chosen & tf.pad(said, [[0, 0], [1, 0]])
        table = self._permutation(batch_seed(self.seed, step, "pieces"))

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
            seeds = tf.random.fold_in(seed, place)
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
