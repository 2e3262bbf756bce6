"""How records are split in the absence of split files, a part inside sources."""

from keras_attn_pipelines.experiment.fields import option, part


@part
class SplitShares:
    """Shares of records for dev and test, and the tolerated share of unusable ones."""

    tolerance: float = option(
        "largest fraction of unusable records with which training starts",
        default=0.01,
        least=0,
        most=1,
    )
    dev_share: float = option(
        "fraction of records held out for dev if there are no split files", default=0.1, least=0
    )
    test_share: float = option(
        "fraction of records held out for test if there are no split files", default=0.1, least=0
    )

    def check(self):
        """Raises ValueError unless records are left for training."""
        if self.dev_share + self.test_share >= 1:
            raise ValueError(
                "Expected dev_share + test_share < 1. "
                f"Received: dev_share={self.dev_share}, test_share={self.test_share}"
            )
