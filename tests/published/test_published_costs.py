"""CO2 by Strubell's formula: nothing without power and time, and the known values with them."""

from dataclasses import replace

import pytest

from vocadapt.published.costs import apply_strubell
from vocadapt.published.reader import find_table

BIOBERT, GREEN = "BioBERTv1.0", "GreenBioBERT"


def test_an_empty_table_stays_empty() -> None:
    assert apply_strubell(find_table("poerner-cost")) == ()


def test_power_and_time_give_energy_co2_and_the_published_fraction() -> None:
    table = find_table("poerner-cost")
    values = {
        (BIOBERT, "power"): 1505.0,
        (BIOBERT, "time"): 240.0,
        (BIOBERT, "CO2"): 544.0,
        (GREEN, "power"): 1560.0,
        (GREEN, "time"): 12.0,
    }
    cells = [replace(table.find_cell(*place), value=value) for place, value in values.items()]
    rows = {row.row: row for row in apply_strubell(table.replace_cells(cells))}
    assert rows[BIOBERT].kwh == pytest.approx(1.58 * 1505 * 240 / 1000)
    assert round(rows[BIOBERT].lbs) == rows[BIOBERT].lbs_published == 544
    assert round(rows[GREEN].lbs) == 28 and rows[GREEN].lbs_published is None
    published = find_table("poerner-footprint").find_cell(GREEN, "CO2").number
    assert round(100 * rows[GREEN].fraction) == published == 5
