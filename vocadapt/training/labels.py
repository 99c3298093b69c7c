"""Types and values of labels and logits shared by all trainings."""

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
Targets = NDArray[np.float32] | NDArray[np.int64]
IGNORE_INDEX = -100  # label of positions that torch's cross-entropy leaves out of the loss
