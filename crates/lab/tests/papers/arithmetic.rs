//! The papers' own arithmetic: what follows from one printed number is printed in another place.
//!
//! The rule kept here: both sides are read from the lab's data, and what the digits leave open is
//! the only difference that is allowed.

use std::collections::BTreeMap;

use soapstone_lab::papers::Printed;
use soapstone_lab::studies;

/// Half of a two-sided interval of 95 %, in deviations of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Source, row and column of a number.
type Cell = (&'static str, &'static str, &'static str);

/// A number that follows from others.
struct Identity {
    paper: &'static str,
    /// What is printed.
    is: Cell,
    /// What it follows from.
    from: Vec<Cell>,
    /// How.
    by: fn(&[f64]) -> f64,
    /// All of them are counted, so that no digit leaves anything open.
    counted: bool,
}

fn of(
    paper: &'static str,
    is: Cell,
    from: impl Into<Vec<Cell>>,
    by: fn(&[f64]) -> f64,
) -> Identity {
    Identity {
        paper,
        is,
        from: from.into(),
        by,
        counted: false,
    }
}

/// Of things that are counted.
fn counted(
    paper: &'static str,
    is: Cell,
    from: impl Into<Vec<Cell>>,
    by: fn(&[f64]) -> f64,
) -> Identity {
    Identity {
        counted: true,
        ..of(paper, is, from, by)
    }
}

/// All that the papers' numbers say of each other.
fn identities() -> Vec<Identity> {
    let mut all = Vec::new();
    let increment: fn(&[f64]) -> f64 = |it| (it[0] - it[1]) / it[1] * 100.0;
    let same: fn(&[f64]) -> f64 = |it| it[0];
    let paper = "rodrigues2011";
    const TIME: &str = "Resp. Time";
    const INCREMENT: &str = "Increment Percentage";
    const ROWS: [&str; 4] = ["No Security", "Enc", "Sign", "Sign and Enc"];
    const NAMES: [&str; 4] = [
        "without security",
        "encryption",
        "signature",
        "signature and encryption",
    ];
    for (row, name) in ROWS.into_iter().zip(NAMES) {
        for (times, increments) in [("table-2", "table-4"), ("table-3", "table-5")] {
            let half: fn(&[f64]) -> f64 = |it| NORMAL * it[0] / 30_f64.sqrt();
            let deviation = (times, row, "Std. Deviation");
            all.push(of(paper, (times, row, "Conf. Interval"), [deviation], half));
            all.push(of(
                paper,
                (increments, row, TIME),
                [(times, row, TIME)],
                same,
            ));
            if row != "No Security" {
                let is = (increments, row, INCREMENT);
                let from = [(times, row, TIME), (times, "No Security", TIME)];
                all.push(of(paper, is, from, increment));
            }
        }
        let from = [("table-3", row, TIME), ("table-2", row, TIME)];
        all.push(of(paper, ("text-4.1", name, ""), from, increment));
        if row != "No Security" {
            let from = [("table-5", row, INCREMENT), ("table-4", row, INCREMENT)];
            all.push(of(paper, ("text-4.2", name, ""), from, increment));
        }
    }
    let product: fn(&[f64]) -> f64 = |it| it.iter().product();
    let counts = [
        ("text-3.2", "experiments", ""),
        ("text-3.2", "repetitions of each", ""),
    ];
    all.push(counted(
        paper,
        ("text-3.2", "repetitions of all", ""),
        counts,
        product,
    ));
    let powers: fn(&[f64]) -> f64 = |it| it[0].powf(it[1]);
    let counts = [
        ("text-3.2", "levels of each factor", ""),
        ("text-3.2", "factors", ""),
    ];
    all.push(counted(
        paper,
        ("text-3.2", "experiments", ""),
        counts,
        powers,
    ));

    let paper = "novakouski2010";
    for column in [
        "No Security",
        "Password Only",
        "Sign Only",
        "Encrypt Only",
        "Sign -> Encrypt",
        "Encrypt -> Sign",
        "Secure Conversation",
    ] {
        let from = [
            ("table-3", "Average @ 117kb", column),
            ("table-3", "Minimum", column),
        ];
        all.push(of(paper, ("table-3", "Increase", column), from, increment));
    }
    let double: fn(&[f64]) -> f64 = |it| 2.0 * it[0];
    let echo = ("text-4.1.2", "payload of Echo", "");
    all.push(counted(
        paper,
        ("text-4.1.2", "payload of both messages of Echo", ""),
        [echo],
        double,
    ));
    let five: fn(&[f64]) -> f64 = |it| 5.0 * it[0];
    all.push(counted(
        paper,
        ("text-4.1.2", "second payload of Echo", ""),
        [echo],
        five,
    ));
    let ten: fn(&[f64]) -> f64 = |it| 10.0 * it[0];
    all.push(counted(
        paper,
        ("text-4.1.2", "third payload of Echo", ""),
        [echo],
        ten,
    ));
    let text = ("text-3.4", "text that Echo begins with", "");
    all.push(counted(paper, echo, [text], same));
    for (row, column) in [
        ("Encrypt Only with complex payload", "Encrypt Only"),
        ("Sign Only with complex payload", "Sign Only"),
    ] {
        let from = [("table-2", "Average", column)];
        all.push(of(paper, ("text-4.1.2", row, ""), from, same));
    }

    let paper = "shopov2007";
    for row in ["scenario2", "scenario3", "scenario4"] {
        let share: fn(&[f64]) -> f64 = |it| it[0] / it[1] * 100.0;
        let from = [
            ("table-2", row, "WSS header size"),
            ("table-2", row, "SOAP size"),
        ];
        all.push(of(paper, ("table-2", row, "Overhead"), from, share));
    }

    let paper = "mchale2012";
    let percent: fn(&[f64]) -> f64 = |it| it[0] * 100.0;
    for row in ["where the impact begins", "where the impact ends"] {
        let from = [("text-4.1", row, "factor")];
        all.push(of(paper, ("text-4.1", row, "percentage"), from, percent));
    }
    let quotient: fn(&[f64]) -> f64 = |it| it[0] / it[1];
    let factors = [
        ("text-5", "WS-Security, 1,000 small messages", ""),
        ("text-5", "WS-SecureConversation, 1,000 small messages", ""),
    ];
    all.push(of(
        paper,
        ("text-4.3", "gain at 1,000 requests for 5 books", ""),
        factors,
        quotient,
    ));

    let paper = "vanengelen2008";
    let sum: fn(&[f64]) -> f64 = |it| it.iter().sum();
    let whole = ("figure-3", "WS-Security with canonicalization", "");
    let parts = [
        ("figure-3", "WS-Security without canonicalization", ""),
        ("figure-3", "C14N OUT", ""),
        ("figure-3", "C14N IN", ""),
    ];
    all.push(of(paper, whole, parts, sum));
    let again = ("figure-3", "C14N OUT, in section 3.4", "");
    all.push(of(paper, again, [("figure-3", "C14N OUT", "")], same));
    let rest: fn(&[f64]) -> f64 = |it| 1.0 - it[0];
    let least = (
        "text-2.5",
        "least share of canonical messages that pays, 1 - c",
        "",
    );
    let share = ("text-2.5", "share of canonicalization in the cost, c", "");
    all.push(of(paper, least, [share], rest));
    let hundred: fn(&[f64]) -> f64 = |it| 100.0 * it[0];
    all.push(of(
        paper,
        ("text-2.5", "the same in percent", ""),
        [least],
        hundred,
    ));
    all
}

/// Numbers of a paper, with the text of some replaced.
struct Numbers {
    paper: &'static str,
    replaced: BTreeMap<Cell, &'static str>,
}

impl Numbers {
    fn printed(&self, cell: Cell) -> Printed {
        let study = studies::named(self.paper).expect("a study");
        let value = study.numbers.value(cell.0, cell.1, cell.2);
        let value = value.unwrap_or_else(|| panic!("{}: no {cell:?}", self.paper));
        match self.replaced.get(&cell) {
            Some(text) => Printed::read(text).expect("a number"),
            None => value.printed,
        }
    }

    /// Whether what is printed may follow from what it follows from, each within half of its last
    /// digit.
    fn holds(&self, identity: &Identity) -> bool {
        let from: Vec<Printed> = identity.from.iter().map(|it| self.printed(*it)).collect();
        if identity.counted {
            let from: Vec<f64> = from.iter().map(|it| it.least).collect();
            return (identity.by)(&from) == self.printed(identity.is).least;
        }
        let [mut least, mut most] = [f64::INFINITY, f64::NEG_INFINITY];
        for ends in 0..1_usize << from.len() {
            let values = from.iter().enumerate();
            let values: Vec<f64> = values
                .map(|(place, it)| match ends >> place & 1 {
                    0 => it.least - it.halves[0],
                    _ => it.most + it.halves[1],
                })
                .collect();
            let value = (identity.by)(&values);
            (least, most) = (least.min(value), most.max(value));
        }
        let is = self.printed(identity.is);
        is.least - is.halves[0] < most && least < is.most + is.halves[1]
    }
}

fn as_printed(paper: &'static str) -> Numbers {
    Numbers {
        paper,
        replaced: BTreeMap::new(),
    }
}

#[test]
fn the_papers_numbers_agree_with_each_other() {
    for identity in identities() {
        let numbers = as_printed(identity.paper);
        assert!(
            numbers.holds(&identity),
            "{}: {:?} does not follow",
            identity.paper,
            identity.is
        );
    }
}

#[test]
fn van_engelen_s_chance_of_a_collision_does_not_follow_from_his_formula() {
    let numbers = as_printed("vanengelen2008");
    let of = |row| numbers.printed(("text-2.2", row, "")).least;
    let objects = of("objects from which on that chance is exceeded");
    let kinds = 2_f64.powf(of("bits of SHA-1: k = 2^160"));
    // 1 − e^(−n²/2k), which is n²/2k where it is so small.
    let chance = objects * objects / (2.0 * kinds);
    assert!((chance - 3.4e-15).abs() < 0.05e-15, "{chance}");
    assert!(chance < of("chance of a collision"));
}

/// The texts that differ from this one in one digit.
fn changed(text: &str) -> Vec<String> {
    let digits = text.char_indices().filter(|it| it.1.is_ascii_digit());
    let mut all = Vec::new();
    for (place, digit) in digits {
        let digit = digit.to_digit(10).expect("a digit");
        for other in [(digit + 1) % 10, (digit + 9) % 10] {
            let mut text = text.to_owned();
            text.replace_range(place..=place, &other.to_string());
            all.push(text);
        }
    }
    all
}

#[test]
fn a_number_that_is_changed_by_one_digit_contradicts_the_paper_s_own_arithmetic() {
    let all = identities();
    let mut cells: Vec<(&str, Cell)> = all
        .iter()
        .flat_map(|it| {
            let cells = it.from.iter().chain([&it.is]);
            cells.map(|cell| (it.paper, *cell)).collect::<Vec<_>>()
        })
        .collect();
    cells.sort_unstable();
    cells.dedup();
    let (mut told, mut asked) = (0, 0);
    for (paper, cell) in cells {
        let of: Vec<&Identity> = all
            .iter()
            .filter(|it| it.paper == paper && (it.is == cell || it.from.contains(&cell)))
            .collect();
        let printed = as_printed(paper).printed(cell);
        for text in changed(printed.text) {
            let text: &'static str = text.leak();
            let numbers = Numbers {
                replaced: BTreeMap::from([(cell, text)]),
                ..as_printed(paper)
            };
            let is_seen = of.iter().any(|it| !numbers.holds(it));
            // What other numbers leave open is a change of less than one part in a hundred, or of
            // what is said roughly.
            let value = Printed::read(text).expect("a number").least;
            if value == 0.0 {
                continue;
            }
            asked += 1;
            told += usize::from(is_seen);
            let change = (value - printed.least).abs() / printed.least.abs();
            let is_rough = printed.text.starts_with("almost") || paper == "mchale2012";
            assert!(
                is_seen || change < 0.01 || is_rough,
                "{paper}: {cell:?} may be {text}"
            );
        }
    }
    // Nine of ten changed digits are seen.
    assert!(told * 10 >= asked * 9, "{told} of {asked}");
}
