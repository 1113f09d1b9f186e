"""`python -m trainer RUN`: the same as `andrea-trainer RUN`."""

import sys

from trainer.cli import main

sys.exit(main())
