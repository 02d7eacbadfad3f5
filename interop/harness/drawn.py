"""What follows from the lines of a figure: places where arms change places, slopes, starts that are paid off, sums, changes.

Each function takes the lines of that figure, the coordinate along its axis and the one along the axis of what is drawn, and
gives cells by series, stack and place: a value with its interval, or a word that says why there is none. The rule kept here:
what intervals leave open is told as that.
"""

import math

from .sampled import BEST, DEVIATION, MEAN, figures, of, student, tick

# Where values stand whose points do not name an operation, and those that are made of two places.
ECHO, SUM = "Echo", "Sum"
# Bytes are counted: one sample of them is exact.
COUNTED = {"size", "secured", "secured-request", "secured-response", "header"}
OPEN = (-math.inf, math.inf)


class Course:
    """The values of one arm on one stack along an axis."""

    def __init__(self, stack, arm, besides):
        self.stack, self.arm, self.besides = stack, arm, besides
        self.values, self.lines = {}, {}

    def numbers(self):
        """Places that are numbers, in ascending order, with what was measured there."""
        found = []
        for along, value in self.values.items():
            try:
                found.append((float(along), value))
            except ValueError:
                continue
        return sorted(found, key=lambda it: it[0])

    def parted(self, axis):
        """The coordinate along an axis, and the values of the others."""
        besides = dict(self.besides)
        along = besides.pop(axis, "")
        return along, list(besides.values())


def courses(lines, axis, quantity, by=MEAN):
    """Courses of a quantity, each value with its interval."""
    found = {}
    for line in lines:
        if line["quantity"] != quantity:
            continue
        own = figures(line)
        if by == DEVIATION and own["n"] < 2:
            continue
        besides = tuple(sorted((name, value) for name, value in line["at"].items() if name != axis))
        key = (line["stack"], line["arm"], besides)
        course = found.setdefault(key, Course(*key))
        along = line["at"].get(axis, "")
        interval = tuple(own["mean_interval"]) if by == MEAN else None
        course.values[along] = (own[by], interval, own["n"])
        course.lines[along] = line
    return list(found.values())


def measured(value, quantity):
    """A value with the interval that it is told apart by: of one sample there is none, unless bytes were counted."""
    middle, interval, n = value
    if interval is not None and n > 1:
        return middle, *interval
    return (middle, middle, middle) if quantity in COUNTED else (middle, *OPEN)


def named(arm, besides):
    return ", ".join([arm, *besides])


# Two courses beside each other. A place is where they are, and what both have there.


def less(place):
    """Which of both is less, 0 or 1; nothing where intervals overlap."""
    _, first, second = place
    if first[2] < second[1]:
        return 0
    return 1 if second[2] < first[1] else None


def gap(place, which):
    """By how much the other one is more, by values and by the ends that are nearest."""
    own, other = place[1 + which], place[2 - which]
    return other[0] - own[0], other[1] - own[2]


def zero(begin, end):
    """Where a straight line from something left to nothing left meets zero."""
    (place, left), (other, none) = begin, end
    return place + (other - place) * left / (left - none) if math.isfinite(none) else place


def crossings(places):
    """Each place where two change places: which was less before, where values meet, where intervals overlap."""
    found, last = [], None
    for index, place in enumerate(places):
        now = less(place)
        if now is None:
            continue
        if last is not None and last[1] != now:
            part = places[last[0] : index + 1]
            was = last[1]
            steps = [(one, other) for one, other in zip(part, part[1:]) if gap(other, was)[0] <= 0]
            if steps:
                one, other = steps[0]
                at = zero((one[0], gap(one, was)[0]), (other[0], gap(other, was)[0]))
                begin = zero((part[0][0], gap(part[0], was)[1]), (part[1][0], gap(part[1], was)[1]))
                end = zero((part[-1][0], gap(part[-1], now)[1]), (part[-2][0], gap(part[-2], now)[1]))
                found.append((was, at, (begin, end)))
        last = (index, now)
    return found


def together(one, other, quantity):
    """Places of two courses."""
    return [
        (at, measured(value, quantity), measured(beside[at], quantity))
        for beside in [dict(other.numbers())]
        for at, value in one.numbers()
        if at in beside
    ]


def known(places):
    """What can be said of two that do not clearly change places: a word, and which is less at first if they perhaps do."""
    clear = [place for place in places if less(place) is not None]
    if places and len(clear) == len(places):
        return ("apart", less(places[0]))
    if clear:
        begin, end = (0 if place[1][0] < place[2][0] else 1 for place in (places[0], places[-1]))
        if begin != end:
            after = less(clear[-1]) == begin
            word = f"if at all, after {tick(clear[-1][0])}" if after else f"if at all, before {tick(clear[0][0])}"
            return (word, begin)
    return ("open", None)


def whole(count):
    return math.ceil(count - 1e-6)


def crossovers(lines, axis, along_axis, quantity):
    """A row for each pair of arms in the order in which they change places."""
    groups = {}
    for course in courses(lines, axis, quantity):
        groups.setdefault((course.stack, course.besides), []).append(course)
    pairs, rows = [], {}
    for (stack, _), group in groups.items():

        def short(arm):
            begin = arm.split("/")[0]
            return arm if sum(it.arm.split("/")[0] == begin for it in group) > 1 else begin

        for number, one in enumerate(group):
            for other in group[number + 1 :]:
                names = [short(one.arm), short(other.arm)]
                places = together(one, other, quantity)
                along, others = one.parted(along_axis)
                pairs.append((stack, others, along or ECHO, names, crossings(places), known(places)))
    for stack, others, along, names, crossed, (word, first) in pairs:
        for was, at, ends in crossed:
            row = rows.setdefault((named(" → ".join(names[:: -1 if was else 1]), others), stack), {})
            row.setdefault(along, (whole(at), tuple(map(whole, ends))))
        if not crossed and word.startswith("if"):
            rows.setdefault((named(" → ".join(names[:: -1 if first else 1]), others), stack), {})
    for stack, others, along, names, crossed, (word, first) in pairs:
        for was in (0, 1):
            row = rows.get((named(" → ".join(names[:: -1 if was else 1]), others), stack))
            if row is None or along in row:
                continue
            if crossed:
                row[along] = "the other way round"
            elif word == "apart":
                row[along] = f"{names[first]} is always less"
            else:
                row[along] = word if first == was else "intervals leave it open"
    return {(name, stack, along): cell for (name, stack), row in rows.items() for along, cell in row.items()}


def even(lines, axis, along_axis, quantity, arm, beside):
    """From where on an arm has no more than another."""
    found = {}
    all_courses = courses(lines, axis, quantity)
    for course in all_courses:
        same = (it for it in all_courses if (it.stack, it.besides, it.arm) == (course.stack, course.besides, beside))
        other = next(same, None)
        if course.arm != arm or other is None:
            continue
        along, others = course.parted(along_axis)
        places = together(course, other, quantity)
        crossed, (word, first) = crossings(places), known(places)
        downwards = [it[1:] for it in crossed if it[0] == 1]
        if downwards:
            cell = downwards[0]
        elif crossed:
            cell = "the other way round"
        elif word == "apart":
            cell = "always less" if first == 0 else "always more"
        else:
            cell = "intervals leave it open" if word == "open" else word
        found[(named(course.arm, others), course.stack, along)] = cell
    return found


def least(lines, axis, along_axis, quantity):
    """The place with the least, and the places that are as good."""
    found = {}
    for course in courses(lines, axis, quantity):
        along, others = course.parted(along_axis)
        numbers = course.numbers()
        if not numbers:
            continue
        at, best = min(numbers, key=lambda it: it[1][0])
        beside = measured(best, quantity)
        good = [at] + [place for place, value in numbers if less((place, beside, measured(value, quantity))) is None]
        found[(named(course.arm, others), course.stack, along)] = (at, (min(good), max(good)))
    return found


def remainder(lines, axis, along_axis, plus, minus):
    """What is left when the mean times of some are taken from those of others."""
    found = {}
    all_courses = courses(lines, axis, "time")
    name = " − ".join([" + ".join(plus), " − ".join(minus)])
    for stack in {it.stack for it in all_courses}:

        def arm(wanted):
            of_stack = (it for it in all_courses if it.stack == stack)
            return next((it for it in of_stack if wanted in (it.arm, it.arm.split("/")[0])), None)

        terms = [(arm(it), sign) for arms, sign in ((plus, 1), (minus, -1)) for it in arms]
        if any(course is None for course, _ in terms):
            continue
        for along in terms[0][0].values:
            values = [(course.values.get(along), sign) for course, sign in terms]
            if any(value is None for value, _ in values):
                continue
            total = math.fsum(sign * value[0] for value, sign in values)
            halves = [(value[1][1] - value[1][0]) / 2 if value[2] > 1 else math.nan for value, _ in values]
            half = math.hypot(*halves)
            others = terms[0][0].parted(along_axis)[1]
            cell = (total, None if math.isnan(half) else (total - half, total + half))
            found[(named(name, others), stack, along)] = cell
    return found


def ratio_ends(above, below):
    """The interval of a ratio, on the logarithmic scale."""

    def apart(low, high):
        return math.log(high / low) if low > 0 and high > 0 else (math.inf if low <= 0 else math.nan)

    (a, (a_low, a_high)), (b, (b_low, b_high)) = above, below
    down = math.hypot(apart(a_low, a), apart(b, b_high))
    up = math.hypot(apart(a, a_high), apart(b_low, b))
    return a / b * math.exp(-down), a / b * (math.exp(up) if up < 700 else math.inf)


def change(lines, axis, along_axis, over, begin, end):
    """By how many percent the second place has more than the first: of times, or of what they are more than a baseline."""
    found = {}
    all_courses = courses(lines, axis, "time")
    for course in all_courses:
        same = (it for it in all_courses if (it.stack, it.besides, it.arm) == (course.stack, course.besides, over))
        base = next(same, None)
        if course.arm == over or (over and base is None):
            continue

        def value(along):
            own = course.values.get(along)
            if own is None or not over:
                return own
            beside = base.values.get(along)
            if beside is None:
                return None
            ends = ratio_ends(own[:2], beside[:2])
            return 100 * own[0] / beside[0] - 100, tuple(100 * it - 100 for it in ends), own[2]

        low, high = value(begin), value(end)
        if low is None or high is None:
            continue
        ends = None
        if low[2] > 1 and high[2] > 1:
            ends = tuple(100 * (it - 1) for it in ratio_ends(high[:2], low[:2]))
        besides = [it for _, it in course.besides]
        found[(named(course.arm, besides), course.stack, SUM)] = (100 * (high[0] / low[0] - 1), ends)
    return found


def rates(lines, axis, along_axis):
    """Slopes of straight lines by least squares, for each thousand."""
    found = {}
    for course in courses(lines, axis, "time"):
        along, others = course.parted(along_axis)
        key = (named(course.arm, others), course.stack, along)
        points = [(at, value[0]) for at, value in course.numbers()]
        n = len(points)
        centre = [math.fsum(it[side] for it in points) / n for side in (0, 1)] if points else [0, 0]
        spread = math.fsum((it[0] - centre[0]) ** 2 for it in points)
        if spread == 0:
            found[key] = "one size only"
            continue
        slope = math.fsum((x - centre[0]) * (y - centre[1]) for x, y in points) / spread
        ends = None
        if n > 2:
            left = math.fsum((y - centre[1] - slope * (x - centre[0])) ** 2 for x, y in points)
            half = student(n - 2) * math.sqrt(left / (n - 2) / spread)
            ends = (1000 * (slope - half), 1000 * (slope + half))
        found[key] = (1000 * slope, ends)
    return found


def convergence(lines, axis, along_axis, percent):
    """After how many messages their total is no more than so many percent above that of the steady state."""
    found = {}
    later = {(it.stack, it.arm, it.besides): it for it in courses(lines, axis, "later")}
    for course in courses(lines, axis, "total"):
        along, others = course.parted(along_axis)
        key = (named(course.arm, others), course.stack, along)
        steady = later.get((course.stack, course.arm, course.besides))
        if steady is None or not steady.numbers():
            found[key] = "one message after each deployment"
            continue
        most, value = steady.numbers()[-1]
        steady = measured(value, "later")
        places = []
        for at, total in course.numbers():
            if at < most:
                share = at * (1 + percent / 100)
                places.append((at, measured(total, "total"), tuple(share * it for it in steady)))
        found[key] = converged(places)
    return found


def converged(places):
    """From where on the first stays less than the second."""
    if not places:
        return "two counts at least are needed"
    last, crossed = less(places[-1]), crossings(places)
    if last is None:
        return "intervals leave it open"
    if last == 1:
        return f"after more than {tick(places[-1][0])}"
    if crossed:
        _, at, ends = crossed[-1]
        return whole(at), tuple(map(whole, ends))
    clear = [place[0] for place in places if less(place) is not None]
    return f"after {tick(clear[0])} or fewer"


def first_below_mean(lines, axis, along_axis):
    """The number of the first message of a deployment that takes no longer than the mean of all, at the largest count."""
    found = {}
    firsts = {(it.stack, it.arm, it.besides): it for it in courses(lines, axis, "first")}
    for course in courses(lines, axis, "later"):
        along, others = course.parted(along_axis)
        key = (named(course.arm, others), course.stack, along)
        found[key] = "no single messages are kept"
        first = firsts.get((course.stack, course.arm, course.besides))
        for at in sorted(course.lines, key=float, reverse=True):
            each = int(float(at)) - 1
            begun = (first.lines.get(at, {}) if first else {}).get("samples") or []
            going_on = course.lines[at].get("samples") or []
            if each < 1 or not begun or len(going_on) != each * len(begun):
                continue
            numbers = []
            for deployment, begin in enumerate(begun):
                times = [begin, *going_on[deployment * each : (deployment + 1) * each]]
                mean = math.fsum(times) / len(times)
                numbers.append(next((place for place, it in enumerate(times, 1) if it <= mean), 1))
            told = of(numbers)
            ends = tuple(max(it, 1.0) for it in told["mean_interval"]) if told["n"] > 1 else None
            found[key] = (told["mean"], ends)
            break
    return found


def increase(lines, axis, along_axis):
    """By how many percent the mean of the last ten calls of the largest size is above the least time of any size."""
    found = {}
    for course in courses(lines, axis, "time"):
        along, others = course.parted(along_axis)
        key = (named(course.arm, others), course.stack, along or ECHO)
        sizes = sorted(course.lines, key=float)
        if len(sizes) < 2:
            found[key] = "one size only"
            continue
        smallest = min(figures(it)[BEST] for it in course.lines.values())
        samples = course.lines[sizes[-1]].get("samples") or []
        told = of(samples[-10:]) if samples else figures(course.lines[sizes[-1]])
        ends = None
        if told["n"] > 1:
            ends = tuple(max(100 * (it - smallest) / smallest, -100.0) for it in told["mean_interval"])
        found[key] = (100 * (told["mean"] - smallest) / smallest, ends)
    return found


def spread(lines, axis, _):
    """Standard deviations of later messages."""
    return {
        (named(course.arm, [it for _, it in course.besides]), course.stack, along): (value[0], None)
        for course in courses(lines, axis, "later", DEVIATION)
        for along, value in course.values.items()
    }


FINDINGS = {
    "crossovers": crossovers,
    "even": even,
    "least": least,
    "remainder": remainder,
    "change": change,
    "rates": rates,
    "convergence": convergence,
    "first-below-mean": first_below_mean,
    "increase": increase,
    "spread": spread,
}
