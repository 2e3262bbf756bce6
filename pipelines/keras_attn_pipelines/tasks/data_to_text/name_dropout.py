"""Names that are reduced to their slots in training batches, so that a model relies on these."""

from dataclasses import dataclass

import tensorflow as tf

from keras_attn.contracts import PAD_ID, SOURCE
from keras_attn.models.data_to_text.fact_encoder import FactTokens
from keras_attn.text.slot_tokenizer import SlotTokenizer
from keras_attn_pipelines.tasks.data_to_text.batch_seed import batch_seed, random_names
from keras_attn_pipelines.tasks.data_to_text.made_up_names import PROPERTY


@dataclass(frozen=True)
class NameDropout:
    """Leaves out the pieces of names that have a slot; the slot stays where it is in its name.

    Attributes:
        tokenizer: `SlotTokenizer`; names without a slot stay.
        share: probability that a name is left out.
        seed: int, see `batch_seed`.
    """

    tokenizer: SlotTokenizer
    share: float
    seed: int

    def __call__(self, features, step):
        """Features with padding in place of what is left out: SOURCE int32 (B, S, 7).

        Args:
            features: dict with SOURCE.
            step: int64 scalar.
        """
        source = features[SOURCE]
        tokens = FactTokens.of(source)
        chosen = random_names(tokens.nodes, self.share, batch_seed(self.seed, step, "left out"))
        is_slot, numbers = self.tokenizer.slots_of(tokens.pieces) >= 0, tf.shape(chosen)[1]
        holds = is_slot[:, :, None] & (tokens.nodes[:, :, None] == tf.range(numbers))
        left_out = tf.gather(chosen & tf.reduce_any(holds, axis=1), tokens.nodes, batch_dims=1)
        left_out &= ~is_slot & (tokens.roles != PROPERTY)
        return {**features, SOURCE: tf.where(left_out[..., None], PAD_ID, source)}
