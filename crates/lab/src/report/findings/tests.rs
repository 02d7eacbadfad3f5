//! Where two arms have as much as each other.

use super::*;

fn series(arm: &str, values: &[(&str, f64)]) -> Series {
    let besides = vec![("signed".to_owned(), "body".to_owned())];
    let values = values.iter().map(|(x, of)| Value {
        x: (*x).to_owned(),
        spread: Some([of - 1.0, of + 1.0]),
        n: 5,
        ..value(&besides, x, *of, None, 5)
    });
    Series {
        stack: Stack::Soapstone,
        arm: arm.to_owned(),
        values: values.collect(),
        besides,
        baseline: false,
        blanks: Vec::new(),
    }
}

/// A gamble begins dearer than what it is compared with, and costs no more from somewhere on. That
/// it costs more from somewhere on is no break-even.
#[test]
fn a_break_even_is_a_crossing_downwards_alone() {
    let even_of = |gamble: &[(&str, f64)]| {
        let level: Vec<(&str, f64)> = gamble.iter().map(|it| (it.0, 100.0)).collect();
        let all = [series("gamble", gamble), series("always", &level)];
        let found = even(
            ("canonical", Quantity::Processor),
            ["gamble", "always"],
            &all,
        );
        let of = &found.series[0];
        let at: Vec<f64> = of.values.iter().map(|it| it.value.round()).collect();
        let why: Vec<String> = of.blanks.iter().map(|it| it.1.clone()).collect();
        (at, why)
    };
    let told = |why: &str| (Vec::new(), vec![why.to_owned()]);
    assert_eq!(
        even_of(&[("0", 150.0), ("50", 120.0), ("100", 80.0)]),
        (vec![75.0], Vec::new())
    );
    assert_eq!(
        even_of(&[("0", 80.0), ("50", 120.0), ("90", 120.0), ("100", 80.0)]),
        (vec![95.0], Vec::new())
    );
    assert_eq!(
        even_of(&[("0", 80.0), ("100", 120.0)]),
        told("the other way round")
    );
    assert_eq!(
        even_of(&[("0", 120.0), ("100", 110.0)]),
        told("always more")
    );
}
