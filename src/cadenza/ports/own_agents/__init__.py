"""The port of turns that agents outside of Cadenza answer."""
