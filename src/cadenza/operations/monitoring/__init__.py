"""Operations for people who look: overview, live changes, service levels and alerts."""
