"""The ACID column `bucket`, which packs more than a bucket number (Hive's `BucketCodec`).

Version 1, which Hive 3 and later write, from the high bits to the low ones: 3 bits version,
1 reserved, 12 bits bucket number, 4 reserved, 12 bits statement id.
"""

from __future__ import annotations

from dataclasses import dataclass

_VERSION_SHIFT = 29
_BUCKET_SHIFT = 16
_TWELVE_BITS = 0xFFF


@dataclass(frozen=True)
class BucketProperty:
    """What a value of the ACID column `bucket` says."""

    bucket: int
    statement_id: int
    version: int = 1

    def encode(self) -> int:
        """The column's value in version 1. Raises `ValueError` if a part is out of range."""
        for part in (self.bucket, self.statement_id):
            if not 0 <= part <= _TWELVE_BITS:
                raise ValueError(f"{self} does not fit the bucket column: 0 to {_TWELVE_BITS}")
        return (1 << _VERSION_SHIFT) | (self.bucket << _BUCKET_SHIFT) | self.statement_id


def decode_bucket(value: int) -> BucketProperty:
    """Unpack a value of the ACID column `bucket`. Raises `ValueError` for an unknown version."""
    version = (value & 0xFFFFFFFF) >> _VERSION_SHIFT
    if version == 0:
        return BucketProperty(bucket=value, statement_id=0, version=0)
    if version == 1:
        bucket = (value >> _BUCKET_SHIFT) & _TWELVE_BITS
        return BucketProperty(bucket, value & _TWELVE_BITS)
    raise ValueError(f"bucket value {value} has the unknown version {version}")
