"""A recurrent encoder–decoder with attention for pairs of texts.

Data: pairs of texts
Minutes: 27
Result: BLEU 37.2 on Multi30k

Command, English to German on Multi30k:
    keras-attn train translator_rnn --data multi30k --out runs/en-de-rnn \\
        --source-column en --target-column de

`--scope none` is the encoder–decoder without attention, `--scope local-p --score multiplicative`
Luong's local attention, `--hard` samples positions (begin it with a run of soft attention,
`--from`), `--order bahdanau` attends before the cell.

Expected with `--epochs 14`: 37.2 BLEU on val and 36.2 on test_2016_flickr (sacreBLEU on raw text,
beam 4), 27 minutes of one CPU core; with `--scope none` 22.9 and 23.2.
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit
from keras_attn_pipelines.tasks.seq2seq import Recurrent, Seq2Seq, TextPairs

RECIPE = Experiment(
    source=TextPairs(),
    task=Seq2Seq(),
    model=Recurrent(),
    optimizer=Adam(learning_rate=1e-3, schedule=Cosine(warmup_steps=400), average=5),
    fit=Fit(epochs=15, batch_tokens=2048, monitor="val_bleu", patience=5),
)
