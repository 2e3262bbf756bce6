"""Small faults, each of which some quick test must catch: `make mutants`.

Each fault is put into a copy of the checkout, where the tests run that should notice it. All of
them take about half an hour; names as arguments choose some.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")
CAUGHT, NONE_FAILED = 1, 0
"""Exit codes of pytest."""


@dataclass(frozen=True)
class Mutant:
    """A fault: in a file, one text that occurs once, by another; and tests that should fail."""

    name: str
    path: str
    text: str
    fault: str
    tests: str


MUTANTS = [
    Mutant(
        "causal mask hides the present",
        "keras_attn/ops/masks.py",
        "ops.arange(key_length)[None, :] <= ops.arange",
        "ops.arange(key_length)[None, :] < ops.arange",
        "tests/layers tests/models/test_transformer.py",
    ),
    Mutant(
        "padding mask is one too long",
        "keras_attn/ops/masks.py",
        "dtype=lengths.dtype) < lengths",
        "dtype=lengths.dtype) <= lengths",
        "keras_attn/ops/masks.py tests/layers",
    ),
    Mutant(
        "weights at masked keys",
        "keras_attn/ops/attend.py",
        "    if mask is not None:\n        scores = ops.where",
        "    if mask is not None and False:\n        scores = ops.where",
        "tests/conformance -k masked_memory",
    ),
    Mutant(
        "favored positions forgotten",
        "keras_attn/ops/attend.py",
        "weights if favored is None else weights * favored",
        "weights",
        "tests/layers/test_local_attention.py",
    ),
    Mutant(
        "NaN at masked places",
        "keras_attn/ops/masks.py",
        "    return ops.where(mask, inputs, 0)\n",
        "    return inputs * ops.cast(mask, inputs.dtype)\n",
        "tests/conformance/test_exclusion.py",
    ),
    Mutant(
        "sine and cosine exchanged",
        "keras_attn/ops/positions.py",
        "[ops.sin(angles), ops.cos(angles)]",
        "[ops.cos(angles), ops.sin(angles)]",
        "tests/layers/test_positions.py",
    ),
    Mutant(
        "scores not scaled",
        "keras_attn/ops/scores.py",
        "1 / math.sqrt(keys.shape[-1])",
        "1 / math.sqrt(query.shape[1])",
        "tests/layers/test_multi_head.py tests/layers/test_attention_layers.py",
    ),
    Mutant(
        "GRU's gate inverted",
        "keras_attn/ops/recurrent.py",
        'update * ops.cast(hidden, "float32") + (1 - update) * candidate',
        '(1 - update) * ops.cast(hidden, "float32") + update * candidate',
        "tests/layers/test_context_cells.py tests/models/test_recurrent_seq2seq.py",
    ),
    Mutant(
        "recurrence runs over padding",
        "keras_attn/ops/recurrent.py",
        "        if mask is not None:\n            after",
        "        if mask is not None and False:\n            after",
        "tests/models/test_recurrent_seq2seq.py tests/models/test_story_reader.py "
        "tests/models/test_parser.py",
    ),
    Mutant(
        "rows and columns of a grid exchanged",
        "keras_attn/ops/sampling_grids.py",
        "np.stack(np.meshgrid(columns, rows), axis=-1)",
        "np.stack(np.meshgrid(columns, rows)[::-1], axis=-1)",
        "tests/ops/test_sampling_grids.py",
    ),
    Mutant(
        "half a pixel off",
        "keras_attn/ops/sample.py",
        "places = points * half + (size - 1) / 2",
        "places = points * half + size / 2",
        "tests/ops/test_sample.py",
    ),
    Mutant(
        "shift of memory turns the other way",
        "keras_attn/ops/memory_addressing.py",
        "ops.roll(weights, place - count // 2, axis=-1)",
        "ops.roll(weights, count // 2 - place, axis=-1)",
        "tests/layers/test_ntm_cell.py",
    ),
    Mutant(
        "usage of memory never freed",
        "keras_attn/ops/dynamic_memory.py",
        "usage * write_weights) * retention",
        "usage * write_weights)",
        "tests/layers/test_dnc_cell.py",
    ),
    Mutant(
        "links of a slot to itself",
        "keras_attn/ops/dynamic_memory.py",
        "links * (1 - ops.eye(slots, dtype=links.dtype))",
        "links",
        "tests/layers/test_dnc_cell.py",
    ),
    Mutant(
        "padding of the source attended to",
        "keras_attn/layers/transformer_decoder_block.py",
        "            value,\n            value_mask=value_mask,\n            return",
        "            value,\n            return",
        "tests/conformance tests/models/test_transformer.py -k 'decoder_block or padding or mask'",
    ),
    Mutant(
        "all hypotheses begin alike",
        "keras_attn/decoding/beam.py",
        "ops.where(ops.arange(width) == 0, 0.0, DEAD)",
        "ops.where(ops.arange(width) >= 0, 0.0, DEAD)",
        "tests/decoding/test_decode.py",
    ),
    Mutant(
        "states not reordered with their hypotheses",
        "keras_attn/ops/hypotheses.py",
        "[:, None] * width + parents",
        '[:, None] * width + ops.arange(width, dtype="int32") + 0 * parents',
        "tests/decoding/test_decode.py tests/models/test_recurrent_seq2seq.py",
    ),
    Mutant(
        "length penalty of another constant",
        "keras_attn/decoding/length_penalty.py",
        "(5.0 + length) / 6.0",
        "(6.0 + length) / 6.0",
        "tests/decoding/test_decode.py",
    ),
    Mutant(
        "top-p keeps one token too few",
        "keras_attn/decoding/sampling.py",
        "cumulative - shares < self.top_p",
        "cumulative < self.top_p",
        "tests/decoding/test_sampling.py",
    ),
    Mutant(
        "each step draws with the same numbers",
        "keras_attn/decoding/sampling.py",
        "ops.take(state.uniform, time, axis=0)",
        "ops.take(state.uniform, 0 * time, axis=0)",
        "tests/decoding/test_sampling.py",
    ),
    Mutant(
        "forbidden tokens allowed",
        "keras_attn/decoding/allowed_tokens.py",
        "return forbid(log_probabilities, ops.logical_not(state))",
        "return log_probabilities",
        "tests/decoding/test_allowed_tokens.py",
    ),
    Mutant(
        "caches see the future",
        "keras_attn/ops/cached_attention.py",
        "past = slots <= positions",
        "past = slots <= positions + 1",
        "tests/models/test_transformer_steps.py tests/models/test_transformer.py",
    ),
    Mutant(
        "padding counts in the loss",
        "keras_attn/training/losses.py",
        "global_mean(losses, zero_masked(weights, mask))",
        "global_mean(losses, weights)",
        "tests/training/test_losses.py",
    ),
    Mutant(
        "warm-up one step early",
        "keras_attn/training/schedules.py",
        '(ops.cast(step, "float32") + 1.0) / self.warmup_steps',
        '(ops.cast(step, "float32") + 2.0) / self.warmup_steps',
        "tests/training/test_schedules.py keras_attn/training/schedules.py",
    ),
    Mutant(
        "a worse model kept",
        "keras_attn/training/callbacks.py",
        "value > self.best if self.rises else value < self.best",
        "value < self.best if self.rises else value > self.best",
        "tests/training/test_callbacks.py",
    ),
    Mutant(
        "callbacks of the chief alone",
        "keras_attn/training/worker_callbacks.py",
        "if workers.is_chief or callback.changes_model]",
        "if workers.is_chief]",
        "tests/training/test_worker_callbacks.py",
    ),
    Mutant(
        "mean of the first moments",
        "keras_attn/training/averaging.py",
        "key=lambda step: (snapshots[step], step))[-self.count :]",
        "key=lambda step: (snapshots[step], step))[: self.count]",
        "tests/training/test_averaging.py",
    ),
    Mutant(
        "every epoch in the same order",
        "pipelines/keras_attn_pipelines/data/epoch_plan.py",
        "which = epoch * (len(self._counts) + 1) + group",
        "which = 0 * epoch + group",
        "tests/pipelines/test_epoch_plan.py tests/pipelines/test_batches.py",
    ),
    Mutant(
        "a resumed training begins anew",
        "keras_attn/training/resume.py",
        "self.sums, self.step = sums or None, _step(model)",
        "self.sums, self.step = sums or None, 0",
        "tests/pipelines/test_interrupted.py",
    ),
    Mutant(
        "dev and test exchanged",
        "pipelines/keras_attn_pipelines/data/hash_split.py",
        '    if place < dev_share:\n        return "dev"\n    return "test"',
        '    if place < dev_share:\n        return "test"\n    return "dev"',
        "pipelines/keras_attn_pipelines/data/hash_split.py",
    ),
    Mutant(
        "a split that cannot be read passed over",
        "pipelines/keras_attn_pipelines/data/split_names.py",
        '            raise ValueError(f"{reason}; the split {split!r} cannot be read")',
        "            continue",
        "tests/pipelines/test_named_splits.py",
    ),
    Mutant(
        "content of pictures not in the fingerprint",
        "pipelines/keras_attn_pipelines/data/fingerprint.py",
        '_write(digest, "file", value.read_bytes())',
        '_write(digest, "file", value.name.encode())',
        "tests/pipelines/test_run_directory.py tests/pipelines/test_records.py",
    ),
    Mutant(
        "digests of vocabularies not compared",
        "pipelines/keras_attn_pipelines/runs/run.py",
        "if digest_of_folder(folder / n) != digests.get(n)]:",
        "if digest_of_folder(folder / n) is None]:",
        "tests/pipelines/test_stored_records.py tests/pipelines/test_run_directory.py "
        "tests/pipelines/test_untrusted_runs.py",
    ),
    Mutant(
        "a folder of the user's taken for a temporary one",
        "keras_attn/whole_file.py",
        "        if is_marked(path):\n            with contextlib",
        "        if path.is_dir():\n            shutil.rmtree(path)\n            with contextlib",
        "tests/pipelines/test_bystanders.py tests/test_whole_file.py",
    ),
    Mutant(
        "a score that leaves out the end",
        "keras_attn/serving/generation_service.py",
        "tf.where((targets != PAD_ID) & (reasons",
        "tf.where((targets != PAD_ID) & (targets != END_ID) & (reasons",
        "tests/serving/test_score.py tests/serving/test_text_service.py",
    ),
    Mutant(
        "the reason of a bad row lost",
        "keras_attn/serving/readers/reasons.py",
        '        first_reason = tf.where(reason != "", reason, first_reason)',
        '        first_reason = tf.where(reason == "", reason, first_reason)',
        "tests/serving",
    ),
    Mutant(
        "a bad picture has a rollout",
        "keras_attn/serving/readers/reader.py",
        "return tf.where(readable, values, tf.zeros_like(values))",
        "return values",
        "tests/serving/test_matrix.py -k picture_labels",
    ),
    Mutant(
        "an empty batch is answered with a row",
        "keras_attn/serving/empty_batch.py",
        "return value[:count]",
        "return value",
        "tests/serving/test_matrix.py -k text_labels",
    ),
    Mutant(
        "one signature is warmed up",
        "keras_attn/serving/warm_up.py",
        "in service.requests(count).items():",
        "in [*service.requests(count).items()][:1]:",
        "tests/serving/test_matrix.py -k text_labels",
    ),
    Mutant(
        "a view of the second answer",
        "keras_attn/viz/declared/matrices.py",
        "weights[index] if weights.ndim == 3",
        "weights[-1] if weights.ndim == 3",
        "tests/viz/test_declared.py",
    ),
    Mutant(
        "a word that is looked at has the mean of its pieces",
        "keras_attn/viz/labels.py",
        "weights[..., group].sum(axis=-1, keepdims=True)",
        "weights[..., group].mean(axis=-1, keepdims=True)",
        "tests/viz",
    ),
    Mutant(
        "views of outputs that are not there",
        "keras_attn/serving/export.py",
        "sorted(view.names(mark) - names)",
        "sorted(view.names(mark) & names & set())",
        "tests/serving/test_declared_views.py",
    ),
    Mutant(
        "rare words weigh as much as others",
        "keras_attn/evaluation/cider.py",
        "[gram] = count * rarity",
        "[gram] = count * self.logarithm",
        "tests/evaluation",
    ),
]


def escaped(mutant: Mutant, folder: Path) -> bool:
    """Puts a fault into a copy, runs its tests, and mends it; whether none failed."""
    path = folder / mutant.path
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.text) != 1:
        raise ValueError(f"Expected once in {mutant.path}: {mutant.text!r}. Received: {mutant}")
    path.write_text(text.replace(mutant.text, mutant.fault), encoding="utf-8")
    try:
        command = f"{sys.executable} {' '.join(PYTEST)} {mutant.tests}"
        roots = os.pathsep.join((str(folder), str(folder / "pipelines")))
        environment = {**os.environ, "PYTHONPATH": roots, "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True
        )
    finally:
        path.write_text(text, encoding="utf-8")
    if run.returncode not in (CAUGHT, NONE_FAILED):
        raise RuntimeError(f"Expected tests to run: {command}. Received: {run.stdout}{run.stderr}")
    by = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(f"{mutant.name}: {by[0] if by else 'ESCAPED'}", flush=True)
    return run.returncode == NONE_FAILED


def main(names: list[str]) -> int:
    """Number of faults that no test caught."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / ROOT.name
        for name in filter(None, tracked.stdout.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).exists():
                shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        return sum(
            escaped(mutant, folder) for mutant in MUTANTS if not names or mutant.name in names
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
