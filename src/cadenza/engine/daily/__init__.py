"""The daily runner: tick, queue, executor and finalizer."""
