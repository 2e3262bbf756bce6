"""A Differentiable Neural Computer as a model of question answering."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, QUESTION, STORY
from keras_attn_pipelines.data.vocabulary import WORDS
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built


@part
class NeuralComputer:
    """A Differentiable Neural Computer, which reads the story once and then the question."""

    reads: ClassVar[tuple[str, ...]] = (STORY, QUESTION)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    embedding_dim: int = option("width of words and sentences", default=64, settled=True, least=1)
    hidden_dim: int = option("units of the LSTM controller", default=128, settled=True, least=1)
    num_slots: int = option("slots of the memory", default=32, settled=True, least=1)
    slot_dim: int = option("width of a slot", default=32, settled=True, least=1)
    num_read_heads: int = option("heads that read", default=4, settled=True, least=1)
    encoding: str = option(
        "how a sentence becomes a vector: the sum of its words, weighted by their position or not",
        default="position",
        settled=True,
        choices=("position", "bag"),
    )
    by_word: bool = option(
        "read word by word, as in the paper, in many times as many steps",
        default=False,
        settled=True,
    )
    match_question: bool = option(
        "read the question and its product with the sentence at every step",
        default=False,
        settled=True,
    )
    planning_steps: int = option(
        "steps that read the question again, for looking things up, before the answer",
        default=0,
        settled=True,
        least=0,
    )
    dropout: float = option(
        "probability of zeros in what is read and answered, in training",
        default=0.1,
        least=0,
        below=1,
    )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.layers.dnc_cell import DNCCell
        from keras_attn.layers.memory_rnn import MemoryRNN
        from keras_attn.layers.sentence_encoder import SentenceEncoder
        from keras_attn.models.memory.story_reader import StoryReader

        keras.utils.set_random_seed(seed)
        cell = DNCCell(
            keras.layers.LSTMCell(self.hidden_dim, dtype="float32"),
            self.hidden_dim,
            num_slots=self.num_slots,
            slot_dim=self.slot_dim,
            num_read_heads=self.num_read_heads,
        )
        model = StoryReader(
            SentenceEncoder(
                vocabulary_sizes[WORDS], self.embedding_dim, self.encoding, dtype="float32"
            ),
            MemoryRNN(cell, dtype="float32"),
            memory_size=features[STORY].shape[0],
            by_word=self.by_word,
            dropout=self.dropout,
            seed=seed,
            match_question=self.match_question,
            planning_steps=self.planning_steps,
            dtype="float32",
            name="neural_computer",
        )
        model.build()
        step = "a word" if self.by_word else "a sentence"
        description = (
            f"a Differentiable Neural Computer, {step} a step, LSTM controller of "
            f"{self.hidden_dim} units, a memory of {self.num_slots} × {self.slot_dim}, "
            f"{self.num_read_heads} read heads"
        )
        return Built(model, description, small_steps=True)
