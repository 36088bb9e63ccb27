# SPDX-License-Identifier: Apache-2.0
"""Makes python -m snug run the command snug."""
import os
import subprocess
import sys

from ._ask import binary


def main() -> None:
    args = [binary(), *sys.argv[1:]]
    if os.name == "nt":  # exec would return to the shell before the command has ended
        sys.exit(subprocess.call(args))
    os.execv(args[0], args)


main()
