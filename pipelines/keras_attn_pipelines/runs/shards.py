"""Writes the records of an experiment's source into shards."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_attn.escaping import escape_terminal
from keras_attn.progress import Progress
from keras_attn.whole_file import check_folder, move_folder, whole_folder
from keras_attn_pipelines.data.fingerprint import fingerprint
from keras_attn_pipelines.data.shards.shard_writer import ShardOptions, write_shards
from keras_attn_pipelines.data.skipped import listing
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.sharded import read_records, read_split, record_type
from keras_attn_pipelines.experiment.stored import stored_part


def prepare_shards(
    experiment: Experiment,
    data,
    out,
    splits: Sequence[str] | None = None,
    options: ShardOptions | None = None,
) -> str:
    """Reads all records and writes them into shards, from which every command reads them.

    Args:
        experiment: `Experiment` whose source reads the records.
        data: path of the data folder, or another name that the source accepts.
        out: path of a folder, new or empty.
        splits: names of splits besides "train" and "dev"; None: "test", if there is one.
        options: `ShardOptions`.

    Returns:
        A line that says what was written.

    Raises:
        ValueError: bad data, `out` is not empty, or the source's records cannot be stored one by
            one.
        ImportError: tensorflow-datasets is not installed.
    """
    out, source = Path(out), experiment.source
    _check_empty(out)
    kind = record_type(source)
    with Progress("reading data"):
        records = read_records(source, data)
    print(escape_terminal("\n".join(records.lines)), flush=True)
    if records.skipped:
        print(f"skipped: {len(records.skipped)} records{listing(list(records.skipped))}")
    written = {name: records.splits[name] for name in ("train", "dev")}
    for name in ("test",) if splits is None else splits:
        try:
            written[name] = read_split(source, data, name)
        except ValueError as error:
            if splits is not None:
                raise
            print(escape_terminal(f"no split {name}: {error}"))
    description: dict[str, Any] = {
        "records": source.records,
        "source": stored_part(source),
        "description": str(data),
        "skipped": len(records.skipped),
        "digests": {name: fingerprint({name: rows}) for name, rows in written.items()},
    }
    name = re.sub(r"\W+", "_", source.records.lower()).strip("_")
    out.parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(out.parent) as partial:
        with Progress("writing shards"):
            write_shards(written, kind, partial, name, description, options)
        files = [path for path in partial.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        if out.is_dir():
            out.rmdir()
        move_folder(partial, out)
    counts = ", ".join(f"{len(rows)} {key}" for key, rows in written.items())
    return f"{out} ({counts}; {len(files)} files, {size:.1f} MB)"


def _check_empty(out) -> None:
    """Raises ValueError for a folder that has something in it, or a path that is a file."""
    check_folder(out)
    if Path(out).is_dir() and any(Path(out).iterdir()):
        raise ValueError(f"Expected a new or empty folder. Received: {out}, which is not empty")
