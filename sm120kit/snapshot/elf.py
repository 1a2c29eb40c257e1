"""What a shared object says of itself: its soname and the libraries it needs."""

from __future__ import annotations


def needed_sonames(path: str) -> tuple[str, ...]:
    """DT_NEEDED entries in their order.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no ELF file, or a damaged one.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:  # noqa: PTH123
        try:
            sections = [each for each in ELFFile(file).iter_sections() if isinstance(each, DynamicSection)]
            tags = [tag for section in sections for tag in section.iter_tags("DT_NEEDED")]
            return tuple(str(getattr(tag, "needed", "")) for tag in tags)
        except (ELFError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a sound ELF file: {error}") from error
