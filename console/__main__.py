"""`python -m console RUN`: the same as `andrea-console RUN`."""

from console.cli import main

raise SystemExit(main())
