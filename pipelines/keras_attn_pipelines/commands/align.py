"""The command `align`."""

from pathlib import Path

from keras_attn_pipelines.early_checks import (
    check_movable_folder,
    check_parent,
    check_saved_model,
    check_text_file,
)
from keras_attn_pipelines.experiment.fields import argument, option, part


@part
class Align:
    """link the words of sentence pairs"""

    source: str = argument(
        "one sentence a line; alone: a .tsv or .jsonl of pairs", metavar="SOURCE"
    )
    target: str | None = argument("as many lines", metavar="TARGET", default=None)
    out: str | None = option("file for the links (default: standard output)", default=None)
    model: str | None = option("model1, model2 or hmm (default)", default=None)
    iterations: int | None = option("training iterations (default: 5)", default=None)
    variational: float | None = option(
        "concentration of a Dirichlet prior (default: 0, none)", default=None
    )
    symmetrization: str | None = option(
        "intersection, union, grow-diag, grow-diag-final, grow-diag-final-and (default), forward "
        "(default of --attention alone) or backward",
        default=None,
    )
    save: str | None = option("new folder for the trained aligner", default=None, metavar="FOLDER")
    load: str | None = option("apply this aligner; do not train", default=None, metavar="FOLDER")
    attention: str | None = option(
        "link by what this translator attends to", default=None, metavar="SAVED_MODEL"
    )
    backward_attention: str | None = option(
        "a translator from target to source, for the other direction",
        default=None,
        metavar="SAVED_MODEL",
    )
    layer: int | None = option("attention layer, from 1 (default: mean of all)", default=None)
    head: int | None = option("attention head, from 1 (default: mean of all)", default=None)
    reading: bool = option(
        "use the step that reads a word instead of the step that predicts it", default=False
    )
    gold: str | None = option(
        "gold links: .jsonl, lines of 0-0 (sure) and 1?2 or 1p2 (possible), or NAACL's",
        default=None,
    )
    gold_base: int = option(
        "number of the first word in lines of gold links, 0 or 1", default=0, least=0, most=1
    )

    scores: bool = option(
        "write the probability of each link, or its attention, behind it: 0-0:0.938", default=False
    )
    show: int = option("draw the links of so many pairs, the first", default=0, least=0)

    def run(self):
        """Prints or writes links of sentence pairs, by an aligner or a translator's attention."""
        for path in (self.source, self.target, self.gold):
            check_text_file(path)
        for folder in (self.attention, self.backward_attention):
            if folder is not None:
                check_saved_model(folder)
        read = (self.source, self.target, self.gold, self.load)
        if self.out:
            others = (*read, self.attention, self.backward_attention, self.save)
            check_parent(self.out, *filter(None, others))
        if self.save:
            check_movable_folder(self.save)
            if self.out and Path(self.out).absolute() == Path(self.save).absolute():
                raise ValueError(f"Expected --out and --save to differ. Received: {self.out}")
        from keras_attn_pipelines.saved.word_links import write_links

        write_links(self)
