"""``python -m bsfw``: the command."""

from bsfw.cli import main

raise SystemExit(main())
