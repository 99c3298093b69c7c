"""States in the result of a loader."""

LOADS = "loads"
DIFFERS = "differs"
NOT_TRIED = "not tried"
NOT_APPLICABLE = "not applicable"
NOT_REQUESTED = "not requested"  # why a program was not tried
