"""`python -m pipelines` is `keras-attn`."""

import sys

from keras_attn_pipelines.cli import main

sys.exit(main())
