"""A store that lives as long as its process."""

from cadenza.adapters.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
