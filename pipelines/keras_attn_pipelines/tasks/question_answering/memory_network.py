"""An end-to-end memory network as a model of question answering."""

from typing import ClassVar

from keras_attn.contracts import LOGITS, QUESTION, STORY
from keras_attn_pipelines.data.vocabulary import WORDS
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built


@part
class EndToEndMemory:
    """An end-to-end memory network, which reads the story in several hops."""

    reads: ClassVar[tuple[str, ...]] = (STORY, QUESTION)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    embedding_dim: int = option(
        "width of memories and of the state", default=50, settled=True, least=1
    )
    num_hops: int = option("times the memory is read", default=3, settled=True, least=1)
    encoding: str = option(
        "how a sentence becomes a vector: the sum of its words, weighted by their position or not",
        default="position",
        settled=True,
        choices=("position", "bag"),
    )
    tying: str = option(
        "which tables the hops share",
        default="adjacent",
        settled=True,
        choices=("adjacent", "layer_wise"),
    )
    memory_noise: float = option(
        "probability of an empty memory before each sentence, in training",
        default=0.1,
        least=0,
        below=1,
    )
    word_dropout: float = option(
        "probability that a word is left out, in training", default=0.0, least=0, below=1
    )
    empty_memories: bool = option(
        "let the softmax count the memory's empty places, so that a hop can read nothing",
        default=False,
        settled=True,
    )
    linear_start: bool = option(
        "train without the hops' softmax at first",
        default=True,
        settled=True,
    )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.layers.memory_network import MemoryNetwork
        from keras_attn.models.memory.question_answerer import QuestionAnswerer

        keras.utils.set_random_seed(seed)
        memory = MemoryNetwork(
            vocabulary_sizes[WORDS],
            self.embedding_dim,
            num_hops=self.num_hops,
            memory_size=features[STORY].shape[0],
            encoding=self.encoding,
            tying=self.tying,
            memory_noise=self.memory_noise,
            word_dropout=self.word_dropout,
            empty_memories=self.empty_memories,
            linear_start=self.linear_start,
            seed=seed,
            dtype="float32",
            name="memory",
        )
        model = QuestionAnswerer(memory, dtype="float32", name="memory_network")
        model.build()
        sizes = f"{self.num_hops} hops, {memory.memory_size} memories of width {self.embedding_dim}"
        description = f"an end-to-end memory network, {sizes}, {self.tying} tying"
        return Built(model, description, small_steps=True)
