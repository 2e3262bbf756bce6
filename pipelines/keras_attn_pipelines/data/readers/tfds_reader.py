"""Data sets of tensorflow-datasets, written once as an ordinary data folder."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from keras_attn.extras import import_optional
from keras_attn.progress import Progress
from keras_attn.whole_file import move_folder, whole_folder
from keras_attn_pipelines.data.columns import AUTO, CAPTION_COLUMNS, IMAGE_COLUMNS, chosen
from keras_attn_pipelines.data.user_cache import user_cache

PREFIX = "tfds:"
TRIPLE_COLUMNS = ("subject", "predicate", "object")
SUFFIXES = {b"\xff\xd8": ".jpg", b"\x89P": ".png", b"GI": ".gif", b"BM": ".bmp", b"RI": ".webp"}


def is_tfds(data) -> bool:
    """Whether this names a data set of tensorflow-datasets."""
    return str(data).startswith(PREFIX)


def materialized(write: Callable[[str, Path], None], place: str, name: str, cache=None) -> Path:
    """The data folder of a data set; on first use it is prepared and written.

    Args:
        write: `write_pictures`, `write_texts` or `write_facts`.
        place: name of the folder in the user's cache.
        name: "tfds:NAME" or "tfds:NAME/CONFIG", such as "tfds:web_nlg/en".
        cache: path of the folder for data folders; in the user's cache if None.

    Raises:
        ImportError: tensorflow-datasets is not installed.
        ValueError: the data set has none of these records.
    """
    dataset_name = name.removeprefix(PREFIX)
    cache = user_cache() / place if cache is None else Path(cache)
    folder = cache / re.sub(r"[^\w.-]+", "-", dataset_name)
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with whole_folder(cache) as partial:
            write(dataset_name, partial)
            move_folder(partial, folder)
    return folder


def write_pictures(dataset_name: str, folder: Path) -> None:
    """Writes images/, encoded as in the data set, and captions.jsonl, whose records name their
    splits."""
    tfds = import_optional(dataset_name)
    builder = tfds.builder(dataset_name)
    image, caption = _features(builder.info.features, dataset_name)
    decoders = {image: tfds.decode.SkipDecoding()}
    (folder / "images").mkdir()
    with (folder / "captions.jsonl").open("w", encoding="utf-8") as file:
        for split, examples in _examples(builder, dataset_name, decoders=decoders):
            for index, example in enumerate(examples):
                data = bytes(example[image].numpy())
                name = f"{split}_{index:06d}{SUFFIXES.get(data[:2], '.jpg')}"
                (folder / "images" / name).write_bytes(data)
                texts = list(_texts(example[caption]))
                record = {"image": name, "captions": texts, "split": split}
                file.write(json.dumps(record) + "\n")


def write_texts(dataset_name: str, folder: Path) -> None:
    """Writes, for each split, `split.jsonl` with every text feature and the names of classes."""
    builder = import_optional(dataset_name).builder(dataset_name)
    names = _class_names(builder.info)
    for split, examples in _examples(builder, dataset_name):
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for example in examples:
                values = {
                    key: value.numpy() for key, value in example.items() if hasattr(value, "numpy")
                }
                texts = {key: value for key, value in values.items() if isinstance(value, bytes)}
                decoded = {key: _decoded(value) for key, value in texts.items()}
                classes = {
                    key: name(int(values[key])) for key, name in names.items() if values[key] >= 0
                }
                file.write(json.dumps(decoded | classes) + "\n")


def write_facts(dataset_name: str, folder: Path) -> None:
    """Writes, for each split, `split.jsonl` with the triples or the table of each example; examples
    with the same facts are joined."""
    builder = import_optional(dataset_name).builder(dataset_name)
    keys = list(builder.info.features)
    if not {"input_text", "target_text"} <= set(keys):
        raise ValueError(
            "Expected a data set with input_text, which has a table, and target_text. "
            f"Received: {dataset_name} with {keys}"
        )
    for split, examples in _examples(builder, dataset_name):
        sets: dict[str, tuple[list[list[str]], list[str]]] = {}
        for example in examples:
            facts = _facts(example["input_text"]["table"])
            _, texts = sets.setdefault(json.dumps(sorted(facts)), (facts, []))
            texts.append(_decoded(example["target_text"].numpy()))
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            for facts, texts in sets.values():
                file.write(json.dumps({"triples": facts, "texts": texts}) + "\n")


def _examples(builder, dataset_name, **options):
    """The examples of each split of a data set, which is prepared on first use."""
    builder.download_and_prepare()
    for split in builder.info.splits:
        dataset = builder.as_dataset(split=split, shuffle_files=False, **options)
        yield split, Progress.over(dataset, f"{dataset_name} {split}", "record")


def _facts(table):
    """Lists of subject, property and object: a row's own, or '' and each column of a row."""
    headers, contents = (
        [_decoded(text) for text in table[key].numpy().tolist()]
        for key in ("column_header", "content")
    )
    rows: dict[int, dict[str, str]] = {}
    for number, header, content in zip(table["row_number"].numpy().tolist(), headers, contents):
        rows.setdefault(number, {})[header] = content
    if set(headers) == set(TRIPLE_COLUMNS):
        return [[row[name] for name in TRIPLE_COLUMNS] for row in rows.values()]
    return [["", *cell] for row in rows.values() for cell in row.items()]


def _class_names(info):
    """By key of a feature that is a class, the function from its integers to names.

    Integers below 0, which stand for no class in tensorflow-datasets, have no name.
    """
    features = dict(getattr(info, "features", None) or {})
    return {key: kind.int2str for key, kind in features.items() if hasattr(kind, "int2str")}


def _decoded(text):
    return text.decode("utf-8", "surrogateescape")


def _features(features, dataset_name):
    """The keys of the picture and of the captions."""
    keys = list(features)
    image, caption = chosen(AUTO, IMAGE_COLUMNS, keys), chosen(AUTO, CAPTION_COLUMNS, keys)
    if image is None or caption is None:
        raise ValueError(
            f"Expected a data set with image and captions. Received: {dataset_name} with {keys}"
        )
    return image, caption


def _texts(value) -> Iterator[str]:
    """The captions in a feature: a text, several, or several with other fields."""
    if isinstance(value, dict):
        key = chosen(AUTO, CAPTION_COLUMNS, list(value))
        yield from _texts(value[key]) if key else ()
        return
    array = value.numpy()
    for item in [array] if isinstance(array, bytes) else array.ravel().tolist():
        yield _decoded(item)
