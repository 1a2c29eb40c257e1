"""Repairs: intents turned into a plan of reversible actions, applied under a journal, taken back on request."""
