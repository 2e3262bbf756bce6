"""Neural Turing Machine that learns to copy, or another algorithmic problem.

Data: generated sequences
Result: all of dev exact

Command:
    keras-attn train ntm_copy --data generated:2 --seed 2 --out runs/copy
    keras-attn train ntm_copy --cell lstm --hidden-dim 120 --data generated:2 --out runs/lstm
    keras-attn train ntm_copy --problem repeat_copy --lengths 3 6 10 --data generated:2 \
        --out runs/repeat
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit
from keras_attn_pipelines.tasks.algorithmic import Algorithmic, GeneratedSequences, MemoryMachine

RECIPE = Experiment(
    source=GeneratedSequences(),
    task=Algorithmic(),
    model=MemoryMachine(controller="feed_forward"),
    optimizer=Adam(learning_rate=1e-3, schedule=Cosine(warmup_steps=0), clip_norm=1.0),
    fit=Fit(epochs=8, batch_size=16, patience=8),
)
