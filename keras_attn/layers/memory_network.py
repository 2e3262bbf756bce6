"""End-to-end memory networks."""

import keras
from keras import ops

from keras_attn.checks import check_choice, check_flag, check_probability, check_sizes
from keras_attn.contracts import PAD_ID
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.sentence_encoder import small_normal
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.ops.memory_network import (
    ENCODINGS,
    POSITION,
    encode_sentences,
    memory_hop,
    newest_sentences,
    sentence_ages,
)

ADJACENT, LAYER_WISE = TYINGS = ("adjacent", "layer_wise")


@keras.saving.register_keras_serializable(package="keras_attn")
class MemoryNetwork(BaseLayer):
    """A question that reads a story in several hops.

        u_1 = B q,  m_i = A_k x_i + T^A_k(age_i),  c_i = C_k x_i + T^C_k(age_i)
        p = softmax(u_kᵀ m),  o = Σ_i p_i c_i,  u_{k+1} = u_k + o

    Sentences x_i are encoded as in `SentenceEncoder`; their age is the number of sentences after
    them, so T encodes time. "adjacent" tying shares A_{k+1} = C_k, T^A_{k+1} = T^C_k and B = A_1;
    with "layer_wise" tying A, C and T are the same in all hops, B is a table of its own, and
    u_{k+1} = H u_k + o. Token 0 is the nil word, whose vector is 0; a sentence of nil words is no
    memory. Of a story longer than the memory the oldest sentences are dropped.

    Computes in float32 under any precision.

    Args:
        input_dim: int > 0. V, size of the vocabulary.
        output_dim: int > 0. D.
        num_hops: int > 0. K.
        memory_size: int > 0. Most sentences of a story that are read, the newest.
        encoding: "position" or "bag", see `ops.memory_network.encode_sentences`.
        tying: "adjacent" or "layer_wise".
        memory_noise: probability of an empty memory before each sentence, in training only.
        word_dropout: probability of a nil word in the place of each word, in training only.
        empty_memories: bool. Whether the softmax also counts the places of the memory that the
            story leaves empty, whose scores are 0. A hop can then read nothing.
        linear_start: bool. Whether the hops begin without their softmax; `end_linear_start` puts
            it back.
        initializer: Keras initializer of the tables; None: normal, standard deviation 0.1.
        seed: int or None. Of the noise and of the dropped words.

    Call arguments:
        query: int (B, W), tokens of the question, 0 after it.
        value: int (B, M, W'), tokens of the story's sentences in their order, 0 after them.
        return_attention_scores: bool.
        training: bool.

    Returns:
        state: (B, D), compute dtype. u_{K+1}.
        weights: with return_attention_scores, float32 (B, K, M). p of each hop; rows sum to 1, with
            empty memories to less, or are all 0 for an empty story, unless the start is linear.

    Raises:
        ValueError: a size < 1, a probability out of its range, another encoding or tying.

    Example:
        >>> network = MemoryNetwork(13, 5)
        >>> question, story = ops.ones((2, 3), "int32"), ops.ones((2, 11, 7), "int32")
        >>> tuple(network(question, story).shape)
        (2, 5)

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, 2 and 4.1. Differs: the empty memories of its
    random noise are drawn before each sentence independently; without `empty_memories`, the
    softmax is over the sentences alone, while the authors' program has that of all memories; words
    may be dropped, after Iyyer et al. 2015, P15-1162, 4.
    """

    def __init__(
        self,
        input_dim,
        output_dim,
        num_hops=3,
        memory_size=50,
        encoding=POSITION,
        tying=ADJACENT,
        memory_noise=0.1,
        word_dropout=0.0,
        empty_memories=False,
        linear_start=False,
        initializer=None,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(input_dim=input_dim, output_dim=output_dim)
        check_sizes(num_hops=num_hops, memory_size=memory_size)
        check_choice("encoding", encoding, ENCODINGS)
        check_choice("tying", tying, TYINGS)
        check_probability("memory_noise", memory_noise)
        check_probability("word_dropout", word_dropout)
        self.input_dim, self.output_dim, self.num_hops = input_dim, output_dim, num_hops
        self.memory_size, self.encoding, self.tying = memory_size, encoding, tying
        self.memory_noise, self.word_dropout = memory_noise, word_dropout
        self.empty_memories = check_flag("empty_memories", empty_memories)
        self.linear_start = check_flag("linear_start", linear_start)
        self.initializer, self.seed = small_normal(initializer), seed
        is_random = memory_noise or word_dropout
        self.generator = keras.random.SeedGenerator(seed) if is_random else None

    def build(self, query_shape=None, value_shape=None):
        count = self.num_hops + 1 if self.tying == ADJACENT else 2
        self.tables = [self._table(f"words_{i}", self.input_dim) for i in range(count)]
        self.times = [self._table(f"times_{i}", self.memory_size) for i in range(count)]
        if self.tying == LAYER_WISE:
            self.question_table = self._table("question", self.input_dim)
            self.transition = self.add_weight(
                shape=(self.output_dim, self.output_dim),
                initializer="orthogonal",
                autocast=False,
                name="transition",
            )
        if self.linear_start:
            self.linear = self.add_weight(
                shape=(),
                initializer="ones",
                trainable=False,
                aggregation="only_first_replica",
                autocast=False,
                name="linear",
            )

    def _table(self, name, rows):
        return self.add_weight(
            shape=(rows, self.output_dim),
            initializer=self.initializer.clone(),
            autocast=False,
            name=name,
        )

    def answer_kernel(self):
        """float32 (D, V): the answer matrix under adjacent tying, C_K transposed; 0 for nil."""
        words = ops.cast(ops.arange(self.input_dim) != PAD_ID, "float32")
        return ops.transpose(ops.cast(self.tables[-1], "float32") * words[:, None])

    def is_linear(self):
        """Whether the hops are without their softmax: bool, or a scalar tensor."""
        return self.linear > 0.5 if self.linear_start else False

    def end_linear_start(self):
        """Puts the softmax into the hops, for good."""
        if self.linear_start:
            self.linear.assign(0.0)

    def call(self, query, value, return_attention_scores=False, training=None):
        query, value = ops.cast(query, "int32"), ops.cast(value, "int32")
        real = ops.any(ops.not_equal(value, PAD_ID), axis=-1)  # Sentences with a word.
        gaps = self._gaps(value) if training and self.memory_noise else None
        ages = sentence_ages(real, gaps)
        mask = newest_sentences(real, self.memory_size)
        times = ops.cast(ops.concatenate(self.times, axis=-1), "float32")
        ages = ops.clip(ages, 0, self.memory_size - 1)
        memories = self._encoded(value, self.tables, training) + ops.take(times, ages, axis=0)
        memories = ops.split(memories, len(self.tables), axis=-1)
        first = self.tables[0] if self.tying == ADJACENT else self.question_table
        state, weights = self._encoded(query, [first], training), []
        filled = ops.sum(ops.cast(mask, "int32"), axis=1)
        empty = self.memory_size - filled if self.empty_memories else None
        for hop in range(self.num_hops):
            place = hop if self.tying == ADJACENT else 0
            keys, values = memories[place], memories[place + 1]
            read, shares = memory_hop(state, keys, values, mask, self.is_linear(), empty)
            if self.tying == LAYER_WISE:
                state = ops.matmul(state, ops.cast(self.transition, "float32"))
            state = state + read
            weights.append(shares)
        state = ops.cast(state, self.compute_dtype)
        return (state, ops.stack(weights, axis=1)) if return_attention_scores else state

    def _gaps(self, value):
        """int32 (B, M): empty memories before each sentence, 0 or 1."""
        uniform = keras.random.uniform(ops.shape(value)[:2], seed=self.generator)
        return ops.cast(uniform < self.memory_noise, "int32")

    def _encoded(self, tokens, tables, training):
        """float32 (..., D · tables): sentences (..., W) in several tables, side by side."""
        width, count = self.output_dim, len(tables)
        mask = ops.not_equal(tokens, PAD_ID)
        table = ops.concatenate(tables, axis=-1) if count > 1 else tables[0]
        words = ops.take(table, tokens, axis=0)
        if training and self.word_dropout:
            uniform = keras.random.uniform(ops.shape(tokens), seed=self.generator)
            words = words * ops.cast(uniform >= self.word_dropout, words.dtype)[..., None]
        return encode_sentences(words, mask, self.encoding, width)

    def compute_mask(self, *args, **kwargs):
        """None: the state is no sequence."""
        return None

    def compute_output_shape(self, query_shape, value_shape=None):
        return (query_shape[0], self.output_dim)

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)
