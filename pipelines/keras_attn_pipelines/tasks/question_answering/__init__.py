"""Question answering over stories."""

from keras_attn_pipelines.tasks.question_answering.babi_tasks import BabiTasks
from keras_attn_pipelines.tasks.question_answering.memory_network import EndToEndMemory
from keras_attn_pipelines.tasks.question_answering.neural_computer import NeuralComputer
from keras_attn_pipelines.tasks.question_answering.settings import QuestionAnswering

__all__ = ["BabiTasks", "EndToEndMemory", "NeuralComputer", "QuestionAnswering"]
