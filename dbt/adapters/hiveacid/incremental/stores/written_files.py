"""Which data files the rows of a target are in, by digests of their names. Pure.

Files that others have added do not matter; one that is gone has taken rows with it that no later
change of the source brings back. So each file has a digest of its own, of 48 bits: a target of
10,000 partitions with five files each takes some 600 kB.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

_DIGEST_BYTES = 6
_DIGEST_LETTERS = 8

_SHOWN = 3
"""So many partitions are named."""


@dataclass(frozen=True)
class WrittenFiles:
    """The files that the runs of a model have written into its target.

    `by_directory` has the digests of the files in each directory below the table's own, which is
    the empty name; the others are those of partitions.
    """

    by_directory: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, names: Iterable[str]) -> WrittenFiles:
        """Those of the given names, relative to the table's directory."""
        found: dict[str, set[str]] = {}
        for name in names:
            directory, _, file = name.rpartition("/")
            found.setdefault(directory, set()).add(_digest(file))
        return cls({directory: frozenset(digests) for directory, digests in found.items()})

    @classmethod
    def from_json(cls, data: Mapping[str, str]) -> WrittenFiles:
        """Read what `to_json` gave."""
        return cls({directory: frozenset(_split(text)) for directory, text in data.items()})

    def to_json(self) -> dict[str, str]:
        """As plain data that `json.dumps` takes."""
        return {
            directory: "".join(sorted(digests)) for directory, digests in self.by_directory.items()
        }

    def with_more(self, names: Iterable[str]) -> WrittenFiles:
        """These files and some that come to them."""
        more, known = WrittenFiles.of(names).by_directory, self.by_directory
        nothing: frozenset[str] = frozenset()
        return WrittenFiles(
            {name: known.get(name, nothing) | more.get(name, nothing) for name in {**known, **more}}
        )

    def gone(self, names: Iterable[str], partitions: Collection[str] | None) -> str | None:
        """What has been lost, to complete "because …"; None if all files are there.

        `names` are those of the files below the table's directory, `partitions` the partitions of
        which its catalog knows; None if the catalog does not keep them. An external table's files
        stay when a partition of it is dropped.
        """
        there = WrittenFiles.of(names).by_directory
        if partitions is not None:
            known = set(map(_without_case, partitions))
            there = {name: files for name, files in there.items() if _without_case(name) in known}
        gone = {
            directory: len(digests - there.get(directory, frozenset()))
            for directory, digests in self.by_directory.items()
        }
        lost = sum(gone.values())
        if not lost:
            return None
        whole = sum(map(len, self.by_directory.values()))
        where = sorted(name for name, count in gone.items() if name and count)
        places = f" ({_some(where)})" if where else ""
        return f"{lost} of the {whole} files that its runs have written are gone from it{places}"


def _digest(name: str) -> str:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
    return base64.urlsafe_b64encode(digest.digest()).decode()


def _split(text: str) -> Iterable[str]:
    return (text[i : i + _DIGEST_LETTERS] for i in range(0, len(text), _DIGEST_LETTERS))


def _without_case(partition: str) -> str:
    """A partition's name with those of its columns in lower case, as the metastore has them."""
    if not partition:
        return partition
    parts = (part.partition("=") for part in partition.split("/"))
    return "/".join(f"{column.lower()}={value}" for column, _, value in parts)


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
