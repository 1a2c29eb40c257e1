"""The verification: a ladder of named verdicts, each with its evidence."""
