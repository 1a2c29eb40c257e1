"""``python -m sm120kit``."""

from sm120kit.cli.main import run

if __name__ == "__main__":
    run()
