"""A Transformer on photographs: EfficientNet-Lite0 features, encoder, decoder.

Data: pictures with captions
Minutes: 23
Result: CIDEr-D 0.500 on Flickr8k

Command:
    keras-attn train flickr8k_transformer --data flickr8k --out runs/transformer

Time: 22 minutes on two shared CPU cores with AVX-512, plus features (1 minute, 840 MB of disk).
Expected on dev, beam 4: BLEU-4 21.1, CIDEr-D 0.500, METEOR 19.7; trained with the encoder on
augmented pictures, then self-critically, and averaged (see README): 24.1, 0.590 and 20.8.
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit, Pieces
from keras_attn_pipelines.tasks.captioning import CaptionedPictures, Captioning, CaptionTransformer

RECIPE = Experiment(
    source=CaptionedPictures(),
    task=Captioning(
        pieces=Pieces(vocabulary_size=3000, lowercase=True), lengths=(14, 17, 20, 24, 30, 40)
    ),
    model=CaptionTransformer(),
    optimizer=Adam(learning_rate=8e-4, schedule=Cosine(warmup_steps=400), slow_rate=0.1, average=3),
    fit=Fit(epochs=14, batch_size=16, monitor="val_cider_d"),
)
