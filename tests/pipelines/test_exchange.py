"""Translators of transformers by the command line: imported, asked, tuned, exported, out again."""

import json
import re
import shutil

import numpy as np
import pytest

from keras_attn.contracts import ERROR, SCORE, SOURCE, TARGET, TEXT
from keras_attn.saved.session import SavedSession
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.runs.run import Run
from tests.pretrained.translator_folders import GOLDEN, SPELLED, answers_in

pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
CASES = {"marian_untied_gelu": [], "nllb": ["--source-language", "eng_Latn"]}
CASES["nllb"] += ["--target-language", "deu_Latn"]
ODD = [*"ab ▁<>/.\t\n\0\u200b\u3000é☂日\U0001f600\ufeff\u0301", ">>deu<<", "</s>", "<unk>", "the"]


@pytest.fixture(
    scope="module", params=["marian_untied_gelu", pytest.param("nllb", marks=pytest.mark.slow)]
)
def imported(request, tmp_path_factory):
    case, out = request.param, tmp_path_factory.mktemp("imported") / request.param
    assert main(["import", str(GOLDEN / case), "--out", str(out), *CASES[case]]) == 0
    return case, out


def ended(case):
    """Sources, and what transformers answers with a beam, where that has ended early."""
    arrays = answers_in(case)
    pad = arrays["source_ids"][arrays["source_mask"] == 0][0]
    triples = zip(arrays["sources"], arrays["beam_30/texts"][:, 0], arrays["beam_30/ids"][:, 0])
    pairs = [(str(source), str(text).strip()) for source, text, ids in triples if ids[-7] == pad]
    return [pair for pair in pairs if pair[0].strip() and not SPELLED.search(pair[0])]


@pytest.mark.slow
def test_answers_through_the_c_interface(imported, tmp_path, capsys):
    """A served answer is that of transformers; malformed neighbors change nothing."""
    case, run = imported
    assert main(["export", str(run), str(tmp_path / "model"), "--beam-width", "4"]) == 0
    assert "exported" in capsys.readouterr().out
    card = (tmp_path / "model" / "1" / "README.md").read_text(encoding="utf-8")
    assert "imported from" in card and "not trained here" in card
    model = SavedSession(tmp_path / "model")
    sources = [str(text).encode() for text in answers_in(case)["sources"] if str(text).strip()]
    alone = [model.outputs("serving_default", {SOURCE: [source]}) for source in sources]
    rows = [row for source in sources for row in (source, b"\xff\xfe", b"", b"x " * 2000)]
    mixed = model.outputs("serving_default", {SOURCE: rows})
    for place, answer in enumerate(alone):
        assert mixed[TEXT][4 * place, 0] == answer[TEXT][0, 0]
        np.testing.assert_allclose(mixed[SCORE][4 * place], answer[SCORE][0], atol=1e-4)
        assert not mixed[ERROR][4 * place]
    assert all(mixed[ERROR][place] for place in range(len(rows)) if place % 4)
    texts = {source: answer[TEXT][0, 0].decode() for source, answer in zip(sources, alone)}
    known = ended(case)
    assert known
    assert [texts[source.encode()] for source, _ in known] == [text for _, text in known]
    answered = [source for source in sources if texts[source]]
    columns = {SOURCE: answered, TARGET: [texts[source].encode() for source in answered]}
    scored = model.outputs("score", columns)
    assert not any(scored[ERROR]) and np.all(scored[SCORE] < 0)
    model.close()


def test_malformed_texts_have_the_same_ids_in_graphs_and_in_python(imported):
    """Ten thousand rows of any characters, in batches: none changes its neighbors."""
    tokenizer = Run(imported[1]).vocabularies()["source_tokenizer"]
    random = np.random.default_rng(3)
    texts = ["".join(random.choice(ODD, random.integers(0, 13))) for _ in range(10_000)]
    for start in range(0, len(texts), 1000):
        part = texts[start : start + 1000]
        assert tokenizer.encode(part).to_list() == tokenizer.encode_all(part)
    rows = tokenizer.encode([b"\xff\xfe", b"the \xf0\x9f tale"]).to_list()
    assert rows == tokenizer.encode_all(["\ufffd\ufffd", "the \ufffd tale"])


@pytest.mark.slow
def test_it_is_a_run_as_any(tmp_path, capsys):
    """Asked, tuned with LoRA, and evaluated."""
    case, run = "nllb", tmp_path / "imported"
    assert main(["import", str(GOLDEN / case), "--out", str(run), *CASES[case]]) == 0
    capsys.readouterr()
    assert main(["predict", str(run), "the sand", "the letter", "--json"]) == 0
    assert len([json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]) == 2
    data = tmp_path / "pairs.tsv"
    pairs = [("the sand", "der Sand"), ("the letter", "der Brief"), ("the sand is old", "alt")]
    lines = [f"{a} {place}\t{b} {place}\n" for place in range(20) for a, b in pairs]
    data.write_text("".join(lines), encoding="utf-8")
    command = ["train", "translator_transformer", "--from", str(run), "--data", str(data)]
    command += ["--out", str(tmp_path / "tuned"), "--epochs", "2", "--learning-rate", "0.01"]
    assert main([*command, "--lora", "2", "--warmup-steps", "1", "--lengths", "23"]) == 0
    out = capsys.readouterr().out
    losses = [float(loss) for loss in re.findall(r"val_loss ([\d.e+]+)", out)]
    assert "LoRA of rank 2" in out and losses and max(losses) < 30  # Of silent ids, too.
    tuned = Run(tmp_path / "tuned")
    assert case in tuned.description["origin"]["name"]
    assert main(["evaluate", str(tuned.folder), "--data", str(data)]) == 0
    assert "BLEU" in capsys.readouterr().out
    own, other = (Run(folder).model().weights for folder in (run, tuned.folder))
    assert [weight.shape for weight in own] == [weight.shape for weight in other]
    assert any(np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(own, other))


def test_out_again(imported, tmp_path, capsys):
    case, run = imported
    out, again = str(tmp_path / "out"), str(tmp_path / "again")
    if case == "marian_untied_gelu":
        assert main(["export", str(run), out, "--format", "marian"]) == 0
        assert main(["import", out, "--out", again]) == 0
        assert main(["predict", again, "the sand"]) == 0
        assert main(["predict", str(run), "the sand"]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "the sand\t" in line]
        assert len(lines) == 2 and lines[0] == lines[1]
    else:
        assert main(["export", str(run), out, "--format", "marian"]) == 2
        assert "Expected a Transformer of Marian's kind" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()


def test_what_cannot_be_imported(tmp_path, capsys):
    out = tmp_path / "run"
    for arguments, message in (
        ([str(tmp_path / "nothing")], "Expected a file, a folder or the name OWNER/MODEL"),
        ([str(GOLDEN / "nllb")], "Expected source_language, one of"),
        ([str(GOLDEN / "mbart50"), "--source-language", "en_XX"], "Expected target_language"),
    ):
        assert main(["import", *arguments, "--out", str(out)]) == 2
        assert message in capsys.readouterr().err
        assert not out.exists()
    for kind in ("git", ["t5"]):
        folder = shutil.copytree(GOLDEN / "t5", tmp_path / "other", dirs_exist_ok=True)
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps({**settings, "model_type": kind}))
        assert main(["import", str(folder), "--out", str(out)]) == 2
        said = capsys.readouterr().err
        assert "one of marian, m2m_100, mbart, t5, mt5, vision-encoder-decoder, blip" in said
        assert f"Received: {kind!r}" in said and not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("mine", encoding="utf-8")
    assert main(["import", str(GOLDEN / "t5"), "--out", str(out)]) == 2
    assert "Expected a new run directory" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
