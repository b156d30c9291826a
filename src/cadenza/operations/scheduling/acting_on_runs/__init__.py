"""Operations with which people act on runs: list open ones, cancel, run again, redrive and backfill."""
