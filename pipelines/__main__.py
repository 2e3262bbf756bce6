"""`python -m pipelines` is `keras-attn`."""

import sys

from pipelines.cli import main

sys.exit(main())
