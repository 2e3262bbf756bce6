"""A SavedModel is evaluated as the run that it was exported from."""

import json

from keras_attn_pipelines.cli import main


def check_saved_evaluation(run, model, data, folder, capsys, split="dev"):
    """Evaluates both; everything in the two files is the same, but for rounding."""
    reports = []
    for name, asked in (("run", run.folder), ("saved", model)):
        out = folder / f"{name}.json"
        command = ["evaluate", str(asked), "--data", str(data), "--split", split]
        capsys.readouterr()
        assert main([*command, "--json", str(out)]) == 0
        reports.append((capsys.readouterr().out, _rounded(json.loads(out.read_text()))))
    assert reports[0][0].splitlines()[-6:] == reports[1][0].splitlines()[-6:]
    assert reports[0][1] == reports[1][1]
    assert main([*command, "--precision", "bfloat16"]) == 2
    assert "for a SavedModel, which has its own. Received: precision=" in capsys.readouterr().err


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value
