"""Services that answer with decoded texts: captions, translations, sentences about facts, trees."""

import contextlib
from typing import NamedTuple

from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    DECODER_WEIGHTS,
    ENCODER_WEIGHTS,
    END_ID,
    ERROR,
    FAMILIARITY,
    FEATURES,
    IMAGE,
    LOGITS,
    PAD_ID,
    SCORE,
    SOURCE,
    SOURCE_PIECES,
    START_ID,
    TARGET,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
    TRACED_WEIGHTS,
    WEIGHTS,
)
from keras_attn.decoding.maximum_length import MaximumLength
from keras_attn.lazy_tensorflow import tf
from keras_attn.ops.compiled import CompiledFunctions
from keras_attn.ops.log_probabilities import log_probabilities
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.jit import alone_by_xla, check_compilable
from keras_attn.serving.precision import cast_once
from keras_attn.serving.prompted import repeated, with_prompt_weights
from keras_attn.serving.readers.reasons import first_reason, text_reasons, too_long
from keras_attn.serving.readers.texts import pieces_of
from keras_attn.serving.service import Service, inputs_of
from keras_attn.viz.declared.notes import Note
from keras_attn.viz.declared.plain import OUTPUT

ATTENTION = "attention"
KINDS = {"encoder": ENCODER_WEIGHTS, "decoder": DECODER_WEIGHTS, "cross": CROSS_WEIGHTS}
"""Answer keys of the kinds of attention that a model may have."""


class AnswerLength(NamedTuple):
    """The maximum length of an answer, from the size of its request.

    Attributes:
        most: int. Maximum tokens of any answer, its end included.
        factor: int ≥ 0. Tokens for each piece or word of the request; 0: all answers have the same
            maximum.
        extra: int. Further tokens.
        is_free: bool. Whether the end that the maximum forces costs nothing, see `MaximumLength`.
    """

    most: int
    factor: int = 0
    extra: int = 0
    is_free: bool = False

    def of(self, counts):
        """int32 (B,): maximum tokens of the answers to requests of sizes int32 (B,)."""
        most = tf.minimum(self.factor * counts + self.extra, self.most)
        return tf.where(counts > 0, most if self.factor else self.most, 1)

    @classmethod
    def of_texts(cls, most: int, is_free: bool = False) -> "AnswerLength":
        """At most twice the source's pieces, its end included, and 16 more."""
        return cls(most, 2, 16, is_free)

    @classmethod
    def of_trees(cls, most: int, max_source: int) -> "AnswerLength":
        """At most 4 symbols for each word, and 8 more.

        Args:
            most: int.
            max_source: int. Maximum words of a sentence, end included.

        Raises:
            ValueError: too little room for the longest sentence: the shortest tree of W words has
                W + 3 symbols.
        """
        if most < max_source + 2:
            raise ValueError(
                f"Expected max_length >= max_source + 2 = {max_source + 2}. "
                f"Received: max_length={most}, max_source={max_source}"
            )
        return cls(most, 4, 8)

    def __str__(self):
        return f"{self.factor} times the source's and {self.extra} more"


class GenerationService(Service):
    """A model whose answers are decoded token by token.

    The model is a `Stepper` over a dict of the reader's features; called with TOKENS beside them,
    it returns LOGITS. Further members of the model are optional and used if it has them:

    - `encoded(features)` returns a dict that stands for the features once the encoder has run.
    - `attends` names the kinds of attention, "encoder", "decoder" and "cross", whose weights
      `attention(batch)` returns, layer by layer in a named tuple: the signature `attention`.
    - `shown_weights` says what its WEIGHTS are: the signature `align`.
    - `grid`, (height, width), is the shape of the places that it attends to, of more than these
      the last.
    - `traces` says whether `traced(pictures, weights)` traces attention to a picture's patches.

    Args:
        model: Keras model.
        reader: `Reader`.
        writer: `Writer`.
        strategy: `Greedy()` or `Beam(...)`; its n best are answered.
        length: `AnswerLength`.
        vocabularies: dict of the vocabularies of reader and writer, by the names of their folders.
        views: declared views; those of a kind of attention that the model lacks are left out.
        target: name of the input of `score` and `align` that is a given text.

    Attributes:
        jit: bool. Whether XLA compiles searches of requests that come alone; False.
        familiarity: `Familiarity` of a picture's FEATURES, see `answer_familiarity`, or None.

    Raises:
        ValueError: `target` is no identifier, or the name of an input of the reader.
    """

    jit = False
    familiarity = None

    def __init__(
        self, model, reader, writer, strategy, length, vocabularies, views=(), target=TARGET
    ):
        super().__init__(model, vocabularies, (*views, *reader.notes))
        attends = getattr(model, "attends", ())
        lacking = {key for kind, key in KINDS.items() if kind not in attends}
        self.traces = getattr(model, "traces", False)
        lacking |= set() if self.traces else {TRACED_WEIGHTS}
        self.views = tuple(view for view in self.views if not view.names(OUTPUT) & lacking)
        self.reader, self.writer, self.strategy = reader, writer, strategy
        self.length, self.target, self.attends = length, target, attends
        inputs_of(reader, target)  # Checks the name.
        self._searches = CompiledFunctions(model)

    @property
    def inputs(self):
        return inputs_of(self.reader, self.target)

    def functions(self):
        names = list(self.reader.examples)
        functions = {"serving_default": (self.answer, names), "explain": (self.explain, names)}
        if self.writer.scores:
            functions["score"] = (self.score, [*names, self.target])
        if self.attends:
            functions[ATTENTION] = (self.attention, names)
        if hasattr(self.model, "shown_weights"):
            functions["align"] = (self.align, [*names, self.target])
        return functions

    def metadata(self):
        return {
            "beam_width": getattr(self.strategy, "width", 1),
            "length_alpha": getattr(self.strategy, "alpha", 0.0),
            "n_best": self.strategy.num_answers,
            "max_length": self.length.most,
            **self.reader.metadata(),
            **self.writer.metadata(),
        }

    def answer(self, *inputs):
        """Answers with text.

        Args:
            *inputs: strings (B, ...), those of the reader.

        Returns:
            dict: TEXT string (B, n), SCORE float32 (B, n), ERROR string (B,). A request that cannot
            be read has empty texts, scores of 0 and its own reason under ERROR; the others are
            unaffected. Outputs of the reader's notes, and FAMILIARITY, are added. An empty batch is
            answered with empty arrays.
        """
        answer = self.explain(*inputs, with_weights=False)
        noted = {note.output for note in self.views if isinstance(note, Note)} & answer.keys()
        return {key: answer[key] for key in (TEXT, SCORE, ERROR, *sorted(noted))}

    @accepts_empty_batch
    def explain(self, *inputs, with_weights=True):
        """Answers with text and the attention of the decoder for each token.

        Args:
            *inputs: as of `answer`.
            with_weights: bool. Whether WEIGHTS are in the answer.

        Returns:
            dict as of `answer`, with TOKENS, ANSWER_PIECES, TOKEN_SCORES and WEIGHTS, what the
            reader shows of the request and what the writer adds; see `contracts`.
        """
        read = self.reader.read(*inputs)
        context = self._encoded(read.features)
        result = self._decoded(read, context, with_weights)
        tokens = read.only_readable(result.tokens)
        answer = {
            **read.shown,
            **self.writer.write(tokens, read, self.model, context),
            SCORE: read.only_readable(result.scores),
            ERROR: read.reasons,
            TOKENS: tokens,
            TOKEN_SCORES: read.only_readable(result.token_scores),
        }
        if self.familiarity is not None:
            answer[FAMILIARITY] = read.only_readable(self.familiarity(context[FEATURES]))
        if with_weights:
            answer[WEIGHTS] = self._on_the_grid(read.only_readable(result.weights))
        return answer

    @accepts_empty_batch
    def attention(self, *inputs):
        """Answers with text and all attention weights, from a second pass over the best answer.

        Args:
            *inputs: as of `answer`.

        Returns:
            dict: TEXT string (B,), the best answer; ENCODER_WEIGHTS, DECODER_WEIGHTS and
            CROSS_WEIGHTS, and TRACED_WEIGHTS, 0 for a padding query, as far as the model has them;
            ANSWER_PIECES string (B, T), of texts SOURCE_PIECES string (B, S), ERROR string (B,).
        """
        read = self.reader.read(*inputs)
        context = self._encoded(read.features)
        result = self._decoded(read, context, with_weights=False)
        targets, tokens = _read_again(result.tokens[:, 0], read.readable)
        maps = self.model.attention({**context, TOKENS: tokens})
        answer = {} if read.pieces is None else {SOURCE_PIECES: read.pieces}
        for kind in self.attends:
            asking = _asking(read) if kind == "encoder" else targets != PAD_ID
            weights = tf.stack(getattr(maps, kind), axis=1)
            weights = tf.where(asking[:, None, None, :, None], weights, 0.0)
            answer[KINDS[kind]] = self._on_the_grid(weights) if kind == "cross" else weights
        if self.traces:
            last = tf.reduce_mean(maps.cross[-1], axis=1)
            traced = self.model.traced(read.features[IMAGE], last)
            traced = tf.where((targets != PAD_ID)[..., None], traced, 0.0)
            answer[TRACED_WEIGHTS] = self._on_the_grid(traced)
        written = self.writer.write(targets[:, None], read, self.model, context)
        return {
            **answer,
            TEXT: written[TEXT][:, 0],
            ANSWER_PIECES: pieces_of(targets, self.writer.vocabulary, read.readable),
            ERROR: read.reasons,
        }

    @accepts_empty_batch
    def score(self, *inputs):
        """Log-probability of given texts, each with its end, given the requests.

            score_b = Σ_t log p(y_t | y_1 … y_{t−1}, request_b), the end token included

        The text is scored in the tokenizer's own pieces, without length normalization. An empty
        text consists of its end only.

        Args:
            *inputs: as of `answer`, and last string (B,), one text a request; it is normalized as
                in training.

        Returns:
            dict: SCORE float32 (B,), TOKEN_SCORES float32 (B, T), ERROR string (B,). A request or
            text that cannot be read, or a text of more pieces than an answer may have, has scores
            of 0 and its error; the others are unaffected. Tokens that every answer begins with, as
            a prompt's, have scores of 0 where the text begins with them, too.

        Raises:
            InvalidArgumentError: different numbers of texts and requests.
        """
        read, tokens, targets, reasons = self._read_pairs(*inputs)
        batch = {**self._encoded(read.features), TOKENS: tokens}
        with self._cast_once():
            logits = self.model(batch, training=False)[LOGITS]
        scores = token_scores(logits, targets, reasons)
        if given := [*self.writer.forced, *self.writer.prompt]:  # As in answers, at no cost.
            begins = tf.reduce_all(targets[:, : len(given)] == given, axis=1)[:, None]
            scores = tf.where(begins & (tf.range(self.length.most) < len(given)), 0.0, scores)
        return {SCORE: tf.reduce_sum(scores, axis=1), TOKEN_SCORES: scores, ERROR: reasons}

    @accepts_empty_batch
    def align(self, *inputs):
        """Attention to the requests while the model reads given texts.

        Args:
            *inputs: as of `score`.

        Returns:
            dict: SOURCE_PIECES string (B, S), ANSWER_PIECES string (B, T), CROSS_WEIGHTS float32
            (B, N, H, T, S), of one layer and head where the model's attention has no more; 0 after
            the end. ERROR string (B,): a request or text that cannot be read has no pieces and
            weights of 0; the others are unaffected.

        Raises:
            InvalidArgumentError: different numbers of texts and requests.
        """
        read, tokens, targets, reasons = self._read_pairs(*inputs)
        readable = reasons == ""
        targets = tf.where(readable[:, None], targets, PAD_ID)
        lengths = tf.reduce_sum(tf.cast(targets != PAD_ID, tf.int32), axis=1)
        longest = tf.maximum(tf.reduce_max(lengths), 1)  # A model needs one step.
        targets = targets[:, :longest]
        batch = {**self._encoded(read.features), TOKENS: tokens[:, :longest]}
        if "cross" in self.attends:
            cross = self.model.attention(batch).cross
        else:
            cross = [self.model(batch, training=False)[WEIGHTS][:, None]]
        weights = tf.stack(cross, axis=1)
        return {
            CROSS_WEIGHTS: tf.where((targets != PAD_ID)[:, None, None, :, None], weights, 0.0),
            SOURCE_PIECES: tf.where(readable[:, None], read.pieces, ""),
            ANSWER_PIECES: pieces_of(targets, self.writer.vocabulary, readable),
            ERROR: reasons,
        }

    def _read_pairs(self, *inputs):
        """`Read`, inputs and targets of the decoder (B, T), and reasons (B,)."""
        *given, texts = inputs
        tf.debugging.assert_equal(
            tf.shape(given[0])[0],
            tf.shape(texts)[0],
            f"Expected as many {self.target}s as requests.",
        )
        read, unreadable = self.reader.read(*given), text_reasons(texts)
        texts = self.writer.targets(tf.where(unreadable == "", texts, ""), read)
        tokens, targets, counts = targets_of(texts, self.writer.vocabulary, self.length.most)
        named = tf.strings.join([f"the {self.target}: ", unreadable])
        long = too_long(f"a {self.target}", counts, self.length.most)
        reasons = first_reason(read.reasons, tf.where(unreadable != "", named, ""), long)
        return read, tokens, targets, reasons

    def _encoded(self, features):
        """What stands for the features once the encoder has run; the features otherwise."""
        encoded = getattr(self.model, "encoded", None)
        return features if encoded is None else encoded(features)

    def _decoded(self, read, context, with_weights):
        """`DecodeResult` of requests."""
        most, longest = self.length.of(read.counts), self.length.most
        limits = self.writer.limits(read, most)
        if self.length.factor:
            longest = tf.reduce_max(most)
            limits += [] if self.writer.keeps_length else [MaximumLength(most, self.length.is_free)]
        strategy, prompt = self.writer.strategy(self.strategy, read), self.writer.prompt
        prefix = repeated(prompt, tf.shape(read.counts)[0])
        how = {"prefix": prefix, "with_weights": with_weights, "constraints": limits}

        def search(context, steps):
            return strategy.run(self.model, context, steps, self._searches, **how)

        def most_of(pieces):
            return self.length.of(pieces) - len(prompt)

        with self._cast_once():
            steps = longest - len(prompt)
            if self.jit:
                check_compilable(context)
                result = alone_by_xla(search, context, steps, most_of, len(prompt))
            else:
                result = search(context, steps)
            if prefix is None or not with_weights:
                return result
            return with_prompt_weights(result, prefix, self.model, context)

    def _cast_once(self):
        """Context in which weights are cast once, of a model for which this changes nothing."""
        if getattr(self.model, "casts_uniformly", False):
            models = getattr(self.model, "models", [self.model])  # Those of an ensemble.
            return cast_once(*(model.decoder for model in models))
        return contextlib.nullcontext()

    def _on_the_grid(self, weights):
        """(..., S) to (..., grid height, grid width) of the last, if the model has a grid."""
        grid = getattr(self.model, "grid", None)
        if grid is None:
            return weights
        weights = weights[..., -grid[0] * grid[1] :]
        return tf.reshape(weights, tf.concat([tf.shape(weights)[:-1], grid], axis=0))


def targets_of(texts, tokenizer, max_length):
    """Given texts as targets of a decoder.

    Args:
        texts: string (B,).
        tokenizer: `Tokenizer`.
        max_length: int. T, to which longer texts are truncated, end included.

    Returns:
        inputs: int32 (B, T), START_ID first.
        targets: int32 (B, T), END_ID last.
        counts: int32 (B,), number of pieces before truncation, end included.
    """
    pieces = tokenizer.encode(texts)
    rows = pieces.nrows(tf.int32)
    targets = tf.concat([pieces[:, : max_length - 1], tf.fill((rows, 1), END_ID)], axis=1)
    targets = targets.to_tensor(PAD_ID, shape=(None, max_length))
    inputs = tf.concat([tf.fill((rows, 1), START_ID), targets[:, :-1]], axis=1)
    return inputs, targets, tf.cast(pieces.row_lengths(), tf.int32) + 1


def token_scores(logits, targets, reasons):
    """float32 (B, T): log-probabilities of targets, 0 for padding and where nothing could be read.

    Args:
        logits: float32 (B, T, V).
        targets: int32 (B, T), PAD_ID after the end.
        reasons: string (B,), why a request could not be read, or ''.
    """
    scores = tf.gather(log_probabilities(logits), targets, batch_dims=2)
    return tf.where((targets != PAD_ID) & (reasons == "")[:, None], scores, 0.0)


def _read_again(targets, readable):
    """Answers as decoder inputs of a second pass.

    Args:
        targets: int32 (B, T), of the answers, END_ID at their ends.
        readable: bool (B,), False where the request could not be read.

    Returns:
        targets: int32 (B, longest), PAD_ID where nothing could be read.
        inputs: int32 (B, longest), START_ID first.
    """
    longest = tf.reduce_max(tf.reduce_sum(tf.cast(targets != PAD_ID, tf.int32), axis=1))
    targets = tf.where(readable[:, None], targets[:, :longest], PAD_ID)
    inputs = tf.where(targets == END_ID, PAD_ID, targets)[:, :-1]
    starts = tf.fill((tf.shape(targets)[0], 1), START_ID)
    return targets, tf.concat([starts, inputs], axis=1)


def _asking(read):
    """bool (B, S): the places of readable sources that are no padding."""
    tokens = read.features[SOURCE]
    first = tokens if len(tokens.shape) == 2 else tokens[..., 0]
    return (first != PAD_ID) & read.readable[:, None]
