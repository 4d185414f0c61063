"""Colors of figures and of the page. Colors of series can be distinguished with any color vision (after Okabe and Ito).
Each name has two colors, for a light and a dark page."""

# {name: (in files and on a light page, on a dark one)}
COLORS = {
    "ink": ("#1b1b1b", "#e8e6e3"), "muted": ("#5f5f5f", "#a8a8a8"), "grid": ("#dcdcdc", "#3d4043"),
    "paper": ("#fffffe", "#16181b"), "heat": ("#5aa9e6", "#1f67a8"), "link": ("#0b57a4", "#8ab8f0"),
    "c0": ("#0072b2", "#56b4e9"), "c1": ("#c44e00", "#ff9a4d"), "c2": ("#00785b", "#45d6a8"),
    "c3": ("#aa3377", "#f08fc0"), "c4": ("#8a6d00", "#e5c84a"), "c5": ("#4d4d4f", "#b9b9bb")}


def light(name):
    return COLORS[name][0]


def style(which):
    """CSS variables: which = 0: light, 1: dark."""
    return " ".join(f"--{name}: {pair[which]};" for name, pair in COLORS.items())
