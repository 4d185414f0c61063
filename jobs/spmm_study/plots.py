"""All figures, for other modules to import; needs matplotlib."""
from .draw import GREYS, HATCHES, Picture, new_figure, save, styled, svg
from .plots_kernels import MOST_BARS, dots, heat, phases, rates, shapes
from .plots_outcome import outcome
from .plots_roofline import roofline, steps_roofline
from .plots_scaling import efficiency, models, strong, weak

__all__ = ["GREYS", "HATCHES", "MOST_BARS", "Picture", "dots", "efficiency", "heat", "models", "new_figure", "outcome",
           "phases", "rates", "roofline", "save", "shapes", "steps_roofline", "strong", "styled", "svg", "weak"]
