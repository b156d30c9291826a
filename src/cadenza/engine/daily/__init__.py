"""The daily runner, which gives each user one verdict a day: tick, queue, executor and finalizer."""
