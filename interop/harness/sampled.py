"""Figures of samples: means, medians, deviations and their 95 % intervals, by formulas written here.

The rule kept here: no code of the lab takes part, so that both can be compared.
"""

import functools
import math

BEST, MEDIAN, MEAN, DEVIATION = "best", "median", "mean", "deviation"


def figures(line):
    """Of the samples of a line; where it keeps none, those that it tells."""
    samples = line.get("samples") or []
    if not samples:
        told = line["figures"]
        return told | {"deviation": told["stdev"]}
    return of(samples)


def of(samples):
    """Of samples in any order."""
    samples = sorted(samples)
    n = len(samples)
    mean = math.fsum(samples) / n
    deviation = math.sqrt(math.fsum((it - mean) ** 2 for it in samples) / max(n - 1, 1))
    half = student(n - 1) * deviation / math.sqrt(n) if n > 1 else 0.0
    return {
        "n": n,
        "best": samples[0],
        "mean": mean,
        "median": (samples[(n - 1) // 2] + samples[n // 2]) / 2,
        "deviation": deviation,
        "p95": samples[-(-n * 95 // 100) - 1],
        "worst": samples[-1],
        "mean_interval": [mean - half, mean + half],
        "median_interval": [samples[at(n, -(-n // 2), 0.025)], samples[at(n, n // 2 + 1, 0.975)]],
    }


@functools.cache
def at(n, rank, wanted):
    """The first place at or below which the middle of a resample lies with that chance, by the binomial distribution."""

    def chance(number):
        share = number / n
        return math.fsum(
            math.exp(
                math.lgamma(n + 1) - math.lgamma(it + 1) - math.lgamma(n - it + 1)
                + it * math.log(share) + (n - it) * math.log1p(-share)
            )
            for it in range(rank, n + 1)
        )

    # The chance grows with the place.
    least, most = 1, n
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if chance(middle) >= wanted else (middle + 1, most)
    return least - 1


@functools.cache
def student(degrees):
    """What Student's t exceeds to either side in 5 % of cases: by bisection of its integral, which Simpson's rule adds up."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)

    def inside(t, steps=2000):
        # With x = √v·tan(a) the density becomes a power of a cosine, which is smooth for any number
        # of degrees.
        end = math.atan(t / math.sqrt(degrees))
        width = end / steps
        weights = (1 if it in (0, steps) else 4 if it % 2 else 2 for it in range(steps + 1))
        total = math.fsum(weight * math.cos(it * width) ** (degrees - 1) for it, weight in enumerate(weights))
        return 2 * scale * math.sqrt(degrees) * total * width / 3

    least, most = 0.0, 20.0
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (middle, most) if inside(middle) < 0.95 else (least, middle)
    return (least + most) / 2


# Numbers as the page writes them.


def number(value):
    """Three digits at least, and thousands set apart."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "–")
    size = abs(value)
    places = [(99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3), (0.009995, 4)]
    decimals = 0 if size == 0 else next((digits for least, digits in places if size >= least), 5)
    text = f"{size:,.{decimals}f}"
    return "−" + text if value < 0 and text.strip("0.,") else text


def tick(value):
    """As short as it can be."""
    text = number(value)
    return text.rstrip("0").rstrip(".") if "." in text else text
