"""Writes ptb_tokenizer.json: our own sentences and the tokens of coco-caption's Java tokenizer.

    python -m tests.golden.make_ptb_tokenizer [sentences.txt | captions.csv]

Needs Java and the package pycocoevalcap; takes about a second. Without a file the sentences of the
present JSON are tokenized again; with one, its lines (or its column "caption") replace them.
"""

import csv
import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

OPTIONS = ("-preserveLines", "-lowerCase")
GOLDEN = Path(__file__).with_name("ptb_tokenizer.json")
PUNCTUATION = (
    "''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-",
    ".", "?", "!", ",", ":", "-", "--", "...", ";",
)  # fmt: skip
"""The tokens that coco-caption drops."""


def java_tokens(sentences: list[str]) -> list[list[str]]:
    """The tokens of each sentence by the jar that pycocoevalcap ships, punctuation dropped.

    A line "x" stands between the sentences, because the program looks into the next line.
    """
    jar = resources.files("pycocoevalcap") / "tokenizer" / "stanford-corenlp-3.4.1.jar"
    done = subprocess.run(
        ["java", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer", *OPTIONS],
        input="".join(sentence.replace("\n", " ") + "\nx\n" for sentence in sentences),
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=600,
    )
    lines = done.stdout.split("\n")
    if len(lines) != 2 * len(sentences) + 1:
        raise ValueError(f"Expected {2 * len(sentences)} lines. Received: {len(lines) - 1}")
    return [
        [token for token in line.rstrip().split(" ") if token and token not in PUNCTUATION]
        for line in lines[:-1:2]
    ]


def read_sentences(path: Path) -> list[str]:
    if path.suffix == ".json":
        return [sentence for sentence, _ in json.loads(path.read_text(encoding="utf-8"))]
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return [row["caption"] for row in csv.DictReader(file)]
        return [line.rstrip("\n") for line in file]


def main(arguments: list[str]) -> None:
    sentences = read_sentences(Path(arguments[0]) if arguments else GOLDEN)
    cases = zip(sentences, java_tokens(sentences))
    lines = [json.dumps(case, ensure_ascii=True) for case in cases]
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
