"""Contracts between the parts of keras-attn: shape letters, batch keys, answer keys, the stepper.

Shape letters used in every docstring: B batch (pictures or sentence pairs), C captions of one
picture, K hypotheses of one example, T query or output length, S key or source length (grid
cells of a picture), D features, H heads or hidden units, V vocabulary, N = B·K hypothesis rows.
"""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

PAD_ID = 0
"""Id of padding."""
UNKNOWN_ID = 1
"""Id of what a vocabulary does not have."""
START_ID = 2
"""Id of the first token that a decoder reads."""
END_ID = 3
"""Id of the last token of a sequence."""
METADATA_FILE = Path("assets.extra", "keras_attn.json")
"""Metadata of an exported model, in the folder of a version."""
CARD_FILE = "README.md"
"""Model card of an exported model, in the folder of a version."""
SENTENCES = "sentences"
"""Key of the metadata of an exported captioner: whether its texts are sentences, and have no spaces
before punctuation; earlier versions do not say."""
SCORE_UNIT = "score_unit"
"""Key of the metadata of an exported model: what SCORE is measured in, if not in nats."""
WITHOUT_VIEWS = "without_views"
"""Key of the metadata of an exported model that declares no views: what to do to have some."""
TERMS = "terms"
"""Key of the terms of use in the metadata of an exported model."""
START_PIECE, END_PIECE = "<s>", "</s>"
"""Pieces of START_ID and END_ID."""
DEAD = -1e9
"""Score of missing or forbidden candidates of a search."""
PLANNING_PIECE = "..."
"""What STEPS have for a step without input between a problem and its answer."""
WORD_MARK = "▁"
"""Marker before the first piece of a word, as in SentencePiece."""

PICTURE_SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"),
    *(".tif", ".tiff", ".avif", ".heic", ".heif"),  # Converted for training, else refused by name.
)
"""Of the names of files that are taken for pictures, in lower case."""

IMAGE = "image"
"""Batch key: uint8 (B, height, width, 3), RGB, 0 to 255."""
FEATURES = "features"
"""Batch key: float (B, S, D), the frozen encoder's grid, read from the cache instead of IMAGE."""
ENCODED = "encoded"
"""Batch key: what a model's encoder made of the batch, which is read instead of its sources."""
CAPTION = "caption"
"""Request key of `score`: string (B,), one caption a picture."""
SOURCE = "source"
"""Batch key: int32 (B, S), tokens of the sentence to translate; PAD_ID after it. Request key of a
text service: string (B,)."""
FACTS = "facts"
"""Request key of a data-to-text service: string (B, n, 3), subject, property and object of each
fact; a fact of three empty strings is padding. The subject may be empty, as in tables."""
STORY = "story"
"""Batch key: int32 (B, M, W), tokens of a story's sentences in their order; PAD_ID after each and
after the last. Request key of a question answerer: string (B,), a sentence on each line."""
QUESTION = "question"
"""Batch key: int32 (B, W), tokens of a question about STORY; PAD_ID after it. Request key: string
(B,)."""
SEQUENCE = "sequence"
"""Batch key: float32 (B, T, E), the vectors of an algorithmic problem, then zeros while it is
answered. Request key: string (B,), its words."""
TARGET = "target"
"""Request key of a text service's `score`: string (B,), one target a source."""
LABEL = "label"
"""Request key of a classifier's `score`: string (B,), one label a request."""
TOKENS = "tokens"
"""Batch key: int32 (B, C, T), decoder input: START_ID, then the caption; PAD_ID after it. Where
there is one target an example, as in translation: int32 (B, T). Answer key: int32 (B, n, T), PAD_ID
after the end."""

LOGITS = "logits"
"""Output key of a model: float32 (B, C, T, V), or (B, T, V)."""
WEIGHTS = "weights"
"""Output key of a model: float32 (B, C, T, S), or (B, T, S), attention weights; rows sum to 1.
Answer key: float32 (B, n, T, grid height, grid width), or (B, n, T, S) of a text service; padding
is 0. Of a classifier: float32 (B, grid height, grid width), how much of each patch is in the
picture's vector."""
CONTRIBUTIONS = "contributions"
"""Answer key of a classifier of texts beside WEIGHTS: float32 (B, S), what each piece adds to the
logit of the most probable label, less the mean of what it adds to all labels' logits."""
TAG_LOGITS = "tag_logits"
"""Output key of a parser: float32 (B, S, tags), a row for each word. Key of its targets: int32
(B, S), PAD_ID where there is no word."""
LOCATIONS = "locations"
"""Output key of a model that samples locations in training: int32 (B, C, T) or (B, T),
−1 for none; with several samples of each sequence, these lie side by side."""

TEXT = "text"
"""Answer key: string (B, n), best first by score, or by `rank_by_coverage`; of the signature
`attention`: string (B,), the best."""
SCORE = "score"
"""Answer key: float32 (B, n), the strategy's score in nats (see `decoding`) of each text, or in
SCORE_UNIT; of the signature `score`: float32 (B,), log-probability of the caption, target or label
in nats."""
LABELS = "labels"
"""Answer key of a classifier: string (B, n), the most probable first."""
LABEL_SCORES = "scores"
"""Answer key of a classifier: float32 (B, n), probabilities of LABELS, whose sum is 1 at most."""
CROP = "crop"
"""Answer key of a classifier behind spatial transformers: uint8 (B, height, width, 3), RGB, what
the last of them read."""
GRID = "grid"
"""Answer key beside CROP: float32 (B, height, width, 2), where in PICTURE each pixel was read, x
and y from −1 to 1."""
PICTURE = "picture"
"""Answer key beside GRID: uint8 (B, height, width, 3), RGB, what the first transformer saw."""
VIEW = "view"
"""Answer key beside GRID: int32 (B, 2), which of parallel views CROP is of, from 1, and of how
many."""
ERROR = "error"
"""Answer key: string (B,), the error of a bad item, else empty."""
MISSING_ROWS = "missing_rows"
"""Answer key of a service of pictures: int32 (B,), how many of the last rows of a picture that is
cut short are gray, 1 where it ends too early by less than a row; 0 for a whole picture."""
FAMILIARITY = "familiarity"
"""Answer key of a captioner: float32 (B,), the probability that the picture is of the kind that it
was trained on; 0 for a picture that cannot be read."""
ANOTHER_REQUEST = "send this picture in another request"
"""End of the error of a picture for which the pictures before it in its request leave no room."""
SOURCE_PIECES = "source_pieces"
"""Answer key: string (B, S), the pieces of the source, "</s>" for its end, then ''; of a parser its
words, with WORD_MARK before each in `attention`."""
SOURCE_FACTS = "source_facts"
"""Answer key beside SOURCE_PIECES: int32 (B, S), the fact that each piece belongs to, from 1 in the
order of FACTS; 0 for padding."""
LINKS = "links"
"""Answer key beside FACTS: float32 (B, n + 1, n), what the link matrix alone expects first (row 0)
and after fact i (row i, from 1); rows sum to 1, padding is 0."""
SENTENCES = "sentences"
"""Answer key of a question answerer: string (B, M), the sentences of the story, then ''. Its
WEIGHTS are float32 (B, K, M): how much of each sentence each hop read, where rows sum to 1,
or each head, where they sum to at most 1."""
DROPPED = "dropped"
"""Answer key beside SENTENCES: int32 (B,), the oldest sentences of the story that were not read,
for which the memory has no room."""
LONGER = "longer"
"""Answer key beside SEQUENCE: int32 (B,), 1 where the problem is longer than any trained on."""
STEPS = "steps"
"""Answer key beside SEQUENCE: string (B, T), the word of each step of the problem, END_PIECE for
its end, PLANNING_PIECE for each planning step, the words of the answer, then ''."""
WRITE_WEIGHTS, READ_WEIGHTS = "write_weights", "read_weights"
"""Answer keys beside STEPS: float32 (B, T, H, N), how much of each of N slots each head writes to
or reads in each step; 0 after the last step. A model without a memory has neither."""
TAGS = "tags"
"""Answer key of a parser: string (B, W), the tag of each word of the source, then ''."""
ANSWER_PIECES = "pieces"
"""Answer key: string (B, n, T), the piece of text that each token stands for; of the signature
`attention` and `align`: string (B, T), "</s>" for the end."""
ENCODER_WEIGHTS = "encoder_weights"
"""Answer key of `attention`: float32 (B, N, H, S, S), encoder self-attention by layer and head;
of a classifier, of its patches row by row, the class token before them where there is one."""
DECODER_WEIGHTS = "decoder_weights"
"""Answer key of `attention`: float32 (B, N, H, T, T), decoder self-attention; position t reads
target token t − 1 (START_ID for 0) and predicts token t."""
CROSS_WEIGHTS = "cross_weights"
"""Answer key of `attention` and `align`: float32 (B, N, H, T, S), attention of the decoder to the
source; of a captioner (B, N, H, T, grid height, grid width)."""
TRACED_WEIGHTS = "traced_weights"
"""Answer key of `attention` of a captioner behind a Vision Transformer: float32 (B, T, grid height,
grid width), the last layer's CROSS_WEIGHTS, mean over heads and class token included, traced to the
patches by attention rollout."""
PROMPT_WEIGHTS = "prompt_weights"
"""Answer key of `explain` of a keras-hub model that reads pictures: float32 (B, N, H, T, S), its
attention to the prompt, beside CROSS_WEIGHTS to the picture."""
TOKEN_SCORES = "token_scores"
"""Answer key: float32 (B, n, T), log-probability of each token in nats, 0 after the end; of
the signature `score`: float32 (B, T)."""


class StepResult(NamedTuple):
    """Result of one decoding step.

    Attributes:
        logits: float32 (N, V).
        state: the stepper's own structure; every leaf leads with N.
        weights: float32 (N, S), or None if weights were not requested.
    """

    logits: Any
    state: Any
    weights: Any


class Stepper(Protocol):
    """Interface of decoders for all decoding strategies.

    `memory` is per example, leads with B and is never reordered. `state` is per hypothesis: every
    leaf leads with N = B·K, and the K hypotheses of one example are neighbors. Default
    implementations are in `keras_attn.ops.hypotheses`.
    """

    def start(self, context: Any, length: Any) -> tuple[Any, Any]:
        """Returns memory and the state of one hypothesis per example (N = B).

        At most `length` tokens, an int or an int32 scalar, will be consumed.
        """

    def step(self, tokens: Any, memory: Any, state: Any) -> StepResult:
        """Consumes one token per hypothesis, int32 (N,)."""

    def prefill(self, prefix: Any, memory: Any, state: Any) -> StepResult:
        """Consumes tokens int32 (N, P) at once; a row may end with PAD_ID, its first is real.

        State as if stepped token by token; logits and weights after each row's last real token.
        """

    def widen(self, state: Any, width: int) -> Any:
        """From one hypothesis per example to `width` equal ones."""

    def reorder(self, state: Any, parents: Any) -> Any:
        """Hypothesis k of example b goes on from hypothesis parents[b, k], int32 (B, K)."""


class DecoderInput(Protocol):
    """A layer that adds something to the embedded tokens of a `TransformerDecoder`.

    For task-specific decoder inputs, such as the next word of a sentence to parse (`NextSource`).
    Called with tokens int32 (N, T) and the encoder's output (B, S, E), it returns (N, T, D).
    """

    def start(self, value: Any) -> tuple[Any, Any]:
        """Memory that leads with B, and the state of one hypothesis an example, from (B, S, E)."""

    def step(self, tokens: Any, memory: Any, state: Any) -> tuple[Any, Any]:
        """(N, P, D) for tokens int32 (N, P), of which any may be PAD_ID, and the next state."""


class DecodeResult(NamedTuple):
    """Decoded hypotheses, best first.

    Attributes:
        tokens: int32 (B, n, T); a forced prefix and the end token are included, PAD_ID follows.
        lengths: int32 (B, n), tokens before padding.
        scores: float32 (B, n), nats, after the strategy's length normalization, without a forced
            prefix; −1e9 where fewer than n hypotheses exist.
        token_scores: float32 (B, n, T), log-probability of each token, 0 on padding and on a forced
            prefix.
        weights: float32 (B, n, T, S), 0 on padding and on a forced prefix; or None.
    """

    tokens: Any
    lengths: Any
    scores: Any
    token_scores: Any
    weights: Any
