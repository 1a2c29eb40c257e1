"""Images that nobody has unpacked: an archive of a container image as a target, without root and without an engine.

Nothing is unpacked. The headers of every layer are read once into a tree of names (``tree``), and a file's bytes are
read out of the archive when a collector asks for them (``files``). So an image of twenty gigabytes costs no disk, no
path of it can lead out of the tree, and no device, link or owner of it ever comes into being on this machine.
"""
