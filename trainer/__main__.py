"""`python -m trainer RUN`: the same as `andrea-trainer RUN`."""

import sys

from trainer.cli import main

if __name__ == "__main__":  # processes that encode text import this module, too
    sys.exit(main())
