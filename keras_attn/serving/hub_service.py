"""Models of keras-hub that generate text, as services from strings to named answers."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from keras_attn.checks import check_sizes
from keras_attn.contracts import (
    ANSWER_PIECES,
    CROSS_WEIGHTS,
    ERROR,
    IMAGE,
    PROMPT_WEIGHTS,
    SCORE,
    SOURCE,
    SOURCE_PIECES,
    TEXT,
    WEIGHTS,
    WITHOUT_VIEWS,
)
from keras_attn.decoding.constraints import Constraint
from keras_attn.decoding.hub_attention import attention_layers
from keras_attn.decoding.hub_sampler import HubSampler
from keras_attn.decoding.loop import Strategy
from keras_attn.images.picture_format import PictureFormat
from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.function_service import FunctionService
from keras_attn.serving.hub_views import (
    HUB_PICTURE_VIEWS,
    HUB_TEXT_VIEWS,
    AnswerMasks,
    HubPieces,
    attention_answers,
)
from keras_attn.serving.readers.pictures import PictureReader
from keras_attn.serving.readers.reasons import EMPTY, first_reason, text_reasons
from keras_attn.serving.warm_up import warm_up_picture
from keras_attn.text.graph_object import GraphObject
from keras_attn.whole_file import made_folder

READ = ("encoder_padding_mask", "padding_mask")
CONTINUED = ("decoder_padding_mask", "padding_mask")
"""Which tokens are there of what a task reads, and of what its answers go on from."""
WAY_OUT = "export hub_service(..., attention=True) for them"
SAID = (TEXT, SCORE, ERROR)
STRINGS = (TEXT, ERROR, ANSWER_PIECES, SOURCE_PIECES)


def hub_service(
    task,
    strategy: Strategy,
    max_length: int,
    constraints: Sequence[Constraint] = (),
    strip_prompt: bool = False,
    stop_token_ids: Sequence[int] | None = None,
    one_by_one: bool = False,
    attention: bool = False,
    prompt: str | None = None,
) -> FunctionService:
    """A service of a keras-hub model that generates text, for `export_service`.

    Its SavedModel takes strings and answers with strings: the tokenizer of the task is part of the
    graph. It has the input `source`, the prompt or, of a `Seq2SeqLM`, the text to be read; of a
    `PaliGemmaCausalLM` also `image`, encoded pictures. It answers with `text` (B, n) and `score`
    (B, n), the best first, and `error` (B,). A request that cannot be read has empty texts and its
    error; the others are unaffected.

    With `attention`, the signature `explain` answers with the best text and what every layer and
    head attended to as each of its tokens was said: of the prompt, the text that was read, or the
    picture; see `hub_attention`.

    Args:
        task: keras-hub `CausalLM`, `Seq2SeqLM` or `PaliGemmaCausalLM` with its preprocessor.
        strategy: `Greedy()`, `Beam(...)`, `Sampling(...)`; its n best are answered.
        max_length: int ≥ 2. Tokens of an answer at most; with those of its prompt, if the task
            has no encoder, as keras-hub counts them.
        constraints: see `HubSampler`.
        strip_prompt: bool. Whether answers are without their prompts.
        stop_token_ids: ids that end an answer; None: the tokenizer's ends, as in keras-hub.
        one_by_one: bool. Whether the requests of a batch are answered one after the other: for
            layers that cannot be traced for any batch, such as those of `T5Seq2SeqLM`. A
            `PaliGemmaCausalLM` always does so, because it reads prompts as a whole.
        attention: bool. Whether `explain` says what was attended to.
        prompt: of a model that reads pictures, what each is asked; pictures are then the only
            input. None: requests have prompts of their own.

    Raises:
        ValueError: no task that generates text, one without its preprocessor, or with fewer
            positions; a tokenizer that cannot run in a graph; no strategy; a length penalty for
            prompts, which would depend on the batch; layers without attention weights; a prompt
            for a model of texts.

    Example:
        >>> import keras_hub  # doctest: +SKIP
        >>> task = keras_hub.models.CausalLM.from_preset("gpt2_base_en")  # doctest: +SKIP
        >>> service = hub_service(task, Beam(4), max_length=64)  # doctest: +SKIP
        >>> export_service(service, "saved_models/gpt2", "# GPT-2")  # doctest: +SKIP
    """
    check_sizes(max_length=max_length)
    _check(task, max_length)
    if not hasattr(task, "call_decoder_with_cache") and getattr(strategy, "alpha", 0.0):
        raise ValueError(
            "Expected alpha=0 for a model that goes on from prompts: a length penalty would count "
            f"what is longer than the shortest prompt of a batch. Received: {strategy}"
        )
    tokenizer = task.preprocessor.tokenizer
    stops = _stops(tokenizer) if stop_token_ids is None else [*stop_token_ids]
    search = _Search(task, HubSampler(strategy, constraints), max_length, stops, strip_prompt)
    size = getattr(task.backbone, "image_size", None)
    reads_pictures = hasattr(task.backbone, "image_sequence_length")
    if prompt is not None:
        if not reads_pictures:
            raise ValueError(
                "Expected a prompt only for a model that reads pictures: the prompts of others are "
                f"their requests. Received: {prompt!r:.80} for {type(task).__name__}"
            )
        _check_prompt(task.preprocessor, prompt, max_length)

    def function_of(answer, names):
        asked = _one_by_one(answer, names) if one_by_one or reads_pictures else answer

        def of_texts(source):
            return asked(source, tf.zeros_like(source))

        def of_pictures(image, source):
            pictures, _, reasons = PictureFormat(size, size).decode_batch(image)
            return asked(source, reasons, tf.cast(pictures, tf.float32))

        def of_pictures_alone(image):
            return of_pictures(image, tf.fill(tf.shape(image), prompt))

        if not reads_pictures:
            return of_texts
        return of_pictures if prompt is None else of_pictures_alone

    function, explained, views = function_of(search.answer, SAID), None, ()
    if attention:
        attention_layers(task)  # Checks that there are some.
        pieces, views = HubPieces(tokenizer, stops), HUB_TEXT_VIEWS
        shown = (ANSWER_PIECES, SOURCE_PIECES, CROSS_WEIGHTS, WEIGHTS)
        if reads_pictures:
            views, shown = HUB_PICTURE_VIEWS, (*shown, PROMPT_WEIGHTS)
        explain = functools.partial(search.explain, pieces)
        explained = function_of(explain, (*SAID, *shown))
    examples, notes = {SOURCE: b"a"}, {"n_best": strategy.num_answers}
    if not attention:
        notes[WITHOUT_VIEWS] = WAY_OUT
    if reads_pictures:
        examples = {IMAGE: warm_up_picture(), **({} if prompt is not None else examples)}
        notes |= PictureReader(PictureFormat(size, size)).metadata()
    tokenizers, served = {"tokenizer": _Tokenizer(tokenizer)}, (TEXT, SCORE)
    return FunctionService(task, tokenizers, function, served, views, examples, notes, explained)


class _Search(NamedTuple):
    """How a task answers."""

    task: Any
    sampler: HubSampler
    max_length: int
    stops: list[int]
    strips: bool

    def answer(self, texts, unreadable, images=None):
        """Answers to prompts string (B,), unless a reason says why one is unreadable."""
        return self._found(texts, unreadable, images)[0]

    def explain(self, pieces, texts, unreadable, images=None):
        """The best answers, and what was attended to, in `HubPieces`."""
        said, inputs, mask, answers = self._found(texts, unreadable, images)
        masks = AnswerMasks(mask, answers.written[:, 0])
        tokens, readable = answers.sequences[:, 0], said[ERROR] == ""
        shown = attention_answers(self.task, inputs, tokens, masks, pieces, readable)
        return {**said, TEXT: said[TEXT][:, :1], SCORE: said[SCORE][:, :1], **shown}

    def _found(self, texts, unreadable, images):
        """Answers, and the task's inputs, which of their tokens are given, and `HubAnswers`."""
        preprocessor, length = self.task.preprocessor, self.max_length
        reasons = first_reason(unreadable, text_reasons(texts))
        texts = tf.where(reasons == "", texts, "")
        given = texts if images is None else {"prompts": texts, "images": images}
        inputs = preprocessor.generate_preprocess(given, sequence_length=length)
        read, key = (next(key for key in keys if key in inputs) for keys in (READ, CONTINUED))
        reasons = first_reason(reasons, _sizes(tf.cast(inputs[read], tf.bool)))
        mask = tf.cast(inputs[key], tf.bool) | (tf.range(length) == 0)
        inputs = {**inputs, key: tf.cast(mask, inputs[key].dtype)}
        with _searching(self.task, self.sampler) as found:
            self.task.generate_step(inputs, stop_token_ids=self.stops)
        (answers,) = found
        shown = answers.written if self.strips else answers.written | mask[:, None]
        said = _text(preprocessor.tokenizer, answers.sequences, shown)
        readable = (reasons == "")[:, None]
        texts = tf.where(readable, said, "")
        scores = tf.where(readable, answers.result.scores, 0.0)
        return {TEXT: texts, SCORE: scores, ERROR: reasons}, inputs, mask, answers


def _one_by_one(answer, names):
    """A function of a batch that answers its requests one after the other, with these names."""
    kinds = {name: tf.string if name in STRINGS else tf.float32 for name in names}

    def each(*columns):
        return tf.map_fn(
            lambda row: _first(answer(*(part[None] for part in row))),
            columns,
            fn_output_signature=kinds,
        )

    return each


def _first(answers):
    """Answers (B, ...) to those of the first request."""
    return {name: values[0] for name, values in answers.items()}


def _sizes(there):
    """string (B,): why tokens, there where bool (B, T), cannot be read, or ''.

    keras-hub cuts what is too long, so what fills its place may have been longer.
    """
    length = there.shape[1]
    full = f"a text of {length} tokens or more (expected fewer)"
    reasons = tf.where(tf.reduce_all(there, axis=1), full, "")
    return tf.where(tf.reduce_any(there, axis=1), reasons, EMPTY)


def _text(tokenizer, tokens, shown):
    """string (B, n): the text of those of the tokens (B, n, T) that are shown and not special."""
    special = tf.constant(getattr(tokenizer, "special_token_ids", []), tokens.dtype)
    shown &= ~tf.reduce_any(tokens[..., None] == special, axis=-1)
    length = tf.shape(tokens)[2]
    rows, shown = tf.reshape(tokens, (-1, length)), tf.reshape(shown, (-1, length))
    said = tokenizer.detokenize(tf.ragged.boolean_mask(rows, shown))
    return tf.reshape(said, tf.shape(tokens)[:2])


@contextlib.contextmanager
def _searching(task, sampler):
    """Context in which a task samples by a `HubSampler`, whose `HubAnswers` go into the list."""
    from keras.src.backend.tensorflow import core

    found: list[Any] = []

    def sample(next, prompt, cache=None, index=0, mask=None, stop_token_ids=None, **others):
        found.append(sampler.search(next, prompt, cache, index, mask, stop_token_ids))
        return found[-1].sequences[:, 0]

    before = getattr(task, "sampler", None), core.slice_update
    task.sampler, core.slice_update = sample, _slice_update
    try:
        yield found
    finally:
        task.sampler, core.slice_update = before


def _slice_update(inputs, start_indices, updates):
    """`keras.ops.slice_update` of one axis by plain operations.

    What Keras makes of it on TensorFlow is compiled by XLA, which TF Serving does not have.
    """
    axes = [axis for axis, start in enumerate(start_indices) if not _is_zero(start)]
    if not axes:
        return tf.ensure_shape(updates, inputs.shape)
    if len(axes) > 1:
        raise ValueError(
            f"Expected a cache that is written along one axis. Received: start={start_indices}"
        )
    (axis,) = axes
    size, rank = tf.shape(updates)[axis], len(inputs.shape)
    place = tf.range(tf.shape(inputs)[axis]) - start_indices[axis]
    is_new = (place >= 0) & (place < size)
    is_new = tf.reshape(is_new, [-1 if other == axis else 1 for other in range(rank)])
    return tf.where(
        is_new, tf.gather(updates, tf.clip_by_value(place, 0, size - 1), axis=axis), inputs
    )


def _is_zero(start):
    return isinstance(start, int) and start == 0


class _Tokenizer(GraphObject):
    """A tokenizer of keras-hub, whose tables go into a SavedModel."""

    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer

    def save(self, folder):
        """Writes it as a preset of keras-hub."""
        self.tokenizer.save_to_preset(str(made_folder(folder)))


def _stops(tokenizer):
    """Ids of the tokens that end a text, as keras-hub's `generate` finds them."""
    ids = (getattr(tokenizer, name, None) for name in ("end_token_id", "end_token2_id"))
    return [token for token in ids if token is not None]


def _check_prompt(preprocessor, prompt, max_length):
    """Raises ValueError for a prompt that fills an answer."""
    count = len(preprocessor.tokenizer(prompt)) + 1  # The start token.
    if count >= max_length:
        raise ValueError(
            f"Expected a prompt of fewer than max_length={max_length} tokens. "
            f"Received: {prompt!r:.80}, of {count}"
        )


def _check_tokenizer(tokenizer):
    """Raises ValueError for a tokenizer that cannot be traced into a graph."""
    tokens = tf.RaggedTensorSpec((None, None), tf.int32)
    try:
        for function, spec in (
            (tokenizer.tokenize, tf.TensorSpec((None,), tf.string)),
            (tokenizer.detokenize, tokens),
        ):
            tf.function(function, autograph=False).get_concrete_function(spec)
    except Exception as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ValueError(
            "Expected a tokenizer that runs in a graph of TensorFlow, as keras-hub's own do with "
            "tensorflow-text; with any other, task.compile(sampler=HubSampler(...)) searches in "
            "Python, without an export. "
            f"Received: a {type(tokenizer).__name__}, which fails there: {reason:.200}"
        ) from error


def _check(task, max_length):
    """Raises ValueError for what is no task that generates text from text, or lacks a part."""
    name = type(task).__name__
    if not all(hasattr(task, part) for part in ("generate_step", "backbone")):
        raise ValueError(
            "Expected a task of keras-hub that generates text, such as a CausalLM. "
            f"Received: {name}"
        )
    preprocessor = getattr(task, "preprocessor", None)
    if not hasattr(preprocessor, "generate_preprocess") or preprocessor.tokenizer is None:
        raise ValueError(
            f"Expected a {name} with its preprocessor and tokenizer. "
            f"Received: preprocessor={preprocessor!r}"
        )
    _check_tokenizer(preprocessor.tokenizer)
    lengths = max_length, getattr(preprocessor, "encoder_sequence_length", None) or 0
    most = getattr(task.backbone, "max_sequence_length", None) or max(lengths)
    if max(lengths) > most:
        raise ValueError(
            f"Expected max_length and encoder_sequence_length <= {most}, the positions of the "
            f"{name}. Received: {' and '.join(map(str, lengths))}"
        )
