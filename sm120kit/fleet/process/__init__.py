"""Processes of a fleet: started, told apart from all others, and ended with everything that they started."""
