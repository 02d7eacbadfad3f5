//! Verdicts on measured data: each rule of the judge with data on both sides of its limit.

use super::*;
use crate::study::{Estimate, Measure, Quantity, Stack};

fn datum(arm: &str, at: &[(&str, &str)], value: f64, half: f64) -> Datum {
    Datum {
        stack: Stack::Soapstone,
        arm: arm.to_owned(),
        at: at
            .iter()
            .map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned()))
            .collect(),
        value,
        interval: [value - half, value + half],
    }
}

fn asked(asks: Asks, data: Vec<Datum>) -> Vec<(Kind, f64)> {
    let conclusion = Conclusion {
        says: "",
        place: "",
        experiment: 1,
        shown_in: "",
        measure: Measure::Itself(Quantity::Time, Estimate::Mean),
        asks,
        printed: None,
        but: "",
    };
    let answers = answers(&conclusion, &[data.clone(), data]);
    answers.iter().map(|it| (it.kind, it.number)).collect()
}

const fn of(arms: &'static [&'static str]) -> Of {
    Of { arms, at: &[] }
}

#[test]
fn an_order_holds_is_reversed_or_is_open_as_intervals_lie() {
    let asks = Asks::Order {
        less: of(&["sign"]),
        more: of(&["encrypt"]),
    };
    let at = |size: &'static str| [("size", size)];
    let data = vec![
        datum("sign/A", &at("1"), 10.0, 1.0),
        datum("encrypt/A", &at("1"), 20.0, 1.0),
        datum("sign/A", &at("2"), 30.0, 1.0),
        datum("encrypt/A", &at("2"), 15.0, 1.0),
        datum("sign/A", &at("3"), 30.0, 5.0),
        datum("encrypt/A", &at("3"), 36.0, 5.0),
        datum("sign/A", &at("4"), 1.0, 0.0),
    ];
    assert_eq!(
        asked(asks, data),
        [
            (Kind::Holds, 2.0),
            (Kind::Reversed, 0.5),
            (Kind::NotToldApart, 1.2)
        ]
    );
}

#[test]
fn arms_are_compared_with_themselves_at_other_points() {
    const ARMS: &[&str] = &["none", "sign"];
    let asks = Asks::Order {
        less: Of {
            arms: ARMS,
            at: &[("clients", "5")],
        },
        more: Of {
            arms: ARMS,
            at: &[("clients", "10")],
        },
    };
    let data = vec![
        datum("none", &[("clients", "5")], 1.0, 0.0),
        datum("none", &[("clients", "10")], 3.0, 0.0),
        datum("sign", &[("clients", "5")], 2.0, 0.0),
        datum("sign", &[("clients", "10")], 8.0, 0.0),
    ];
    assert_eq!(asked(asks, data), [(Kind::Holds, 3.0), (Kind::Holds, 4.0)]);
}

#[test]
fn a_ratio_lies_within_a_range_or_may() {
    let of_range = |within| Asks::Ratio {
        of: of(&["sign"]),
        over: of(&["none"]),
        within,
    };
    let data = || vec![datum("sign", &[], 30.0, 3.0), datum("none", &[], 10.0, 0.0)];
    let kind = |within| asked(of_range(within), data())[0].0;
    assert_eq!(kind([2.5, 3.5]), Kind::Holds);
    assert_eq!(kind([3.1, 4.0]), Kind::NotToldApart);
    assert_eq!(kind([4.0, 5.0]), Kind::Less);
    assert_eq!(kind([1.0, 2.0]), Kind::More);
}

#[test]
fn shares_are_of_all_parts_or_of_other_sums() {
    let data = || {
        vec![
            datum("a", &[], 10.0, 1.0),
            datum("b", &[], 20.0, 1.0),
            datum("c", &[], 70.0, 1.0),
        ]
    };
    let share = |arms, among, within| {
        let asks = Asks::Share {
            of: of(arms),
            among,
            within,
        };
        asked(asks, data())
    };
    assert_eq!(
        share(&["a", "b"], &["a", "b", "c"], [29.0, 31.0]),
        [(Kind::Holds, 30.0)]
    );
    assert_eq!(share(&["c"], &["a", "b"], [0.0, 100.0])[0].0, Kind::More);
    assert_eq!(share(&["c"], &[], [69.9, 70.1]), [(Kind::Holds, 70.0)]);
    assert_eq!(share(&["a"], &["a", "d"], [0.0, 100.0]), []);
}

#[test]
fn a_crossover_is_where_totals_change_places() {
    let asks = |within| Asks::Crossover {
        first: of(&["sign"]),
        second: of(&["talk"]),
        along: "messages",
        within,
    };
    let data = |each: f64| {
        let all = ["1", "20", "40"].into_iter().flat_map(|messages| {
            let count: f64 = messages.parse().expect("a number");
            [
                datum("sign", &[("messages", messages)], 10.0 * count, 0.1),
                datum("talk", &[("messages", messages)], 100.0 + each * count, 0.1),
            ]
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(asked(asks([9.0, 11.0]), data(0.0))[0].0, Kind::Holds);
    assert_eq!(asked(asks([20.0, 30.0]), data(0.0))[0].0, Kind::Less);
    assert_eq!(asked(asks([9.0, 11.0]), data(10.0))[0].0, Kind::More);
}

#[test]
fn growth_is_constant_or_follows_a_line_beside_a_baseline() {
    let asks = |arm, grows| Asks::Growth {
        of: of(arm),
        over: Some("none"),
        along: "size",
        grows,
    };
    let data = || {
        let all = ["1", "10", "100", "1000"].into_iter().flat_map(|size| {
            let count: f64 = size.parse().expect("a number");
            [
                datum("none", &[("size", size)], count, 0.0),
                datum("sign", &[("size", size)], count + 500.0, 0.0),
                datum("encrypt", &[("size", size)], 2.0 * count + 300.0, 0.0),
            ]
        });
        all.collect::<Vec<_>>()
    };
    let kind = |arm, grows| asked(asks(arm, grows), data())[0].0;
    assert_eq!(kind(&["sign"], Grows::Constant), Kind::Holds);
    assert_eq!(kind(&["sign"], Grows::Linear), Kind::Reversed);
    assert_eq!(kind(&["encrypt"], Grows::Linear), Kind::Holds);
    assert_eq!(kind(&["encrypt"], Grows::Constant), Kind::Reversed);
}

#[test]
fn a_threshold_parts_what_is_less_from_what_is_more() {
    let asks = Asks::Threshold {
        of: of(&["gamble"]),
        over: of(&["always"]),
        along: "share",
        from: 88.0,
    };
    let of = |share, gamble| {
        [
            datum("gamble", &[("share", share)], gamble, 1.0),
            datum("always", &[("share", share)], 100.0, 1.0),
        ]
    };
    let data = [of("50", 150.0), of("75", 90.0), of("100", 80.0)].concat();
    let kinds: Vec<Kind> = asked(asks, data).iter().map(|it| it.0).collect();
    assert_eq!(kinds, [Kind::Holds, Kind::Reversed, Kind::Holds]);
}

/// A name or a tag that nothing has would fall back to other numbers in silence.
#[test]
fn each_number_that_a_paper_prints_is_one() {
    let mut count = 0;
    for study in crate::studies::ALL {
        for conclusion in study.conclusions {
            if conclusion.printed.is_none() {
                continue;
            }
            count += 1;
            let found = printed(study, conclusion).len();
            assert_eq!(found, 1, "{}: {}", study.name, conclusion.says);
        }
    }
    assert!(count >= 10, "{count}");
}
