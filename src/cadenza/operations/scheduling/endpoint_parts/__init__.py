"""What an owner writes of an endpoint: the commands, and the calendars that it keeps to."""
