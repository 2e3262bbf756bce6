"""A SavedModel is evaluated as the run that it was exported from."""

import json

from keras_attn_pipelines.cli import main


def check_saved_evaluation(run, model, data, folder, capsys, split="dev"):
    """Evaluates both; everything in the two files is the same, but for rounding."""
    actual = []
    for name, asked in (("run", run.folder), ("saved", model)):
        out = folder / f"{name}.json"
        command = ["evaluate", str(asked), "--data", str(data), "--split", split]
        capsys.readouterr()
        assert main([*command, "--json", str(out)]) == 0
        actual.append((capsys.readouterr().out, _rounded(json.loads(out.read_text()))))
    assert actual[0][0].splitlines()[-6:] == actual[1][0].splitlines()[-6:]
    assert actual[0][1] == actual[1][1]
    assert main([*command, "--precision", "bfloat16"]) == 2
    assert "for a SavedModel, which has its own. Received: precision=" in capsys.readouterr().err


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(each_value) for key, each_value in value.items()}
    if isinstance(value, list):
        return [_rounded(each_value) for each_value in value]
    return round(value, 3) if isinstance(value, float) else value
