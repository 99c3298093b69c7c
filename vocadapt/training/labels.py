"""Label values shared by all trainings."""

IGNORE_INDEX = -100  # label of positions that torch's cross-entropy leaves out of the loss
