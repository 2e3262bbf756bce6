"""The data-to-text model as a service: facts in, sentences out."""

from dataclasses import replace

import tensorflow as tf

from keras_attn.contracts import (
    ANSWER_PIECES,
    ERROR,
    FACTS,
    LINKS,
    LOGITS,
    PAD_ID,
    SCORE,
    SOURCE,
    SOURCE_FACTS,
    SOURCE_PIECES,
    TARGET,
    TEXT,
    TOKENS,
    WEIGHTS,
)
from keras_attn.decoding import AllowedTokens, Beam, decode, rank_by_coverage
from keras_attn.decoding.maximum_length import MaximumLength
from keras_attn.models.data_to_text.fact_encoder import FactTokens
from keras_attn.serving.answers import (
    answer_of,
    first_reason,
    pieces_of,
    scores_of,
    search_of,
    targets_of,
    too_long,
)
from keras_attn.serving.empty_batch import accepts_empty_batch
from keras_attn.serving.fact_sets import read_fact_sets
from keras_attn.serving.sources import text_reasons
from keras_attn.serving.text_service import most_pieces

WARM_UP_FACT = [b"a", b"b", b"c"]


class FactService(tf.Module):
    """A data-to-text model with its reader of facts, tokenizer and search.

    Names are made readable in the graph: underscores and camel case become words, quotes around
    values are removed. An answer has no slot without a name, and of the hypotheses of a beam search
    those with most of the set's slots come first, see `rank_by_coverage`. Lengths of answers are
    limited as those of `TextService`.

    Args:
        model: `DataToText`.
        tokenizer: `SlotTokenizer` of facts and texts.
        fields: `SymbolTable` of the properties that the link matrix knows.
        strategy: `Greedy()` or `Beam(...)`; its n best are answered.
        max_length: int. Maximum length of a text in pieces, end included.
        max_source: int. Maximum length of a set of facts in pieces.
        max_facts: int. Maximum facts of a set.
    """

    def __init__(self, model, tokenizer, fields, strategy, max_length, max_source, max_facts):
        super().__init__()
        self.model, self.tokenizer, self.fields = model, tokenizer, fields
        self.strategy, self.max_length = strategy, max_length
        self.max_source, self.max_facts = max_source, max_facts

    def answer(self, facts):
        """Answers with text.

        Args:
            facts: string (B, n, 3), see `contracts.FACTS`.

        Returns:
            dict: TEXT string (B, n), SCORE float32 (B, n), ERROR string (B,). A set that has no
            facts, too many or too long ones, one twice, one without property or object, or text
            that is not UTF-8 has empty texts, scores of 0 and its own reason under ERROR; the
            others are unaffected. An empty batch is answered with empty arrays.
        """
        answer = self.explain(facts, with_weights=False)
        return {key: answer[key] for key in (TEXT, SCORE, ERROR)}

    @accepts_empty_batch
    def explain(self, facts, with_weights=True):
        """Answers with text, and with the attention to the facts for each token.

        Args:
            facts: string (B, n, 3).
            with_weights: bool. Whether WEIGHTS are in the answer.

        Returns:
            dict as of `answer`, with SOURCE_PIECES (a slot is "⟨1⟩" and so on), SOURCE_FACTS,
            LINKS, TOKENS, ANSWER_PIECES, TOKEN_SCORES and WEIGHTS float32 (B, n, T, S); see
            `contracts`.
        """
        read = self._read(facts)
        tokens, readable = FactTokens.of(read.tokens), read.reasons == ""
        most = tf.where(readable, most_pieces(tokens.pieces, self.max_length), 1)
        result = self._decoded(read, most, with_weights)
        answer = answer_of(result, self.tokenizer, read.reasons)
        for key in (TEXT, ANSWER_PIECES):
            answer[key] = self.tokenizer.fill(answer[key], read.names)
        pieces = pieces_of(tokens.pieces, self.tokenizer, readable)
        answer[SOURCE_PIECES] = self.tokenizer.fill(pieces, self._labels(read.names))
        answer[SOURCE_FACTS] = tokens.facts
        present = tf.pad(read.present, [[0, 0], [1, 0]], constant_values=True)
        asking = present & readable[:, None]
        links = self.model.followers(read.fields, read.present)
        answer[LINKS] = tf.where(asking[..., None], links, 0.0)
        if with_weights:
            weights = tf.where(readable[:, None, None, None], result.weights, 0.0)
            answer[WEIGHTS] = weights
        return answer

    @accepts_empty_batch
    def score(self, facts, target):
        """Log-probability of given texts, each with its end, given the facts.

        Args:
            facts: string (B, n, 3).
            target: string (B,), one text per set; it is normalized and its names get their slots,
                as in training.

        Returns:
            dict: SCORE float32 (B,), TOKEN_SCORES float32 (B, T), ERROR string (B,). A set or a
            text that cannot be read has scores of 0 and its error; the others are unaffected.

        Raises:
            InvalidArgumentError: different numbers of texts and sets.
        """
        tf.debugging.assert_equal(
            tf.shape(facts)[:1], tf.shape(target), "Expected as many targets as sets of facts."
        )
        read, unreadable = self._read(facts), text_reasons(target)
        target = self.tokenizer.normalize(tf.where(unreadable == "", target, ""))
        target = self.tokenizer.mark(target, read.names)
        inputs, targets, counts = targets_of(target, self.tokenizer, self.max_length)
        unreadable = tf.where(unreadable != "", tf.strings.join(["the target: ", unreadable]), "")
        long = too_long("a target", counts, self.max_length)
        logits = self.model({SOURCE: read.tokens, TOKENS: inputs}, training=False)[LOGITS]
        return scores_of(logits, targets, first_reason(read.reasons, unreadable, long))

    def signatures(self):
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        facts = tf.TensorSpec((None, None, 3), tf.string, name=FACTS)
        target = tf.TensorSpec((None,), tf.string, name=TARGET)
        return {
            "serving_default": (self.answer, [facts]),
            "explain": (self.explain, [facts]),
            "score": (self.score, [facts, target]),
        }

    def requests(self, count):
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        facts = {FACTS: [[WARM_UP_FACT]] * count}
        pair = {**facts, TARGET: [b"a"] * count}
        return {name: pair if name == "score" else facts for name in self.signatures()}

    def tokenizers(self):
        """dict from folder name to vocabulary."""
        return {"tokenizer": self.tokenizer, "fields": self.fields}

    def metadata(self):
        """Description of the service without its model, of JSON types."""
        names = ("max_length", "max_source", "max_facts")
        return {**search_of(self.strategy), **{name: getattr(self, name) for name in names}}

    def _labels(self, names):
        """What slots are called among the pieces of the facts, "⟨1⟩" and so on: of (B, slots)."""
        labels = [f"⟨{slot + 1}⟩" for slot in range(self.tokenizer.slots)]
        return tf.broadcast_to(tf.constant(labels, tf.string), tf.shape(names))

    def _decoded(self, read, most, with_weights):
        """`DecodeResult` of sets, whose answers have at most `most` pieces, int32 (B,)."""
        search, slots = self.strategy, self.tokenizer.slots
        covers = bool(slots) and isinstance(search, Beam)
        if covers:
            search = replace(search, n_best=search.width)
        limits = [MaximumLength(most), *self._own_slots(read.names)]
        context, longest = {SOURCE: read.tokens}, tf.reduce_max(most)
        result = decode(self.model, context, search, longest, with_weights, limits)
        if not covers:
            return result
        wanted = self.tokenizer.plain.vocabulary_size + tf.range(slots)
        wanted = tf.where(read.names != "", wanted, PAD_ID)
        return rank_by_coverage(result, wanted, self.strategy.n_best)

    def _own_slots(self, names):
        """The constraint that an answer has none but the slots of its set: a list."""
        if not self.tokenizer.slots:
            return []
        others = [[0, 0], [self.tokenizer.plain.vocabulary_size, 0]]
        return [AllowedTokens(tf.pad(names != "", others, constant_values=True))]

    def _read(self, facts):
        return read_fact_sets(facts, self.tokenizer, self.fields, self.max_facts, self.max_source)
