"""The commands of the command line: their options, and what they do."""

from keras_attn_pipelines.commands.align import Align
from keras_attn_pipelines.commands.evaluate import Evaluate
from keras_attn_pipelines.commands.export import Export
from keras_attn_pipelines.commands.predict import Explain, Predict, Score, Serve
from keras_attn_pipelines.commands.recipes import New, Prepare, Recipes
from keras_attn_pipelines.commands.train import Average, Ensemble, Import, Train

COMMANDS = {
    command.__name__.lower(): command
    for command in (
        *(Recipes, New, Prepare, Train, Import, Evaluate, Average, Ensemble, Export),
        *(Predict, Score, Serve, Explain, Align),
    )
}
"""Classes of options by the command's name."""
