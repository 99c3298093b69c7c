"""Size of a model before and after a trim."""

from vocadapt.models.adapted_model import AdaptedModel
from vocadapt.models.token_tensors import list_token_tensors


def measure_trimmed_size(adapted: AdaptedModel) -> dict[str, int]:
    """Return the number of parameters of a network before and after a trim, and the number of
    parameters and bytes saved. Tied matrices count once.
    """
    rows = adapted.matrix_rows
    parameters = saved = saved_bytes = 0
    for value in adapted.network.parameters():
        parameters += value.numel()
    for value in list_token_tensors(adapted.network).values():
        per_row = value.numel() // rows.new_rows
        saved += per_row * (rows.rows - rows.new_rows)
        saved_bytes += per_row * (rows.rows - rows.new_rows) * value.element_size()
    return {
        "parameters_before": parameters + saved,
        "parameters_after": parameters,
        "parameters_saved": saved,
        "bytes_saved": saved_bytes,
    }
