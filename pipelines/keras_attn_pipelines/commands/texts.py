"""Words of help and a default that several commands share."""

from keras_attn_pipelines.recipes import recipe_names

MODEL, DEV = "saved_models/NAME", "dev"
RECIPE_TEXT = f"{', '.join(recipe_names())}, or a .py file"
PIXELS_TEXT = "width times height of the largest picture that is decoded (default: 25000000)"
