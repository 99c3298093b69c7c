"""States in the result of a loader."""

LOADS, DIFFERS, NOT_TRIED, NOT_APPLICABLE = "loads", "differs", "not tried", "not applicable"
NOT_REQUESTED = "not requested"  # why a program was not tried
