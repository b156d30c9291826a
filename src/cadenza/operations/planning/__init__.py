"""Operations on rules, planners and their analyses."""
