"""What a program makes of an adapted model."""

LOADS, DIFFERS, NOT_TRIED, NOT_APPLICABLE = "loads", "differs", "not tried", "not applicable"
NOT_REQUESTED = "not requested"  # why a program was not tried
