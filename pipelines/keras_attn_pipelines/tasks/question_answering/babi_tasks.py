"""The source of bAbI tasks."""

from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part


@part
class BabiTasks:
    """A folder of bAbI tasks: qaN_NAME_train.txt and qaN_NAME_test.txt."""

    unit: ClassVar[str] = "questions"
    records: ClassVar[str] = "questions about stories"

    only_task: int = option(
        "number of the one task to learn; 0: all tasks of the folder together", default=0, least=0
    )
    dev_share: float = option(
        "fraction of the training questions held out for dev if there are no files for it",
        default=0.1,
        above=0,
        below=1,
    )

    def find(self, data):
        """See `Source`."""
        self._files(data)

    def read(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.training_data import Records

        splits = {name: self.split(data, name) for name in ("train", "dev")}
        files = (file for tasks in self._files(data).values() for file in tasks)
        titles = dict.fromkeys(f"{file.task} ({file.title})" for file in files)
        return Records(splits, lines=[f"tasks: {', '.join(titles)}"])

    def split(self, data, name):
        """See `Source`: questions in the order of their tasks."""
        from keras_attn_pipelines.data.hash_split import place_of_text, split_by_place
        from keras_attn_pipelines.data.readers.babi_reader import read_task

        files, records = self._files(data), []
        held_out = "dev" not in files and name in ("train", "dev")
        key = "train" if held_out else name
        if key not in files:
            raise ValueError(
                f"Expected files for the split {name!r}, such as qa1_{name}.txt, in {data}. "
                f"Received: those of {', '.join(files)}"
            )
        for file in files[key]:
            questions = read_task(file)
            if held_out:
                texts = ["\n".join((*record.story, record.question)) for record in questions]
                places = [place_of_text(text) for text in texts]
                questions = split_by_place(questions, places, self.dev_share, 0.0)[name]
            records += questions
        if not records:
            raise ValueError(f"Expected questions in the split {name!r} of {data}. Received: none")
        return records

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.readers.babi_reader import StoryQuestion

        return StoryQuestion

    def _files(self, data):
        """The files of the chosen tasks by split."""
        from keras_attn_pipelines.data.readers.babi_reader import task_files

        files = task_files(data)
        if not self.only_task:
            return files
        chosen = {
            name: [file for file in tasks if file.task == self.only_task]
            for name, tasks in files.items()
        }
        if not any(chosen.values()):
            numbers = sorted({file.task for tasks in files.values() for file in tasks})
            raise ValueError(
                f"Expected only_task to be one of {', '.join(map(str, numbers))} in {data}. "
                f"Received: only_task={self.only_task}"
            )
        return {name: tasks for name, tasks in chosen.items() if tasks}
