"""Files of pairs and of gold links, and what is wrong with them."""

import gzip

import pytest

from keras_attn.alignment import Gold, alignment_scores, read_gold, read_pairs


def written(path, text):
    data = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


PAIRS = ([("a", "b"), (), ("c",)], [("x",), ("y", "שלום"), ("你好",)])


def test_pairs_of_every_kind_of_file(tmp_path):
    source = written(tmp_path / "a.en", "\ufeffa  b\r\n\r\nc")
    target = written(tmp_path / "a.xx.gz", "x\ny שלום\n你好\n")
    tabs = written(tmp_path / "a.tsv", "a b\tx\n\ty שלום\nc\t你好\n")
    lines = [
        '{"src_words": ["a", "b"], "tgt_words": ["x"]}',
        '{"src_words": [], "tgt_words": ["y", "שלום"]}',
        '{"src_words": ["c"], "tgt_words": ["你好"]}',
    ]
    records = written(tmp_path / "a.jsonl", "\n".join(lines))
    for pairs in (read_pairs(source, target), read_pairs(tabs), read_pairs(records)):
        assert pairs == PAIRS


def test_gold_links(tmp_path):
    wanted = [Gold.of([(0, 0)], [(1, 0)]), Gold.of([]), Gold.of([(0, 0)])]
    text = written(tmp_path / "gold.txt", "0-0 1?0\n\n0-0\n")
    assert read_gold(text, *PAIRS) == (wanted, [])
    lines = ['{"alignment": [[0, 0]], "possible": [[1, 0]]}', '{"alignment": []}']
    records = written(tmp_path / "g.jsonl", "\n".join([*lines, '{"alignment": [[0, 0]]}']))
    assert read_gold(records, *PAIRS) == (wanted, [])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "a\tb\na b\n", r"a.tsv, line 2: no tab"),
        ("a.tsv", "a\tb\tc\n", r"a.tsv, line 1: 2 tabs"),
        ("a.tsv", b"a\tb\n\xff\tb\n", r"Expected UTF-8. Received: .*a.tsv, line 2: invalid start"),
        ("a.jsonl", "[1]\n", r"Expected a JSON object. Received: .*a.jsonl, line 1"),
        ("a.jsonl", "{\n", r"a.jsonl, line 1: Expecting"),
        ("a.jsonl", '{"src_words": [1]}\n', r"Expected src_words, a list of words"),
    ],
)
def test_bad_pairs(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_pairs(written(tmp_path / name, text))


def test_a_damaged_gzip_file(tmp_path):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n")[:-4])
    with pytest.raises(ValueError, match="whole gzip file"):
        read_pairs(path)


def test_files_of_different_length(tmp_path):
    paths = [written(tmp_path / name, text) for name, text in (("s", "a\nb\n"), ("t", "x\n"))]
    with pytest.raises(ValueError, match=r"Expected as many lines in .*t as in .*s. .*: 1 and 2"):
        read_pairs(*paths)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g", "0-0\n\n0-1\n", r"within 1 and 1 words. Received: .*g, line 3: 0-1"),
        ("g", "0-0\n1:1\n\n", r"g, line 2: 1:1"),
        ("g", "0-0\n", r"Expected 3 lines of gold links.* 1 lines"),
        ("g.jsonl", '{"alignment": [[0, 0, 0]]}', r"alignment, a list of \[i, j\]. .*line 1"),
        ("g.jsonl", '{"alignment": [[0, -1]]}\n{"alignment": []}\n{"alignment": []}', r"line 1"),
    ],
)
def test_bad_gold(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_gold(written(tmp_path / name, text), *PAIRS)


def test_gold_links_outside_are_tolerated_and_listed(tmp_path):
    path = written(tmp_path / "g", "0-0\n\n0-1\n")
    gold, errors = read_gold(path, *PAIRS, tolerance=0.4)
    assert gold == [Gold.of([(0, 0)]), Gold.of([]), None]
    assert errors == [
        f"Expected links within 1 and 1 words. Received: {path}, line 3: 0-1; if the first word is "
        "1, base=1 (--gold-base 1)"
    ]
    scores = alignment_scores([[(0, 0)], [], [(0, 0), (0, 1)]], gold)
    assert scores == (0.0, 1.0, 1.0)
