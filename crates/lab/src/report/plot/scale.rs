//! Scales: from values to places along an axis, and the ticks in between.
//!
//! The rule kept here: a linear scale of amounts begins at 0.

/// From values to places.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
    /// Values with a label.
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// A scale for these values between two places, with about so many ticks. It is linear from 0
    /// (or from below, if something is), or logarithmic, if that is asked for and all are above
    /// 0.
    pub(super) fn of(
        values: &[f64],
        logarithmic: bool,
        (from, to): (f64, f64),
        ticks: usize,
    ) -> Self {
        let finite = values.iter().copied().filter(|it| it.is_finite());
        let (least, most) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| {
            (least.min(it), most.max(it))
        });
        let (least, most) = if least <= most {
            (least, most)
        } else {
            (0.0, 1.0)
        };
        if logarithmic && least > 0.0 {
            return Self::logarithmic(least, most, (from, to), ticks);
        }
        let (least, most) = (least.min(0.0), most.max(0.0));
        let most = if most > least { most } else { least + 1.0 };
        let step = step((most - least) / ticks.max(2) as f64);
        let (first, last) = ((least / step).floor() as i64, (most / step).ceil() as i64);
        Self {
            least: first as f64 * step,
            most: last as f64 * step,
            from,
            to,
            logarithmic: false,
            ticks: (first..=last).map(|it| it as f64 * step).collect(),
        }
    }

    fn logarithmic(least: f64, most: f64, (from, to): (f64, f64), ticks: usize) -> Self {
        let (first, last) = (least.log10().floor() as i32, most.log10().ceil() as i32);
        let last = last.max(first + 1);
        let decades = (last - first) as usize;
        // Many decades have a tick at some, few decades have some between.
        let every = decades.div_ceil(ticks.max(2)) as i32;
        let between: &[f64] = if decades * 3 <= ticks + 1 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let all = (first..=last).filter(|power| (power - first) % every == 0);
        let all: Vec<f64> = all
            .flat_map(|power| between.iter().map(move |it| it * 10_f64.powi(power)))
            .collect();
        // No more room than the values need, to the next of 1, 2 and 5.
        let near = |value: f64, up: bool| {
            let power = 10_f64.powf(value.log10().floor());
            let steps = [1.0, 2.0, 5.0, 10.0].map(|it| it * power);
            let mut fitting = steps.into_iter().filter(|it| {
                if up {
                    *it >= value * 0.999_999
                } else {
                    *it <= value * 1.000_001
                }
            });
            if up {
                fitting.next()
            } else {
                fitting.next_back()
            }
            .unwrap_or(value)
        };
        let (least, mut most) = (near(least, false), near(most, true));
        if most <= least {
            most = least * 10.0;
        }
        Self {
            least,
            most,
            from,
            to,
            logarithmic: true,
            ticks: all
                .into_iter()
                .filter(|it| (least * 0.999_999..=most * 1.000_001).contains(it))
                .collect(),
        }
    }

    /// The place of a value; the nearest end for what is outside.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.least) / self.least).ln() / (self.most / self.least).ln()
        } else {
            (value - self.least) / (self.most - self.least)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Whether a value has a place of its own, and is not moved to an end.
    pub(super) fn has(&self, value: f64) -> bool {
        let rounding = (self.most - self.least) * 1e-9;
        (self.least - rounding..=self.most + rounding).contains(&value)
    }

    /// Where bars begin.
    pub(super) fn base(&self) -> f64 {
        self.place(if self.logarithmic { self.least } else { 0.0 })
    }

    /// Values with a short tick and no label: the multiples between the powers of ten of a
    /// logarithmic scale of few decades.
    pub(super) fn minor(&self) -> Vec<f64> {
        const MOST_DECADES: f64 = 6.0;
        let decades = (self.most / self.least).log10();
        if !self.logarithmic || decades > MOST_DECADES {
            return Vec::new();
        }
        let first = self.least.log10().floor() as i32;
        let powers = (0..=decades.ceil() as i32 + 1).map(|it| 10_f64.powi(first + it));
        let all = powers.flat_map(|power| (1..10).map(move |it| f64::from(it) * power));
        let is_labelled = |value: f64| {
            let mut ticks = self.ticks.iter();
            ticks.any(|it| (it / value - 1.0).abs() < 1e-6)
        };
        all.filter(|it| self.has(*it) && !is_labelled(*it))
            .collect()
    }

    pub(super) fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }
}

/// The next of 1, 2, 2.5 and 5 times a power of ten.
fn step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let fitting = steps.into_iter().find(|it| it * power >= rough * 0.999_999);
    fitting.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_scale_has_short_ticks_between_those_with_labels() {
        let scale = Scale::of(&[1.0, 100.0], true, (0.0, 300.0), 2);
        assert_eq!(scale.ticks, [1.0, 10.0, 100.0]);
        let minor: Vec<f64> = scale.minor().iter().map(|it| it.round()).collect();
        let expected = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
        let tens = expected.map(|it| 10.0 * it);
        assert_eq!(minor, [expected, tens].concat());
        assert_eq!(
            Scale::of(&[0.0, 9.0], false, (0.0, 300.0), 3).minor(),
            Vec::<f64>::new()
        );
    }

    #[test]
    fn a_linear_scale_begins_at_nothing_and_ends_at_a_tick() {
        let scale = Scale::of(&[130.0, 940.0], false, (100.0, 0.0), 5);
        assert_eq!(scale.ticks, [0.0, 200.0, 400.0, 600.0, 800.0, 1_000.0]);
        assert_eq!(
            (scale.place(0.0), scale.place(1_000.0), scale.place(500.0)),
            (100.0, 0.0, 50.0)
        );
        assert_eq!(
            (scale.base(), scale.place(-50.0), scale.place(1e9)),
            (100.0, 100.0, 0.0)
        );
        assert!(scale.has(1_000.0) && !scale.has(1_001.0) && !scale.has(-1.0));
    }

    #[test]
    fn what_is_below_nothing_has_room() {
        let scale = Scale::of(&[-3.0, 10.0], false, (0.0, 100.0), 4);
        assert_eq!(scale.ticks, [-5.0, 0.0, 5.0, 10.0]);
        assert!((scale.base() - 33.3).abs() < 0.1);
    }

    #[test]
    fn decades_are_as_long_as_each_other() {
        let scale = Scale::of(&[1.0, 1_000.0], true, (0.0, 300.0), 4);
        assert_eq!(scale.ticks, [1.0, 10.0, 100.0, 1_000.0]);
        assert!(
            (scale.place(10.0) - 100.0).abs() < 1e-9 && (scale.place(100.0) - 200.0).abs() < 1e-9
        );
        let short = Scale::of(&[12.0, 80.0], true, (0.0, 300.0), 6);
        assert_eq!(short.ticks, [10.0, 20.0, 50.0, 100.0]);
    }

    #[test]
    fn nothing_and_the_same_have_a_scale() {
        for values in [&[][..], &[0.0], &[7.0, 7.0], &[f64::NAN]] {
            for logarithmic in [false, true] {
                let scale = Scale::of(values, logarithmic, (0.0, 10.0), 4);
                assert!(scale.ticks.len() > 1, "{values:?}");
                assert!(scale.place(7.0).is_finite());
            }
        }
    }
}
