"""Operations on users, agents, conversations and agent schedules."""
