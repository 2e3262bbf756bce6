"""Beam search settings, a part inside tasks."""

from keras_attn_pipelines.experiment.fields import option, part

MOST_WIDE = 1000
"""Widest beam that a recipe may have; a search holds a state of each hypothesis."""


@part
class BeamSearch:
    """Beam search with a length penalty."""

    beam_width: int = option(
        "beam width for evaluation and export", default=4, least=1, most=MOST_WIDE
    )
    length_alpha: float = option(
        "exponent of the length penalty", default=0.7, least=-100, most=100
    )
    length_normalization: str = option(
        "length penalty of n tokens: ((5 + n) / 6)^alpha, or n^alpha",
        default="gnmt",
        choices=("gnmt", "average"),
    )
    early_stopping: bool = option(
        "end the search when as many answers as the beam is wide have ended", default=True
    )
    ranks_cut_off: bool = option(
        "rank answers that are cut off at the maximum length among those that ended, as "
        "transformers does, not behind them",
        default=False,
    )

    def strategy(self, beam_width: int | None = None, n_best: int = 1):
        """The decoding strategy; `beam_width` overrides the part's own."""
        from keras_attn.decoding import Beam

        width = self.beam_width if beam_width is None else beam_width
        return Beam(
            width,
            self.length_alpha,
            n_best,
            self.length_normalization,
            self.early_stopping,
            self.ranks_cut_off,
        )


def search_text(service) -> str:
    """The model card's sentence on how a service decodes."""
    strategy = service.strategy
    return (
        f"Beam {strategy.width}, length penalty α {strategy.alpha}, at most "
        f"{service.length.most} pieces."
    )
