"""A language model with a progressive memory bank."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, SOURCE
from keras_attn_pipelines.data.vocabulary import WORDS
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built


@part
class ProgressiveMemory:
    """An LSTM that reads a bank of slots, to which each new domain adds some."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE,)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    slots: tuple[int, ...] = option(
        "slots of the memory that each domain adds, the first domain's first; with --from, those "
        "of the model and more",
        default=(64,),
        least=1,
    )
    hidden_dim: int = option(
        "units of the LSTM; with --from, those of the model or more", default=128, least=1
    )
    embedding_dim: int = option("width of embeddings", default=64, settled=True, least=1)
    memory_dim: int = option("width of the values of slots", default=128, settled=True, least=1)
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.models.memory.progressive_language_model import ProgressiveLanguageModel

        keras.utils.set_random_seed(seed)
        model = ProgressiveLanguageModel(
            vocabulary_sizes[WORDS],
            self.slots,
            embedding_dim=self.embedding_dim,
            hidden_dim=self.hidden_dim,
            memory_dim=self.memory_dim,
            dropout=self.dropout,
            name="language_model",
        )
        model.build()
        slots = " + ".join(map(str, self.slots))
        return Built(model, f"an LSTM of {self.hidden_dim} units with a memory of {slots} slots")

    def grow(self, model, start):
        """See `Model`: a larger model takes over the weights of a smaller one."""
        model.grow_from(start)
