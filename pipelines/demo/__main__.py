"""`python -m pipelines.demo --out demo`, which `make demo` runs."""

import argparse
import sys

from keras_attn_pipelines.demo import demo as module

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=module.__doc__)
    parser.add_argument("--out", default="demo", help="folder for everything (default: demo)")
    try:
        module.demo(parser.parse_args().out)
    except (ValueError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\ndemo: stopped", file=sys.stderr)
        sys.exit(130)
