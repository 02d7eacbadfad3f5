//! Where two measured costs change places, told from measurements with intervals.
//!
//! The rule kept here: a place where intervals overlap says nothing, so that costs change places
//! only between two places where they do not.

/// A value that was measured, and where it lies with the confidence of all intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// Its interval; without ends, where nothing is known of it.
    pub interval: [f64; 2],
}

impl Measured {
    /// A value of which nothing else is known: it is told apart from none.
    pub const fn alone(value: f64) -> Self {
        Self {
            value,
            interval: [f64::NEG_INFINITY, f64::INFINITY],
        }
    }
}

/// Two costs that were measured at the same place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Where: a count of messages.
    pub at: f64,
    /// What the first costs.
    pub first: Measured,
    /// What the second costs.
    pub second: Measured,
}

/// Which of two costs is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Less {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Place {
    /// Which is less; `None`, where the intervals overlap.
    pub fn less(&self) -> Option<Less> {
        if self.first.interval[1] < self.second.interval[0] {
            Some(Less::First)
        } else if self.second.interval[1] < self.first.interval[0] {
            Some(Less::Second)
        } else {
            None
        }
    }

    /// How much more the one that is not `less` costs: by the values, and by the ends of the
    /// intervals that are nearest to each other.
    fn gap(&self, less: Less) -> (f64, f64) {
        let (less, more) = match less {
            Less::First => (self.first, self.second),
            Less::Second => (self.second, self.first),
        };
        (more.value - less.value, more.interval[0] - less.interval[1])
    }
}

/// A place where two costs change places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Which is less before it.
    pub less: Less,
    /// Where the values meet, on straight lines between neighbouring places.
    pub at: f64,
    /// From where to where the intervals overlap, on straight lines between their ends.
    pub interval: [f64; 2],
    /// The places next to it where the intervals do not overlap.
    pub between: [f64; 2],
}

/// Everywhere that two costs change places, in order. Places are in ascending order.
pub fn crossings(places: &[Place]) -> Vec<Crossing> {
    let mut all = Vec::new();
    let mut last: Option<(usize, Less)> = None;
    for (index, place) in places.iter().enumerate() {
        let Some(less) = place.less() else { continue };
        if let Some((before, was)) = last
            && was != less
        {
            all.extend(crossing(&places[before..=index], was));
        }
        last = Some((index, less));
    }
    all
}

/// The crossing within these places, of which only the first and the last are clear.
fn crossing(places: &[Place], less: Less) -> Option<Crossing> {
    let (first, last) = (places.first()?, places.last()?);
    let steps = || places.iter().zip(places.iter().skip(1));
    let value = |place: &Place| place.gap(less).0;
    let at = steps().find(|(_, to)| value(to) <= 0.0);
    let at = at.map(|(from, to)| zero((from.at, value(from)), (to.at, value(to))))?;
    // The intervals meet behind the first place, and part before the last one.
    let (next, previous) = (&places[1], &places[places.len() - 2]);
    let other = match less {
        Less::First => Less::Second,
        Less::Second => Less::First,
    };
    let ends = |place: &Place, less| place.gap(less).1;
    let meet = zero((first.at, ends(first, less)), (next.at, ends(next, less)));
    let part = zero(
        (last.at, ends(last, other)),
        (previous.at, ends(previous, other)),
    );
    Some(Crossing {
        less,
        at,
        interval: [meet, part],
        between: [first.at, last.at],
    })
}

/// Where the straight line from a place with something left to one with nothing left reaches zero;
/// at the first place, where the other is without end.
fn zero((from, left): (f64, f64), (to, none): (f64, f64)) -> f64 {
    if none.is_finite() {
        from + (to - from) * left / (left - none)
    } else {
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs of 100 and of 40 + 2 each, with these halves of intervals: equal after 30.
    fn place(at: f64, half: f64) -> Place {
        let measured = |value: f64| Measured {
            value,
            interval: [value - half, value + half],
        };
        Place {
            at,
            first: measured(40.0 + 2.0 * at),
            second: measured(100.0),
        }
    }

    #[test]
    fn costs_on_straight_lines_change_places_where_the_lines_meet() {
        // Intervals of 3 to each side: they overlap where the lines are less than 6 apart, from 27
        // to 33.
        let places = [1.0, 12.0, 46.0].map(|at| place(at, 3.0));
        let [crossing] = crossings(&places)[..] else {
            panic!("one crossing");
        };
        assert_eq!(crossing.less, Less::First);
        assert!((crossing.at - 30.0).abs() < 1e-9, "{crossing:?}");
        assert!((crossing.interval[0] - 27.0).abs() < 1e-9, "{crossing:?}");
        assert!((crossing.interval[1] - 33.0).abs() < 1e-9, "{crossing:?}");
        assert_eq!(crossing.between, [12.0, 46.0]);
    }

    #[test]
    fn places_that_say_nothing_are_passed_over() {
        // 29 and 32 lie where the intervals overlap.
        let places = [1.0, 29.0, 32.0, 46.0].map(|at| place(at, 3.0));
        let [crossing] = crossings(&places)[..] else {
            panic!("one crossing");
        };
        assert!((crossing.at - 30.0).abs() < 1e-9, "{crossing:?}");
        assert!((crossing.interval[0] - 27.0).abs() < 1e-9, "{crossing:?}");
        assert!((crossing.interval[1] - 33.0).abs() < 1e-9, "{crossing:?}");
        assert_eq!(crossing.between, [1.0, 46.0]);
    }

    #[test]
    fn what_overlaps_at_one_end_does_not_change_places() {
        let wide = 25.0;
        assert_eq!(place(46.0, wide).less(), None);
        let places = [place(1.0, wide), place(46.0, wide)];
        assert_eq!(crossings(&places), []);
        let known_at_first_only = [
            place(1.0, 3.0),
            Place {
                first: Measured::alone(500.0),
                ..place(46.0, 3.0)
            },
        ];
        assert_eq!(crossings(&known_at_first_only), []);
        assert_eq!(crossings(&[]), []);
    }

    #[test]
    fn a_place_of_which_nothing_is_known_narrows_nothing() {
        let unknown = Place {
            first: Measured::alone(94.0),
            ..place(27.0, 3.0)
        };
        let [crossing] = crossings(&[place(1.0, 3.0), unknown, place(46.0, 3.0)])[..] else {
            panic!("one crossing");
        };
        assert_eq!(crossing.interval, [1.0, 46.0]);
    }

    #[test]
    fn costs_may_change_places_more_than_once() {
        let back = Place {
            at: 80.0,
            ..place(1.0, 3.0)
        };
        let found = crossings(&[place(1.0, 3.0), place(46.0, 3.0), back]);
        let less: Vec<Less> = found.iter().map(|it| it.less).collect();
        assert_eq!(less, [Less::First, Less::Second]);
    }
}
