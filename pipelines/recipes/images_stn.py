"""Pictures told apart by a CNN that looks at them through spatial transformers.

Command:
    keras-attn train images_stn --data my_classes --out runs/classes
    keras-attn train images_stn --data my_classes --transforms affine thin_plate_spline --out …

Pictures may have any sizes; the transformers see them at `--image-size`, the CNN what they read of
them, at `--read-size`. `--backbone efficientnet_lite0` begins with weights of ImageNet, which a few
hundred pictures want; `--transforms none` is the CNN alone. The SavedModel answers bytes with
labels, scores and what the CNN saw.
"""

from keras_attn_pipelines.experiment import Adam, Experiment, Fit, PictureOptions
from keras_attn_pipelines.tasks.classification import (
    Classification,
    LabeledPictures,
    SpatialTransformer,
)

RECIPE = Experiment(
    source=LabeledPictures(),
    task=Classification(pictures=PictureOptions(image_size=128), label_smoothing=0.0),
    model=SpatialTransformer(dropout=0.1),
    optimizer=Adam(clip_norm=1.0, slow_rate=0.1),
    fit=Fit(epochs=20, monitor="val_accuracy", patience=5),
)
