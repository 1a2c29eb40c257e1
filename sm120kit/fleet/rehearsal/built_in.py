"""The model of a rehearsal that names none: a configuration of our own, and weights that exist nowhere."""

from __future__ import annotations

import os

NAME = "stand-in"
"""As it is called."""

FOLDER = os.path.join(os.path.dirname(__file__), "model")
"""Holds its config.json alone."""

WEIGHTS = 1_200_000_000
"""Bytes: what a checkpoint of this shape would weigh in bfloat16."""

REQUESTS = 32
"""Asked for where nothing else is: so many that a batch is seen to fill, so few that any machine drives it."""
