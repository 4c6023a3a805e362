"""Seeds and hashes that are the same in every process and on every machine."""

import hashlib


def stable_hash(text: str) -> int:
    """Returns a 63-bit non-negative hash of the text.

    Unlike Python's salted hash, it is the same in every process.
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def seed_of(seed: int, epoch: int, sample: int, purpose: str) -> str:
    """Returns the seed of random.Random for one purpose, sample and epoch."""
    return f"{seed}/{epoch}/{sample}/{purpose}"
