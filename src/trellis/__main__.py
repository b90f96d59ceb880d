"""`python -m trellis`: the command line."""

from trellis.cli import main

if __name__ == "__main__":
    main()
