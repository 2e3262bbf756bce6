"""Progressive memory bank: next-word prediction on one domain, then on another.

Data: sentences, a domain a run
Result: perplexity 49.4 on captions

Command:
    keras-attn train progressive_memory --data captions --suffix en --out runs/captions
    keras-attn train progressive_memory --data reviews --from runs/captions --slots 64 64 \
        --out runs/reviews
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit
from keras_attn_pipelines.tasks.language_modeling import NextWord, ProgressiveMemory, Sentences

RECIPE = Experiment(
    source=Sentences(),
    task=NextWord(),
    model=ProgressiveMemory(),
    optimizer=Adam(learning_rate=2e-3, schedule=Cosine(warmup_steps=100), clip_norm=1.0),
    fit=Fit(epochs=6, batch_tokens=1024, patience=2),
)
