"""Where concrete classes are wired together; each root is a straight line to something that runs."""
