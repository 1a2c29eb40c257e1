"""From what is asked for to a spec in which nothing is left to be decided."""
