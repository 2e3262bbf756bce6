"""A recurrent network with a memory that reads a story and then answers a question."""

import keras
from keras import ops

from keras_attn.checks import check_flag, check_probability, check_sizes
from keras_attn.contracts import PAD_ID, QUESTION, STORY
from keras_attn.layers.memory_rnn import MemoryRNN
from keras_attn.layers.sentence_encoder import SentenceEncoder
from keras_attn.models.memory.story_model import StoryModel, has_words
from keras_attn.ops.greatest import greatest
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.memory_addressing import steps_read
from keras_attn.ops.memory_network import newest_sentences
from keras_attn.ops.take_by_row import take_by_row

_PRODUCT_SCALE = 10.0
"""One over the standard deviation of the embeddings of a new `SentenceEncoder`."""


@keras.saving.register_keras_serializable(package="keras_attn")
class StoryReader(StoryModel):
    """A network with a memory reads a story, then the question, and answers with a word.

        x_t = Σ_j l_j ∘ E w_tj, for sentence t;  q, the question's;  x_{T+1} = q + d
        y_1 … y_{T+1} = MemoryRNN(x_1 … x_{T+1});  logits = W y_{T+1} + b

    d tells the question from the story. A sentence is a step, or with `by_word` each word is one,
    as in the paper: many times as many steps. Of a story longer than `memory_size` sentences the
    oldest are not read.

    With `match_question` a step is [x_t; q; 10 x_t ∘ q], so that what is written depends on what is
    asked; 10 makes the products of new embeddings as large as the embeddings. With
    `planning_steps` x_{T+1} is read so many times more: what was read says where to read next.

    Args:
        encoder: `SentenceEncoder`. Makes x of the words.
        memory: `MemoryRNN`, with a `DNCCell` or an `NTMCell`.
        memory_size: int > 0. Most sentences of a story that are read, the newest.
        by_word: bool. Whether each word is a step.
        dropout: probability, 0 ≤ p < 1, of zeros in x and in y.
        seed: int or None. Of dropout.
        match_question: bool. Whether every step has the question, and its product with it.
        planning_steps: int ≥ 0. Further steps that read the question before the answer.

    Call arguments:
        batch: dict: STORY int32 (B, M, W) and QUESTION int32 (B, W').
        training: bool.

    Returns:
        logits: float32 (B, V), of each word of the vocabulary.

    Raises:
        ValueError: another encoder or memory, a number out of its range.

    Example:
        >>> from keras_attn.layers import DNCCell
        >>> cell = DNCCell(keras.layers.LSTMCell(7), 7, num_slots=11, slot_dim=5)
        >>> model = StoryReader(SentenceEncoder(13, 5), MemoryRNN(cell))
        >>> batch = {"story": ops.ones((2, 7, 3), "int32"), "question": ops.ones((2, 3), "int32")}
        >>> tuple(model(batch).shape)
        (2, 13)

    Source: Graves et al. 2016, Nature 538, "bAbI task descriptions and results". Differs: a
    sentence is a step, with the position encoding of Sukhbaatar et al. 2015, arXiv:1503.08895;
    the answer is read off the last step of the question, or of planning, not off one of its own.
    `match_question`: after the features of Xiong et al. 2016, arXiv:1603.01417, 3.3.
    """

    def __init__(
        self,
        encoder,
        memory,
        memory_size=50,
        by_word=False,
        dropout=0.0,
        seed=None,
        match_question=False,
        planning_steps=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not isinstance(encoder, SentenceEncoder):
            raise ValueError(f"Expected a SentenceEncoder. Received: encoder={encoder!r}")
        if not isinstance(memory, MemoryRNN):
            raise ValueError(f"Expected a MemoryRNN. Received: memory={memory!r}")
        check_sizes(memory_size=memory_size)
        check_sizes(least=0, planning_steps=planning_steps)
        check_probability("dropout", dropout)
        self.encoder, self.memory, self.memory_size = encoder, memory, memory_size
        self.by_word, self.dropout, self.seed = check_flag("by_word", by_word), dropout, seed
        self.match_question = check_flag("match_question", match_question)
        self.planning_steps = planning_steps
        self.dropped_out = keras.layers.Dropout(dropout, seed=seed, dtype="float32")
        self.answer = keras.layers.Dense(self.vocabulary_size, name="answer", dtype="float32")

    reader = "head"
    """What each row of the weights belongs to."""

    @property
    def vocabulary_size(self):
        """V."""
        return self.encoder.input_dim

    def build(self, input_shape=None):
        width = self.encoder.output_dim
        for layer, shape in (
            (self.encoder, (None, None, None)),
            (self.memory, (None, None, 3 * width if self.match_question else width)),
            (self.answer, (None, self.memory.cell.units)),
        ):
            if not layer.built:
                layer.build(shape)
        self.asked = self.add_weight(shape=(width,), initializer="zeros", name="asked")

    def call(self, batch, training=None):
        steps, mask = self._steps(batch, training)
        return self._logits(self.memory(steps, mask=mask), mask, training)

    def hops(self, batch):
        """Logits, and which sentences the heads that read found in the memory at the end.

        Args:
            batch: as in the call.

        Returns:
            logits: float32 (B, V).
            weights: float32 (B, R, M): how much of what each of R heads read at the last step
                had been written at each sentence, see `ops.steps_read`; rows sum to at most 1.
        """
        steps, mask = self._steps(batch, False)
        outputs, write, read = self.memory(steps, mask=mask, return_attention_scores=True)
        shares = steps_read(zero_masked(write, mask), _last(read, mask))
        sentences, words = ops.shape(batch[STORY])[1:]
        shares = shares[..., : sentences * words if self.by_word else sentences]
        if self.by_word:
            rows, heads = ops.shape(shares)[:2]
            shares = ops.sum(ops.reshape(shares, (rows, heads, sentences, words)), axis=-1)
        return self._logits(outputs, mask, False), ops.cast(shares, "float32")

    def _steps(self, batch, training):
        """float32 (B, S, D or 3 D): x of all steps, and their mask."""
        story, question = (ops.cast(batch[key], "int32") for key in (STORY, QUESTION))
        newest = newest_sentences(has_words(story), self.memory_size)
        story, whole = ops.where(newest[..., None], story, PAD_ID), question[:, None]
        query = self.encoder(whole)
        vectors, masks = [query + self.asked], [has_words(whole)]
        if self.by_word:
            rows, sentences, words = ops.shape(story)
            story = ops.reshape(story, (rows, sentences * words, 1))
            vectors = [self.encoder(question[..., None]) + self.asked]
            masks = [has_words(question[..., None])]
        if self.planning_steps:
            vectors.append(ops.repeat(query + self.asked, self.planning_steps, axis=1))
            masks.append(ops.repeat(has_words(whole), self.planning_steps, axis=1))
        mask = ops.concatenate([has_words(story), *masks], axis=1)
        vectors = [ops.cast(part, "float32") for part in (self.encoder(story), *vectors)]
        steps = ops.concatenate(vectors, axis=1)
        if self.match_question:
            common = ops.cast(query, "float32") * ops.ones_like(steps)
            steps = ops.concatenate([steps, common, _PRODUCT_SCALE * steps * common], axis=-1)
        return self.dropped_out(steps, training=training), mask

    def _logits(self, outputs, mask, training):
        last = ops.cast(_last(outputs, mask), "float32")
        return self.answer(self.dropped_out(last, training=training))

    def float32_layers(self):
        """Layers that compute in float32 under any precision: all."""
        return [self.encoder, self.memory, self.answer]


def _last(values, mask):
    """What (B, S, ...) holds at the last step where a mask (B, S) is True, or at the first."""
    places = ops.arange(ops.shape(mask)[1], dtype="int32")
    last = greatest(ops.where(mask, places, 0), 0, axis=1)
    return take_by_row(values, last[:, None])[:, 0]
