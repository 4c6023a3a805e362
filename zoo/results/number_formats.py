"""How tables, figures and pages print values in per cent and differences in percentage points."""

from decimal import ROUND_HALF_UP, Decimal

TENTH = Decimal("0.1")
DIGITS = 9  # further digits are errors of floating-point arithmetic


def format_number(value: float | None) -> str:
    """Returns a value with one decimal, empty for None; halves are rounded away from zero.

    Example:
        >>> format_number(78.25), format_number(78.24999999999999), format_number(-0.04)
        ('78.3', '78.3', '0.0')
    """
    if value is None:
        return ""
    tenths = Decimal(str(round(float(value), DIGITS))).quantize(TENTH, ROUND_HALF_UP)
    return str(tenths + 0)  # without the sign of -0.0


def format_points(difference: float | None) -> str:
    """Returns a difference in percentage points with its sign; zero has none."""
    text = format_number(difference)
    return f"+{text}" if difference is not None and difference > 0 and text != "0.0" else text
