"""Show, Attend and Tell on photographs: EfficientNet-Lite0 features, soft attention, LSTM.

Data: pictures with captions
Minutes: 45
Result: CIDEr-D 0.471 on Flickr8k

Command:
    keras-attn train flickr8k --data flickr8k --out runs/flickr8k

Time: about 45 minutes on two shared CPU cores, including features (3 minutes, 840 MB of disk).
Expected on dev, beam 4: BLEU-4 20.3, CIDEr-D 0.471, METEOR 19.5; with `--context mean` 20.6, 0.483
and 19.5, `bottleneck` 19.9, 0.473 and 19.2, `hard` 16.3, 0.334 and 17.0.
"""

from keras_attn_pipelines.experiment import Adam, Experiment, Fit, Pieces
from keras_attn_pipelines.tasks.captioning import CaptionedPictures, Captioning, ShowAttendTell

RECIPE = Experiment(
    source=CaptionedPictures(),
    task=Captioning(
        pieces=Pieces(vocabulary_size=3000, lowercase=True), lengths=(14, 17, 20, 24, 30, 40)
    ),
    model=ShowAttendTell(hidden_dim=384, feature_dim=512, dropout=0.4),
    optimizer=Adam(slow_rate=0.1),
    fit=Fit(epochs=8, batch_size=16, monitor="val_cider_d"),
)
