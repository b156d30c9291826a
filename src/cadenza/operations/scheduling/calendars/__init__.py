"""Operations on calendars: writing, listing and previewing them."""
