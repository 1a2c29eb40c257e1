"""Reads logs: which known failure a log shows, under the lines that only say that something failed."""
