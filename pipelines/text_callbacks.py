"""What a training from text to text shows after each epoch: metrics of its texts, alignments."""

import numpy as np
import tensorflow as tf

from keras_attn.contracts import SOURCE
from keras_attn.evaluation.text_metrics import text_metrics
from keras_attn.serving.sources import read_sources
from keras_attn.serving.text_service import TextService, most_pieces
from keras_attn.training.callbacks import AttentionImages, GenerationMetrics
from keras_attn.viz.alignment import Alignment, alignment_figure
from keras_attn.viz.attention import figure_pixels
from pipelines.pair_data import PairData
from pipelines.recipe import SOURCE_TOKENIZER, TARGET_TOKENIZER

PICTURED = 3
SIZE = (600, 600)


def text_scoring(model, data: PairData, batch: int = 64) -> GenerationMetrics:
    """The callback that scores greedy answers to dev's sources, those of like length together.

    A source that is too long for the model counts as one that is only its end.
    """
    batches = data.batches
    pairs = sorted(data.splits["dev"], key=lambda pair: len(pair.source))
    tokenizer, longest = data.tokenizers[TARGET_TOKENIZER], batches.source_lengths[-1]
    source_tokenizer = data.tokenizers.get(SOURCE_TOKENIZER, tokenizer)
    contexts = [
        {SOURCE: _padded(pairs[start : start + batch], source_tokenizer, longest, batch)}
        for start in range(0, len(pairs), batch)
    ]
    references = [pair.target for pair in pairs]

    def length(context):
        return tf.reduce_max(most_pieces(context[SOURCE], batches.target_lengths[-1]))

    return GenerationMetrics(model, contexts, tokenizer, references, length, text_metrics)


def alignment_pictures(model, data: PairData, service: TextService, log) -> AttentionImages:
    """The callback that draws the alignments of a few dev answers, whose sources fit."""
    sources = [pair.source for pair in data.fitting("dev")[:PICTURED]]
    explain = tf.function(service.explain, autograph=False)

    def draw():
        answer = {key: value.numpy() for key, value in explain(tf.constant(sources)).items()}
        rows = [{key: value[row] for key, value in answer.items()} for row in range(len(sources))]
        figures = [alignment_figure(Alignment.of(row)) for row in rows]
        return np.stack([figure_pixels(one, size=SIZE) for one in figures])

    return AttentionImages(draw, log)


def _padded(pairs, tokenizer, longest, batch):
    """Source tokens int32 (batch, S) of a few pairs; rows of their own end after the last."""
    texts = [pair.source for pair in pairs] + [""] * (batch - len(pairs))
    return read_sources(tf.constant(texts), tokenizer, longest)[0]
