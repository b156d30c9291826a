"""Operations on jobs, endpoints, runs and hints."""
