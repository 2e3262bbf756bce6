"""Callbacks of the sequence-to-sequence task: metrics and alignment pictures of greedy answers."""

from functools import partial

import tensorflow as tf

from keras_attn.contracts import SOURCE
from keras_attn.evaluation.text_metrics import text_metrics
from keras_attn.serving.sources import read_sources
from keras_attn.serving.text_service import TextService, most_pieces
from keras_attn.training.callbacks import AttentionImages, GenerationMetrics
from keras_attn.viz.alignment import Alignment, alignment_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures
from keras_attn_pipelines.tasks.seq2seq.names import SOURCE_TOKENIZER, TARGET_TOKENIZER

PICTURED = 3


def text_scoring(task, model, data, batch: int = 64) -> GenerationMetrics:
    """The callback that scores greedy answers on dev, in batches of similar length.

    A source that is too long for the model is replaced by an empty one.
    """
    pairs = sorted(data.splits["dev"], key=lambda pair: len(pair.source))
    tokenizer = data.extra.vocabularies[TARGET_TOKENIZER]
    source_tokenizer = data.extra.vocabularies.get(SOURCE_TOKENIZER, tokenizer)
    contexts = [
        _context(pairs[start : start + batch], source_tokenizer, task.longest_source, batch)
        for start in range(0, len(pairs), batch)
    ]
    references = [pair.target for pair in pairs]

    def length(context):
        return tf.reduce_max(most_pieces(context[SOURCE], task.lengths[-1]))

    metrics = partial(text_metrics, tokenization=task.scoring.metric_tokenization)
    return GenerationMetrics(model, contexts, tokenizer, references, length, metrics)


def alignment_pictures(pairs, service: TextService, folder) -> AttentionImages:
    """The callback that draws the alignments of the first few answers."""
    sources = [pair.source for pair in pairs[:PICTURED]]

    def figure(answer, row):
        return alignment_figure(Alignment.of(answer).in_words())

    return answer_pictures(service.explain, [sources], figure, folder)


def _context(pairs, tokenizer, longest, batch):
    """Source tokens int32 (batch, S) of a few pairs, padded with rows of END_ID."""
    texts = [pair.source for pair in pairs] + [""] * (batch - len(pairs))
    return {SOURCE: read_sources(tf.constant(texts), tokenizer, longest)[0]}
