"""``python -m ascend_infer``: the command line."""

import sys

from ascend_infer.cli import main

if __name__ == "__main__":
    sys.exit(main())
