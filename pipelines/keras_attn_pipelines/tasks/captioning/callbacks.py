"""Callbacks of the captioning task: metrics of greedy captions."""

from keras_attn.training.callbacks import GenerationMetrics
from keras_attn_pipelines.tasks.captioning.features import contexts

BATCH = 16


def caption_scoring(task, model, data) -> GenerationMetrics:
    """The callback that scores greedy captions on dev."""
    dev, encoded = data.splits["dev"], data.extra.encoded
    stepper = model if encoded is None else model.decoder
    pictures = contexts(dev, task.pictures.picture_format(), BATCH, encoded)
    return GenerationMetrics(
        stepper,
        pictures,
        data.extra.tokenizer,
        references=[record.captions for record in dev],
        max_length=task.lengths[-1],
        tokenization=task.scoring.metric_tokenization,
    )
