"""Text classifier: attention pooling over a bidirectional LSTM.

Command:
    keras-attn train text_classifier --data my_texts --out runs/texts

`my_texts` has a CSV, TSV or JSON-lines file with a text and a label in each row, or a folder for
each class. `--encoder embeddings|convolutional|transformer` replaces the LSTM, `--pooling mean`
the attention.

Time: about 90 seconds for 8,600 sentences of film reviews on two busy CPU cores, with the sizes of
`benchmarks.sentence_polarity`.
Expected accuracy there: 75.4 % (three of ten folds).
"""

from keras_attn_pipelines.experiment import Adam, Experiment, Fit
from keras_attn_pipelines.tasks.classification import (
    LabeledTexts,
    TextClassification,
    TextEncoder,
)

RECIPE = Experiment(
    source=LabeledTexts(),
    task=TextClassification(),
    model=TextEncoder(encoder="embeddings", embedding_dim=32),
    optimizer=Adam(
        learning_rate=3e-3, warmup_steps=100, clip_norm=1.0, slow_rate=0.03, weight_decay=0.085
    ),
    fit=Fit(epochs=6, batch_tokens=2048, monitor="val_accuracy", patience=4),
)
