"""Reads questions about stories in the format of the bAbI tasks."""

import re
from dataclasses import dataclass
from pathlib import Path

from keras_attn.text_file import is_text
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.split_names import check_named_splits, exact_split, is_like_dev
from keras_attn_pipelines.data.text_lines import lines_of

FILE = re.compile(r"qa(\d+)(?:_(.+))?_([a-z]+)\.txt(?:\.gz)?", re.IGNORECASE)
ANY = re.compile(r"qa\d+_(?:.+_)?([a-z]+)([^a-z_].*)?", re.IGNORECASE)
"""Any name that means a task and a split."""
TASK = re.compile(r"qa\d", re.IGNORECASE)
LINE = re.compile(r"(\d{1,9}) (.*)")


@dataclass(frozen=True)
class StoryQuestion:
    """A question about a story.

    Attributes:
        task: number of its task, such as 1 of qa1_single-supporting-fact.
        story: the sentences before it, oldest first.
        question: the question.
        answer: its answer, one word or several with commas between them.
        file: name of its file.
        line: its line in the file, from 1.
    """

    task: int
    story: tuple[str, ...]
    question: str
    answer: str
    file: str
    line: int


@dataclass(frozen=True)
class TaskFile:
    """A file of a bAbI task.

    Attributes:
        path: its path.
        task: number of the task.
        name: name of the task, such as "single-supporting-fact"; '' if the file has none.
    """

    path: Path
    task: int
    name: str

    @property
    def title(self) -> str:
        """The name of the task in words, such as "single supporting fact"."""
        return (self.name or f"qa{self.task}").replace("-", " ")


def task_files(data) -> dict[str, list[TaskFile]]:
    """The files of the tasks in a folder by split, in the order of the tasks.

    They are named qaN_NAME_SPLIT.txt or qaN_SPLIT.txt, as in every folder of bAbI 1.2, plain or
    .gz.

    Raises:
        ValueError: no folder, none of these files, or two of a task and a split.
    """
    folder = Path(data)
    if not folder.is_dir():
        raise ValueError(f"Expected a folder of bAbI tasks at {folder}. Received: no such folder")
    splits: dict[str, dict[int, TaskFile]] = {}
    for path in sorted(folder.iterdir()):
        match = FILE.fullmatch(path.name)
        named = ANY.fullmatch(path.name)
        split = exact_split(named[1]) if named else ""
        if not split and TASK.search(path.name) and is_like_dev(path.name):
            split = "dev"
        if not split:
            continue
        if match is None or not path.is_file():
            raise ValueError(
                f"Expected the split {split!r} in a file such as qa1_{split}.txt. Received: {path}"
            )
        file = TaskFile(check_inside(path, folder), int(match[1]), match[2] or "")
        tasks = splits.setdefault(split, {})
        if file.task in tasks:
            raise ValueError(
                f"Expected one file of task {file.task} for the split {match[3]!r}. "
                f"Received: {tasks[file.task].path} and {path}"
            )
        tasks[file.task] = file
    if not splits:
        raise ValueError(
            f"Expected files such as qa1_single-supporting-fact_train.txt in {folder}. "
            "Received: none"
        )
    check_named_splits(folder, splits)
    return {name: [tasks[number] for number in sorted(tasks)] for name, tasks in splits.items()}


def read_task(file: TaskFile) -> list[StoryQuestion]:
    """The questions of a file.

    A line has a number and a sentence, or a number, a question, a tab and an answer; the
    supporting lines that may follow after another tab are not read. Numbers start again from 1
    with each story.

    Raises:
        ValueError: a malformed line, named with the file; no question.
    """
    story: list[str] = []
    questions: list[StoryQuestion] = []
    last = 0
    for number, line in enumerate(lines_of(file.path), 1):
        place = f"{file.path}:{number}"
        count, sentence, answer = _fields(line, place)
        if count not in (1, last + 1):
            raise _malformed(place, f"the line number 1 of a story, or {last + 1}", count)
        story, last = ([] if count == 1 else story), count
        if answer is None:
            story.append(sentence)
            continue
        if not story:
            raise _malformed(place, "a sentence of the story before its first question", line)
        name = file.path.name
        questions.append(StoryQuestion(file.task, tuple(story), sentence, answer, name, number))
    if not questions:
        raise ValueError(f"Expected questions in {file.path}. Received: none")
    return questions


def _fields(line: str, place: str) -> tuple[int, str, str | None]:
    """Number and sentence of a line, and its answer if it is a question."""
    match = LINE.fullmatch(line)
    if match is None or not is_text(line):
        raise _malformed(place, "a number, a space and a sentence in UTF-8", line)
    sentence, *rest = match[2].split("\t")
    sentence = sentence.strip()
    if not sentence:
        raise _malformed(place, "a sentence", line)
    if not rest and sentence.endswith("?"):
        raise _malformed(place, "a tab and an answer after a question", line)
    answer = rest[0].strip().lower() if rest else None
    if answer is not None and len(answer.split()) != 1:
        one = "an answer of one word, or of several with commas between them"
        raise _malformed(place, f"{one}, after the tab", line)
    return int(match[1]), sentence, answer


def _malformed(place, expected, received):
    return ValueError(f"{place}: Expected {expected}. Received: {received!r:.80}")
