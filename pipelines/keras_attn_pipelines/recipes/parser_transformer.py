"""Constituency parser: a Transformer from sentences to bracketed trees.

Data: trees in brackets
Minutes: 73
Result: F1 82.1 on CRAFT

Command, on the CRAFT treebank:
    keras-attn train parser_transformer --data craft-treebank --out runs/parser

Expected: F1 82.1 on dev (EVALB with COLLINS.prm, beam 4; right-branching has 20.9); about
an hour on two CPU cores without AVX-512. Sinusoidal positions (`--positions sinusoidal`) have 75.4.
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit, TransformerSizes
from keras_attn_pipelines.tasks.parsing import Parser, Parsing, Treebank

RECIPE = Experiment(
    source=Treebank(),
    task=Parsing(label_smoothing=0.0),
    model=Parser(
        sizes=TransformerSizes(
            hidden_dim=128, intermediate_dim=512, dropout=0.2, positions="rotary"
        )
    ),
    optimizer=Adam(
        learning_rate=2.5e-3,
        schedule=Cosine(warmup_steps=1600),
        beta_2=0.98,
        epsilon=1e-9,
        average=3,
    ),
    fit=Fit(epochs=10, batch_tokens=1024, monitor="val_f1"),
)
