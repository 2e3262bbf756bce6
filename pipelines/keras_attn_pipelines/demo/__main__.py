"""`python -m keras_attn_pipelines.demo --out demo`, which `make demo` runs."""

import argparse
import sys

from keras_attn_pipelines.console import run


def main() -> int:
    """Runs the demo."""
    import tensorflow as tf  # What these import writes on its own.

    from keras_attn_pipelines.demo import demo as module

    # More threads would wait for such small operations.
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    parser = argparse.ArgumentParser(prog="demo", description=module.__doc__)
    parser.add_argument("--out", default="demo", help="folder for everything (default: demo)")
    try:
        module.demo(parser.parse_args().out)
    except (ValueError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ndemo: stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    run(main)
