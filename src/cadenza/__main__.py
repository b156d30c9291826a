"""`python -m cadenza` is `cadenza`."""

import sys

from cadenza.roots.command_line import main

sys.exit(main())
