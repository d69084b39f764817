"""`python -m reprise`: see `reprise.cli`."""

import sys

if __name__ == "__main__":
    try:
        from reprise.cli import main

        status = main()
    except KeyboardInterrupt:  # before there was a command, or once more while the first was told
        print("reprise: stopped", file=sys.stderr)
        status = 130
    raise SystemExit(status)
