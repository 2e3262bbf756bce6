"""Differentiable Neural Computer that learns to copy, or to copy several times.

Data: generated sequences
Result: all of dev exact

Command:
    keras-attn train dnc_copy --data generated:1 --out runs/dnc
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit
from keras_attn_pipelines.tasks.algorithmic import Algorithmic, GeneratedSequences, MemoryMachine

RECIPE = Experiment(
    source=GeneratedSequences(bits=6, lengths=(3, 6, 10)),
    task=Algorithmic(),
    model=MemoryMachine(cell="dnc", num_slots=32, slot_dim=16),
    optimizer=Adam(learning_rate=3e-3, schedule=Cosine(warmup_steps=0), clip_norm=10.0),
    fit=Fit(epochs=12, batch_size=16, patience=12),
)
