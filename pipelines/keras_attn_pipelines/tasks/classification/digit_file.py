"""Handwritten digits in Keras' format of MNIST."""

from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part


@part
class DigitFile:
    """An .npz file of digits, or `keras:mnist` for MNIST."""

    unit: ClassVar[str] = "digits"
    records: ClassVar[str] = "digits"

    dev_share: float = option(
        "fraction of the training digits held out for dev, taken from the end",
        default=1 / 12,
        least=0,
        below=1,
    )

    def read(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.training_data import Records
        from keras_attn_pipelines.tasks.classification.digits import read_digits

        return Records(read_digits(data, self.dev_share))

    def split(self, data, name):
        """See `Source`."""
        from keras_attn_pipelines.tasks.classification.digits import read_digits
        from keras_attn_pipelines.tasks.classification.labels import in_words

        splits = read_digits(data, self.dev_share)
        if not len(splits.get(name, ())):
            known = in_words([split for split, digits in splits.items() if len(digits)])
            raise ValueError(f"Expected a split of {known} with digits. Received: {name!r}")
        return splits[name].records()
