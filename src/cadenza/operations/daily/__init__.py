"""Operations on users with a daily window, their days, and statistics of them."""
