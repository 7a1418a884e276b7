"""The front end of probes written in Python: functions, as they were captured, to a checked program."""
