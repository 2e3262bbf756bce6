"""A Transformer for pairs of texts: translation, summaries, paraphrases, answers.

Data: pairs of texts
Minutes: 100
Result: BLEU 40.9 on Multi30k

Command, English to German on Multi30k:
    keras-attn train translator_transformer --data multi30k --out runs/en-de \\
        --source-column en --target-column de

Expected: 40.9 BLEU on val and 39.9 on test_2016_flickr (sacreBLEU on raw text, beam 4), about 100
minutes on one CPU core with AMX.
"""

from keras_attn_pipelines.experiment import (
    Adam,
    BeamSearch,
    Cosine,
    Experiment,
    Fit,
    TransformerSizes,
)
from keras_attn_pipelines.tasks.seq2seq import Seq2Seq, TextPairs, Transformer

RECIPE = Experiment(
    source=TextPairs(),
    task=Seq2Seq(search=BeamSearch(length_alpha=1.0)),
    model=Transformer(sizes=TransformerSizes(num_layers=4, hidden_dim=128, intermediate_dim=256)),
    optimizer=Adam(
        learning_rate=2.5e-3,
        schedule=Cosine(warmup_steps=1600),
        beta_2=0.98,
        epsilon=1e-9,
        average=8,
    ),
    fit=Fit(epochs=60, batch_tokens=2048, monitor="val_bleu", patience=15),
)
