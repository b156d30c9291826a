"""What an owner writes of an endpoint."""
