"""Small stand-ins for servers and GPUs, on which a launch, its faults and its drills can be rehearsed anywhere."""
