//! The numbers of the papers: that all of them stand in the lab, that they agree with each other,
//! and what the report says when it is given the papers' own tables as results.

mod arithmetic;
#[path = "../common/csv.rs"]
mod csv;
mod expected;
mod results;

use std::collections::BTreeSet;

use soapstone_lab::papers::Value;
use soapstone_lab::studies;

fn values(study: &str) -> Vec<Value> {
    let study = studies::named(study).expect("a study");
    study.numbers.values().collect()
}

#[test]
fn every_number_stands_in_the_lab_as_it_is_printed_and_no_other_does() {
    let mut known = BTreeSet::new();
    for (paper, source, row, cells) in expected::TABLES {
        let of = values(paper);
        let of = of
            .iter()
            .filter(|it| it.source.name == *source && it.row.name == *row);
        let printed: Vec<&str> = of.map(|it| it.printed.text).collect();
        assert_eq!(printed, *cells, "{paper}, {source}, {row}");
        known.insert((*paper, *source));
    }
    for (paper, source, cells) in expected::PASSAGES {
        let of = values(paper);
        let of = of.iter().filter(|it| it.source.name == *source);
        let printed: Vec<&str> = of.map(|it| it.printed.text).collect();
        assert_eq!(printed, *cells, "{paper}, {source}");
        known.insert((*paper, *source));
    }
    let mut numbers = 0;
    for study in studies::ALL {
        for value in study.numbers.values() {
            assert!(
                known.contains(&(study.name, value.source.name)),
                "{}: {}",
                study.name,
                value.place()
            );
            numbers += 1;
        }
    }
    let tables = expected::TABLES.iter().map(|it| it.3.len()).sum::<usize>();
    let passages = expected::PASSAGES.iter().map(|it| it.2.len());
    assert_eq!(numbers, tables + passages.sum::<usize>());
}

#[test]
fn every_number_has_a_place_a_unit_and_something_it_is_a_value_of() {
    for study in studies::ALL {
        let mut places = BTreeSet::new();
        for value in study.numbers.values() {
            let place = value.place();
            assert!(value.tag("unit").is_some(), "{place} has no unit");
            assert!(!value.source.of.is_empty(), "{place} is of nothing");
            let named = value.row.name.len() + value.column.name.len() > 0;
            assert!(named, "{place} has no row and no column");
            let of = value.source.name;
            assert!(places.insert((of, place.clone())), "{place} stands twice");
        }
        for source in study.numbers.sources {
            let cells = source.rows.iter().map(|it| it.cells.len());
            let mut cells = cells.filter(|it| *it != source.columns.len());
            assert_eq!(cells.next(), None, "{}: {}", study.name, source.name);
            for row in source.rows {
                for cell in row.cells.iter().filter(|it| !it.is_empty()) {
                    let of = source.values().any(|it| it.printed.text == *cell);
                    assert!(of, "{}: {cell} is no number", source.name);
                }
            }
        }
    }
}

#[test]
fn by_how_many_percent_messages_are_more_is_laid_as_how_many_times_as_many_they_are() {
    let study = studies::named("mchale2012").expect("the study");
    let laid = |figure| {
        let figure = study.figure(5, figure).expect("the figure");
        let reported = study.reported(figure).into_iter();
        let of = reported.map(|it| (it.arm, [it.least, it.most].map(|it| (it * 100.0).round())));
        of.collect::<Vec<_>>()
    };
    // Section 2.2: 15 to 20 % in 2007, up to 50 % in 2009; section 2.3: about eight times.
    assert_eq!(
        laid("tokens-gain"),
        [
            ("sign-encrypt-kerberos", [115.0, 120.0]),
            ("sign-encrypt-kerberos", [150.0; 2]),
            ("sign-encrypt-hmac", [800.0; 2]),
        ]
    );
    // Up to 28 % at full load.
    assert_eq!(laid("tokens-load"), [("sign-encrypt-kerberos", [128.0; 2])]);
}

#[test]
fn what_is_laid_beside_a_figure_and_what_counts_as_a_result_stands_in_the_paper() {
    for study in studies::ALL {
        for experiment in study.experiments {
            for figure in experiment.figures {
                for laid in figure.reported {
                    let source = study.numbers.source(laid.source);
                    let values = source.into_iter().flat_map(|it| it.values());
                    let of = values.filter(|it| it.has(laid.with));
                    assert!(of.count() > 0, "{}: {}", figure.shown_in, laid.source);
                }
                let reported = study.reported(figure);
                assert_eq!(reported.is_empty(), figure.reported.is_empty());
                for it in reported {
                    let [least, most] = it.range;
                    assert!(least <= it.least && it.most <= most, "{it:?}");
                }
            }
        }
        for results in study.results {
            assert!(
                study.figure(results.experiment, results.shown_in).is_some(),
                "{}: {}",
                study.name,
                results.shown_in
            );
            let source = study.numbers.source(results.source);
            assert!(source.is_some(), "{}: {}", study.name, results.source);
        }
    }
}
