"""A captioner of Transformers alone: a Vision Transformer over patches, and a decoder.

Data: pictures with captions
Minutes: 31
Result: CIDEr-D 0.185 on Flickr8k

Command:
    keras-attn train flickr8k_vit --data flickr8k --out runs/vit --flip --crop 0.6 --patience 8

Time: 31 minutes on two shared CPU cores with AVX-512. Expected on dev, beam 4: BLEU-4 9.6, CIDEr-D
0.185, METEOR 13.6. With `--pretrained CHECKPOINT` the Vision Transformer has the
checkpoint's sizes. 6,000 pictures are too few to train one from scratch.
"""

from keras_attn_pipelines.experiment import Adam, Cosine, Experiment, Fit, Pieces
from keras_attn_pipelines.tasks.captioning import (
    CaptionedPictures,
    Captioning,
    CaptionTransformer,
    EncoderTuning,
    PatchTransformer,
)

RECIPE = Experiment(
    source=CaptionedPictures(),
    task=Captioning(
        pieces=Pieces(vocabulary_size=3000, lowercase=True), lengths=(14, 17, 20, 24, 30, 40)
    ),
    model=CaptionTransformer(
        encoder=PatchTransformer(),
        tuning=EncoderTuning(fine_tune=True),
        num_encoder_layers=0,
    ),
    optimizer=Adam(learning_rate=5e-4, schedule=Cosine(warmup_steps=400), average=3),
    fit=Fit(epochs=8, batch_size=16, monitor="val_cider_d"),
)
