"""Differentiable Neural Computer that finds shortest paths in random graphs.

Data: generated graphs
Minutes: 6
Result: 51% of paths exact

Command:
    keras-attn train dnc_shortest_path --data generated:1 --out runs/paths

Expected: 51% of dev, all graphs of 3 nodes and a fifth to a third of larger ones, after six minutes
on a CPU core.
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit
from keras_attn_pipelines.tasks.algorithmic import Algorithmic, GeneratedSequences, MemoryMachine

RECIPE = Experiment(
    source=GeneratedSequences(
        problem="shortest_path", bits=3, lengths=(3, 4, 5), shortest=2, hops=3
    ),
    task=Algorithmic(curriculum=18, planning_steps=4),
    model=MemoryMachine(cell="dnc", hidden_dim=128, num_slots=32, slot_dim=24, num_read_heads=3),
    optimizer=Adam(learning_rate=3e-3, schedule=Cosine(warmup_steps=0), clip_norm=10.0),
    fit=Fit(epochs=45, batch_size=32, patience=45),
)
