"""The known layouts of data: how each is recognized, where people get it, what it becomes."""

import re
from typing import NamedTuple


class Layout(NamedTuple):
    """A layout of records.

    Attributes:
        name: as a run prints it, possibly with details behind it.
        found: where people get it.
        sign: how it is recognized.
        becomes: what is read from it.
    """

    name: str
    found: str
    sign: str
    becomes: str


_TABLE_SIGN = (
    "a header with known column names, or --{}-column and --{}-column; commas, semicolons, bars or "
    "tabs, or a first line sep=;"
)
_HUB = "hubs of data sets; needs keras-attn[parquet]"


def _tables(first: str, second: str, found: str, becomes: str) -> tuple[Layout, ...]:
    """Layouts that all records of two fields have."""
    keys = f"objects with known keys, or --{first}-column and --{second}-column"
    return (
        Layout("CSV", found, f".csv, {_TABLE_SIGN.format(first, second)}", becomes),
        Layout("TSV", "pandas, Excel", ".tsv, likewise; cells quoted or plain", becomes),
        Layout("JSON lines", "hubs, metadata.jsonl", f".jsonl, {keys}", becomes),
        Layout("JSON records", "exports of data bases", f".json, a list of {keys}", becomes),
        Layout("parquet", _HUB, ".parquet, in the folder or in data/", becomes),
    )


LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "captioned pictures": (
        Layout(
            "COCO captions",
            "COCO 2014 and 2017",
            ".json with images and annotations; one file, or one for each split",
            "a picture with its captions; splits by the files' names",
        ),
        Layout(
            "Karpathy's split",
            "dataset_coco.json, dataset_flickr8k.json, dataset_flickr30k.json",
            ".json whose images have sentences",
            "the raw sentences; restval counts as train, val as dev",
        ),
        Layout(
            "Flickr8k tokens",
            "Flickr8k, Flickr30k",
            "lines of picture#number, a tab and a caption; a .lemma. file beside it is left out",
            "a picture with its captions; splits by lists such as train.txt or "
            "Flickr_8k.trainImages.txt",
        ),
        *_tables(
            "image",
            "caption",
            "Kaggle's Flickr8k (captions.txt), Flickr30k (results.csv), your own",
            "a picture with the captions of all its rows; a cell may hold a list, and columns may "
            "be numbered (caption_1, caption_2); the only column with names of files is that of "
            "the pictures, whatever its name; splits by a column split, or held out",
        ),
        Layout(
            "a text file beside each picture",
            "tools for image generation",
            "photo.txt beside photo.jpg",
            "a caption for each line",
        ),
        Layout(
            "WebDataset",
            "large sets from the web",
            ".tar with 0001.jpg and 0001.txt or 0001.json",
            "a picture with its captions; splits by the archives' names",
        ),
    ),
    "labeled pictures": (
        Layout(
            "a folder for each class",
            "most sets of classes, Kaggle",
            "cats/1.jpg, train/cats/1.jpg or training_set/cats/1.jpg",
            "the folder's name as the label; splits by folders, or held out",
        ),
        *_tables(
            "image",
            "label",
            "Kaggle (train.csv), your own",
            "a picture with its label; a second, different label is refused",
        ),
        Layout(
            "WebDataset",
            "large sets from the web",
            ".tar with 0001.jpg and 0001.cls",
            "a picture with its label; splits by the archives' names",
        ),
    ),
    "pairs of texts": (
        Layout(
            "parallel text",
            "Multi30k, WMT, Moses' files of OPUS, OpenNMT",
            "train.en and train.de, train_en.txt and train_de.txt, or src-train.txt and "
            "tgt-train.txt; languages by --source-column and --target-column",
            "line n with line n; splits by the files' names",
        ),
        Layout(
            "TSV without a header",
            "Tatoeba, Anki (fra.txt), your own",
            ".tsv, or .txt with tabs, whose first row has no known names, or --no-header",
            "the first two columns with texts, or those of --columns; others are ignored",
        ),
        *_tables(
            "source",
            "target",
            "your own; hubs with translation: {en: …, de: …}",
            "a pair for each row; a list of targets is several pairs",
        ),
        Layout(
            "TMX",
            "translation memories",
            ".tmx with the languages --source-column and --target-column",
            "a pair for each unit, without markup",
        ),
    ),
    "labeled texts": (
        Layout(
            "a folder for each class",
            "IMDB (aclImdb)",
            "train/pos/1.txt; unsup is left out",
            "the folder's name as the label",
        ),
        *_tables("text", "label", "Kaggle, SST, your own", "a text with its label"),
        Layout(
            "fastText labels",
            "fastText (cooking.train, cooking.valid)",
            "lines of __label__LABEL and a text",
            "a text with its label; lines with several labels are skipped",
        ),
    ),
    "facts with texts": (
        Layout(
            "WebNLG XML",
            "WebNLG 2017, 2020, 2023",
            ".xml, or folders of it such as train/3triples/City.xml; --language",
            "triples with their texts; texts that are marked as bad are skipped",
        ),
        Layout(
            "CSV",
            "E2E (columns mr and ref), your own",
            ".csv with a column of texts",
            "slots of a meaning representation, or a fact for each other column",
        ),
        Layout("TSV", "pandas, Excel", ".tsv, likewise", "likewise"),
        Layout(
            "JSON lines",
            "WebNLG from a hub, ToTTo, your own",
            ".jsonl with triples or a table, and texts",
            "triples, fields, or ToTTo's highlighted cells, with their texts",
        ),
        Layout("JSON records", "WebNLG 3.0, GEM, DART, your own", ".json, likewise", "likewise"),
        Layout("parquet", _HUB, ".parquet, in the folder or in data/", "likewise"),
    ),
    "trees": (
        Layout(
            "trees in brackets",
            "Penn Treebank, Chinese Treebank, SPMRL",
            ".mrg, .ptb, .tree, .trees, .fid",
            "a sentence with its tree, normalized",
        ),
    ),
}
"""Layouts by the kind of records; see `TaskSpec.records`."""


def layout_of(records: str, form: str) -> Layout | None:
    """The layout that a run names in its report; the longest name wins.

    Args:
        records: kind of records.
        form: as printed.
    """
    known = [layout for layout in LAYOUTS.get(records, ()) if form.startswith(layout.name)]
    return max(known, key=lambda layout: len(layout.name), default=None)


def layout_table(records: str) -> str:
    """The layouts of a kind of records as a table in Markdown."""
    rows = [("Layout", "Where it comes from", "How it is recognized", "What it becomes")]
    rows += [("---",) * 4, *LAYOUTS[records]]
    return "\n".join(f"| {' | '.join(map(_markdown, row))} |" for row in rows)


def _markdown(cell):
    """A cell of a table, its flags as code."""
    return re.sub("(--[a-z-]+)", r"`\1`", cell) if cell != "---" else cell
