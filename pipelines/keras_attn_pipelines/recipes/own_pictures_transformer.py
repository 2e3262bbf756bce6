"""Fine-tunes a trained Transformer captioner on a few hundred pictures of your own.

Data: a few hundred with captions

Command:
    keras-attn train own_pictures_transformer --from MODEL --data my_pictures --out runs/mine

`--from` takes a run directory or a SavedModel, such as flickr8k_captioner; its
sizes and tokenizer are kept.
"""

from dataclasses import replace

from keras_attn_pipelines.experiment import Adam, Cosine
from keras_attn_pipelines.recipes import flickr8k_transformer

RECIPE = replace(
    flickr8k_transformer.RECIPE,
    optimizer=Adam(learning_rate=1e-4, schedule=Cosine(warmup_steps=20), slow_rate=0.1),
    fit=replace(flickr8k_transformer.RECIPE.fit, epochs=10),
    needs_start=True,
)
