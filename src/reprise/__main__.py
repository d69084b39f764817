"""`python -m reprise`: see `reprise.cli`."""

from reprise.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
