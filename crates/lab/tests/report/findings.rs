//! Crossovers, rates and convergence are those of the raw lines.

use serde_json::{Value, json};
use soapstone_lab::report::Run;

use super::read::{Chance, between, close, line, table, values};
use super::{page_of, run};

/// Two-sided 95 % of Student's t with two degrees of freedom.
const T_OF_TWO: f64 = 4.302_65;

fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

/// Mean, and its interval by Student's t, of three samples.
fn interval(samples: &[f64]) -> [f64; 3] {
    assert_eq!(samples.len(), 3);
    let mean = mean(samples);
    let squares: f64 = samples.iter().map(|it| (it - mean).powi(2)).sum();
    let half = T_OF_TWO * (squares / 2.0 / 3.0).sqrt();
    [mean - half, mean, mean + half]
}

/// Totals of an arm: so many microseconds at so many messages, three samples of each.
type Totals = Vec<(f64, Vec<f64>)>;

fn lines_of(operation: &str, arm: &str, totals: &Totals) -> Vec<Value> {
    let figure = ("novakouski2010", 4, "figures-6-7");
    let lines = totals.iter().map(|(messages, samples)| {
        let at = json!({"messages": messages.to_string(), "operation": operation});
        line(figure, &at, ("soapstone", arm), "total", samples)
    });
    lines.collect()
}

/// An arm that takes this at first and this for each message, with three samples that lie a share
/// of it apart.
fn growing(first: f64, each: f64, apart: f64) -> Totals {
    let total = |messages: f64| {
        let middle = first + each * messages;
        let samples = [1.0 - apart, 1.0, 1.0 + apart].map(|it| it * middle);
        (messages, samples.to_vec())
    };
    [1.0, 4.0, 12.0, 46.0].map(total).to_vec()
}

/// What lies at this count on straight lines between neighbours: by the end of the interval (0, 2),
/// or the mean (1).
fn between_neighbours(totals: &Totals, count: f64, which: usize) -> f64 {
    let after = totals.iter().position(|it| it.0 >= count).expect("a count");
    let (to, value) = (&totals[after], interval(&totals[after].1)[which]);
    if after == 0 || to.0 == count {
        return value;
    }
    let from = &totals[after - 1];
    let before = interval(&from.1)[which];
    before + (value - before) * (count - from.0) / (to.0 - from.0)
}

/// The first whole count at which something holds.
fn first(holds: impl Fn(f64) -> bool) -> Option<f64> {
    (1..=46).map(f64::from).find(|count| holds(*count))
}

fn runs(arms: &[(&str, &str, Totals)]) -> Vec<Run> {
    let lines: Vec<Value> = arms
        .iter()
        .flat_map(|(operation, arm, totals)| lines_of(operation, arm, totals))
        .collect();
    vec![run("one", &lines)]
}

#[test]
fn the_report_s_crossovers_stand_beside_the_pairs_and_services_that_they_are_of() {
    let (before, after) = (growing(2e3, 4e3, 0.01), growing(9e3, 4e2, 0.01));
    let pair = |operation, less, more| {
        [
            (operation, less, before.clone()),
            (operation, more, after.clone()),
        ]
    };
    let arms = [
        pair("EmployeeDetails", "sign/Basic256", "encrypt/Basic256"),
        pair(
            "Echo",
            "sign-encrypt/Basic256",
            "secure-conversation/Basic256",
        ),
    ];
    let runs = runs(&arms.concat());
    let told = values(&runs, "novakouski2010-4-figures-6-7-crossovers");
    let paper: Vec<[&str; 3]> = told
        .iter()
        .map(|row| ["arm", "operation", "paper_least"].map(|it| row[it].as_str()))
        .collect();
    assert_eq!(
        paper,
        [
            ["sign-encrypt → secure-conversation", "Echo", "12"],
            ["sign → encrypt", "EmployeeDetails", "46"]
        ]
    );
    let article = "novakouski2010-4-figures-6-7-crossovers";
    let held = table(&page_of(&runs), article, "held");
    let first: Vec<[&str; 2]> = held[1..].iter().map(|row| [&*row[0], &*row[1]]).collect();
    assert_eq!(
        first,
        [
            ["sign → encrypt, operation EmployeeDetails", "46 messages"],
            [
                "sign-encrypt → secure-conversation, operation Echo",
                "12 messages"
            ]
        ]
    );
}

#[test]
fn two_totals_cross_at_the_first_message_where_the_second_is_less() {
    let (sign, conversation) = (growing(2e3, 4e3, 0.01), growing(9e3, 4e2, 0.01));
    let runs = runs(&[
        ("Echo", "sign/Basic256", sign.clone()),
        ("Echo", "secure-conversation/Basic256", conversation.clone()),
        ("Echo", "none", growing(5e2, 2e2, 0.01)),
    ]);
    let told = values(&runs, "novakouski2010-4-figures-6-7-crossovers");
    let [row] = told.as_slice() else {
        panic!("one pair changes places: {told:?}");
    };
    assert_eq!(row["arm"], "sign → secure-conversation");
    assert_eq!((&*row["operation"], &*row["unit"]), ("Echo", "messages"));
    let less = |count: f64, one: usize, other: usize| {
        between_neighbours(&conversation, count, one) <= between_neighbours(&sign, count, other)
    };
    // The values, the first count at which intervals overlap, and the first at which they no longer
    // do.
    let expected = [
        first(|count| less(count, 1, 1)),
        first(|count| less(count, 0, 2)),
        first(|count| less(count, 2, 0)),
    ];
    let parsed = ["value", "least", "most"].map(|it| row[it].parse().ok());
    assert_eq!(parsed, expected);
    assert_eq!(
        row["paper_least"], "",
        "the report has no value of this pair"
    );
    let page = page_of(&runs);
    let article = "novakouski2010-4-figures-6-7-crossovers";
    let rows = table(&page, article, "values");
    let value = expected[0].expect("a count").to_string();
    assert_eq!(rows[1], ["sign → secure-conversation".to_owned(), value]);
    assert!(
        page.contains(
            "On soapstone, Echo: of 3 pairs of arms, 1 change places and 2 do not; of 0 it is not known"
        ),
        "{}",
        between(&page, &format!("<article id=\"{article}\">"), "</article>")
    );
}

#[test]
fn pairs_that_noise_could_have_made_cross_have_no_number() {
    // Signing is less at first by its mean, and more in the end; with three samples this far apart
    // both may be chance.
    let noisy = |first| growing(first, 3e3, 0.1);
    let runs = runs(&[
        ("Echo", "sign/Basic256", noisy(2e3)),
        ("Echo", "encrypt/Basic256", noisy(1.9e3)),
        // Less for certain in the end only.
        (
            "Echo",
            "secure-conversation/Basic256",
            growing(5.5e3, 1e2, 0.01),
        ),
    ]);
    let page = page_of(&runs);
    let rows = table(&page, "novakouski2010-4-figures-6-7-crossovers", "values");
    let told: Vec<&[String]> = rows[1..].iter().map(Vec::as_slice).collect();
    let before = |pair: &str, text: &str| [pair.to_owned(), text.to_owned()];
    assert_eq!(
        told,
        [
            before("sign → secure-conversation", "if at all, before 4"),
            before("encrypt → secure-conversation", "if at all, before 4"),
        ]
    );
    assert!(
        page.contains("of 3 pairs of arms, 0 change places and 0 do not; of 3 it is not known")
    );
    // One sample of each has no interval at all.
    let alone = |first, each| {
        let totals = growing(first, each, 0.0);
        let totals = totals.into_iter().map(|it| (it.0, vec![it.1[0]]));
        totals.collect::<Totals>()
    };
    let runs = super::findings::runs(&[
        ("Echo", "sign/Basic256", alone(2e3, 4e3)),
        ("Echo", "secure-conversation/Basic256", alone(9e3, 4e2)),
    ]);
    assert_eq!(
        values(&runs, "novakouski2010-4-figures-6-7-crossovers").len(),
        0
    );
    assert!(
        page_of(&runs)
            .contains("of 1 pairs of arms, 0 change places and 0 do not; of 1 it is not known")
    );
}

#[test]
fn no_crossover_contradicts_the_totals_that_it_is_of_and_none_is_missing() {
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut crossing = 0;
    for _ in 0..60 {
        let mut arms = Vec::new();
        for operation in ["Echo", "EmployeeDetails"] {
            for arm in [
                "none",
                "sign/Basic256",
                "encrypt/Basic256",
                "secure-conversation/Basic256",
            ] {
                let (start, each) = (1e4 * chance.share(), 2e3 * chance.share());
                let spread = 0.2 * chance.share();
                let total =
                    |messages: f64| (messages, chance.samples(3, start + each * messages, spread));
                arms.push((operation, arm, [1.0, 4.0, 12.0, 46.0].map(total).to_vec()));
            }
        }
        let told = values(&runs(&arms), "novakouski2010-4-figures-6-7-crossovers");
        for (operation, first, one) in &arms {
            for (service, second, other) in &arms {
                if operation != service || first == second {
                    continue;
                }
                let short = |arm: &str| arm.split('/').next().unwrap_or_default().to_owned();
                let name = format!("{} → {}", short(first), short(second));
                let row = told
                    .iter()
                    .find(|it| it["arm"] == name && it["operation"] == *operation);
                let less = |one: &Totals, other: &Totals| -> Vec<f64> {
                    let both = one.iter().zip(other);
                    let less =
                        both.filter(|(it, beside)| interval(&it.1)[2] < interval(&beside.1)[0]);
                    less.map(|it| it.0.0).collect()
                };
                let (before, after) = (less(one, other), less(other, one));
                let changes = before.iter().any(|at| after.iter().any(|it| it > at));
                assert_eq!(
                    row.is_some(),
                    changes,
                    "{name}, {operation}: {before:?} {after:?}"
                );
                if let Some(row) = row {
                    crossing += 1;
                    let [at, least, most] = ["value", "least", "most"]
                        .map(|it| row[it].parse::<f64>().expect("a number"));
                    assert!(least <= at && at <= most, "{row:?}");
                    assert!(before.iter().any(|it| *it <= least), "{row:?}: {before:?}");
                    assert!(
                        after.iter().any(|it| *it >= most - 1.0),
                        "{row:?}: {after:?}"
                    );
                }
            }
        }
    }
    assert!(crossing > 50, "{crossing}");
}

#[test]
fn rates_are_the_slopes_of_straight_lines_with_intervals() {
    let figure = ("novakouski2010", 2, "figures-2-3-table-3");
    let sizes = [12.0, 30_000.0, 60_000.0, 120_000.0];
    let times = [1_000.0, 1_650.0, 2_180.0, 3_420.0];
    let lines: Vec<Value> = sizes
        .iter()
        .zip(times)
        .map(|(size, time)| {
            let at = json!({"characters": size.to_string()});
            let samples = [time - 5.0, time, time + 5.0];
            line(figure, &at, ("soapstone", "none"), "time", &samples)
        })
        .collect();
    let runs = [run("one", &lines)];
    let told = values(&runs, "novakouski2010-2-table-3-rates");
    // The normal equations, in bytes.
    let n = sizes.len() as f64;
    let sum = |of: &dyn Fn(usize) -> f64| (0..sizes.len()).map(of).sum::<f64>();
    let (x, y) = (sum(&|it| sizes[it]), sum(&|it| times[it]));
    let (xx, xy) = (
        sum(&|it| sizes[it].powi(2)),
        sum(&|it| sizes[it] * times[it]),
    );
    let slope = (n * xy - x * y) / (n * xx - x * x);
    let start = (y - slope * x) / n;
    let left = sum(&|it| (times[it] - start - slope * sizes[it]).powi(2));
    let half = T_OF_TWO * (left / 2.0 / (xx - x * x / n)).sqrt();
    for (column, expected) in [
        ("value", slope),
        ("least", slope - half),
        ("most", slope + half),
    ] {
        let told: f64 = told[0][column].parse().expect("a number");
        assert!(
            (told - 1e3 * expected).abs() < 1e-4,
            "{column} {told} {expected}"
        );
    }
    assert_eq!(told[0]["unit"], "µs/kB");
    let rows = table(&page_of(&runs), "novakouski2010-2-table-3-rates", "values");
    assert_eq!((&*rows[0][0], &*rows[1][0]), ("µs/kB", "none"));
    close(&rows[1][1], 1e3 * slope);
}

#[test]
fn a_start_is_paid_off_when_the_mean_is_near_that_of_the_steady_state() {
    let figure = ("novakouski2010", 5, "tables-4-5-figure-8");
    let mut lines = Vec::new();
    let mut add = |arm: &str, start: f64, each: f64| {
        for messages in [2.0, 10.0, 40.0, 80.0] {
            let at = json!({"messages": messages.to_string(), "operation": "EmployeeDetails"});
            let total = start + each * messages;
            let apart = |middle: f64| [0.999 * middle, middle, 1.001 * middle];
            let of = ("soapstone", arm);
            lines.push(line(figure, &at, of, "total", &apart(total)));
            lines.push(line(figure, &at, of, "time", &apart(total / messages)));
            lines.push(line(figure, &at, of, "later", &apart(each)));
        }
    };
    // 2,000 more at the start are 10 % of 20 messages that take 1,000 each.
    add("sign/Basic256", 2_050.0, 1_000.0);
    add("secure-conversation/Basic256", 9_000.0, 400.0);
    add("direct", 10.0, 1_000.0);
    let runs = [run("one", &lines)];
    let article = "novakouski2010-5-tables-4-5-convergence";
    let rows = table(&page_of(&runs), article, "values");
    let told: Vec<(&str, &str)> = rows[1..].iter().map(|it| (&*it[0], &*it[1])).collect();
    assert_eq!(
        told,
        [
            ("direct", "after 2 or fewer"),
            ("sign/Basic256", "21"),
            ("secure-conversation/Basic256", "after more than 40")
        ]
    );
    let [row] = &values(&runs, article)[..] else {
        panic!("one value");
    };
    let [least, most] = ["least", "most"].map(|it| row[it].parse::<f64>().expect("a number"));
    assert!(
        (19.0..=21.0).contains(&least) && (21.0..=23.0).contains(&most),
        "{row:?}"
    );
}

#[test]
fn times_after_the_first_deviate_as_their_samples_do_and_one_sample_does_not() {
    let figure = ("novakouski2010", 5, "tables-4-5-figure-8");
    let samples = [
        ("20", vec![4.0, 6.0, 11.0]),
        ("2", vec![5.0]),
        ("5", vec![4.0, 6.0]),
    ];
    let lines = samples.map(|(messages, samples)| {
        let at = json!({"messages": messages});
        line(figure, &at, ("soapstone", "none"), "later", &samples)
    });
    let runs = [run("one", &lines)];
    let told = values(&runs, "novakouski2010-5-figure-9");
    let told: Vec<(&str, &str, &str)> = told
        .iter()
        .map(|it| (&*it["messages"], &it["value"][..6], &*it["unit"]))
        .collect();
    // The square roots of 2 and 13.
    assert_eq!(told, [("5", "1.4142", "µs"), ("20", "3.6055", "µs")]);
    let rows = table(&page_of(&runs), "novakouski2010-5-figure-9", "values");
    assert_eq!(rows[0][1..], ["5", "20"]);
}

/// Bytes are counted, so that one sample of each is enough.
#[test]
fn signed_messages_are_smaller_from_the_size_on_where_straight_lines_of_their_bytes_meet() {
    let figure = ("novakouski2010", 6, "figure-10");
    let mut lines = Vec::new();
    for characters in [1_000.0, 4_000.0, 8_000.0_f64] {
        let at = json!({"characters": characters.to_string()});
        for (arm, header, each) in [
            ("none", 400.0, 2.0),
            ("sign/Basic256", 5_000.0, 2.0),
            ("encrypt/Basic256", 3_000.0, 2.7),
        ] {
            let bytes = header + each * characters;
            lines.push(line(figure, &at, ("soapstone", arm), "secured", &[bytes]));
        }
    }
    let told = values(
        &[run("one", &lines)],
        "novakouski2010-6-figure-10-crossovers",
    );
    let [row] = told.as_slice() else {
        panic!("one pair changes places: {told:?}");
    };
    // 3000 + 2.7 c = 5000 + 2 c.
    let expected = ["encrypt → sign", "2858", "2858", "2858", "characters"];
    let found = ["arm", "value", "least", "most", "unit"].map(|it| row[it].as_str());
    assert_eq!(found, expected);
}

#[test]
fn the_best_chunk_is_that_of_the_least_total_with_all_that_cannot_be_told_from_it() {
    let figure = ("novakouski2010", 17, "chunks");
    let mut lines = Vec::new();
    for (text, totals) in [
        ("1-MB", [1e5, 5e4, 5.05e4, 8e4]),
        ("8-MB", [9e5, 5e5, 3e5, 3.01e5]),
    ] {
        for (chunk, total) in ["10000", "100000", "1000000", "8000000"].iter().zip(totals) {
            let at = json!({"chunk": chunk, "text": text});
            let samples = [0.98, 1.0, 1.02].map(|it| it * total);
            lines.push(line(
                figure,
                &at,
                ("soapstone", "sign-encrypt/Basic256"),
                "total",
                &samples,
            ));
        }
    }
    let told = values(&[run("one", &lines)], "novakouski2010-17-chunks-best");
    let found: Vec<[&str; 4]> = told
        .iter()
        .map(|row| ["text", "value", "least", "most"].map(|it| row[it].as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ["1-MB", "100000", "100000", "1000000"],
            ["8-MB", "1000000", "1000000", "8000000"],
        ]
    );
}

/// Means and intervals of five and ten clients, by the samples.
#[test]
fn what_both_save_and_how_times_grow_have_the_intervals_of_the_times_that_they_are_of() {
    let figure = ("rodrigues2011", 1, "tables-2-5");
    let suffix = "/TripleDesRsa15/rsa1024";
    let times = [
        ("none", 100.0),
        ("encrypt", 800.0),
        ("sign", 500.0),
        ("sign-encrypt", 900.0),
    ];
    let samples = |time: f64, clients: f64| -> [f64; 3] {
        [0.98, 1.0, 1.02].map(|it| it * time * clients / 5.0)
    };
    let mut lines = Vec::new();
    for (arm, time) in times {
        let name = match arm {
            "none" => arm.to_owned(),
            arm => format!("{arm}{suffix}"),
        };
        for clients in [5.0, 10.0_f64] {
            let at = json!({"clients": clients.to_string()});
            let of = samples(time, clients);
            lines.push(line(figure, &at, ("soapstone", &name), "time", &of));
        }
    }
    let runs = [run("one", &lines)];
    let saved = values(&runs, "rodrigues2011-1-figure-6");
    for (row, clients) in saved.iter().zip([5.0, 10.0]) {
        assert_eq!(row["arm"], "encrypt + sign − sign-encrypt");
        let halves = [800.0, 500.0, 900.0].map(|time| {
            let [low, middle, _] = interval(&samples(time, clients));
            middle - low
        });
        let half = halves.iter().map(|it| it * it).sum::<f64>().sqrt();
        let middle = 400.0 * clients / 5.0;
        close(&row["value"], middle);
        close(&row["least"], middle - half);
        close(&row["most"], middle + half);
    }
    let grown = values(&runs, "rodrigues2011-1-figure-5");
    assert_eq!(grown.len(), 4);
    for row in &grown {
        close(&row["value"], 100.0);
        // Twice as long; the intervals of both parts are 4.97 % wide to either side.
        let part = interval(&samples(100.0, 5.0));
        let up = (part[2] / part[1]).ln().hypot((part[1] / part[0]).ln());
        close(&row["most"], 100.0 * (2.0 * up.exp() - 1.0));
    }
    // The increments are the same with both numbers of clients.
    let increments = values(&runs, "rodrigues2011-1-figure-8");
    assert_eq!(increments.len(), 3);
    for row in &increments {
        close(&row["value"], 0.0);
    }
}
