"""Recorded history under another policy, and how soon changes would have been noticed."""
