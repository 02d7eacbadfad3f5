//! Messages broken in ways that the other tests do not have, alone and in twos, with every kind of
//! key and both versions of SOAP. What is found of them is an estimate for messages of others.

mod cases;
mod doubles;
mod further;
mod keys;
mod singles;
#[path = "../support/mod.rs"]
mod support;
mod wire;

use cases::{Broken, Cases};
use support::{first_causes, told_with};

/// Causes that nothing proves.
const LIKELY: [&str; 2] = ["other-key", "password"];

/// What is wrong with what is told of a message.
fn missed(case: Broken) -> Option<String> {
    let told = told_with(case.message.as_bytes(), case.known);
    let causes = first_causes(&told);
    let mut found: Vec<Vec<&str>> = causes
        .iter()
        .filter(|cause| cause.certain != LIKELY.contains(&cause.kinds[0]))
        .map(|cause| cause.kinds.clone())
        .collect();
    found.iter_mut().for_each(|kinds| kinds.sort_unstable());
    found.sort();
    let fits = case.kinds.split('/').any(|wanted| {
        let mut wanted: Vec<Vec<&str>> = wanted
            .split(" | ")
            .map(|one| one.split(' ').collect())
            .collect();
        wanted.iter_mut().for_each(|kinds| kinds.sort_unstable());
        wanted.sort();
        wanted == found
    });
    let says: Vec<&str> = causes.iter().map(|cause| cause.says.as_str()).collect();
    (!fits).then(|| {
        format!(
            "{}: expected {}, found {found:?} {says:#?}",
            case.name, case.kinds
        )
    })
}

/// At least so many of a hundred are told.
fn holds(cases: Vec<Broken>, least: usize, percent: usize) {
    let count = cases.len();
    assert!(count >= least, "{count} messages");
    let missed: Vec<String> = cases.into_iter().filter_map(missed).collect();
    println!("{} of {count} missed\n{}", missed.len(), missed.join("\n"));
    assert!(
        missed.len() * 100 <= count * (100 - percent),
        "{} of {count} missed",
        missed.len()
    );
}

#[test]
fn single_mistakes_are_told_first() {
    let mut cases = Cases::default();
    singles::characters(&mut cases);
    singles::spaces(&mut cases);
    singles::forms(&mut cases);
    singles::namespaces(&mut cases);
    singles::infos(&mut cases);
    singles::timestamps(&mut cases);
    keys::all(&mut cases);
    holds(cases.all, 75, 95);
}

#[test]
fn mistakes_are_told_first_whatever_the_kind_of_key() {
    let mut cases = Cases::default();
    further::all(&mut cases);
    holds(cases.all, 30, 95);
}

#[test]
fn two_mistakes_are_told_together() {
    let mut cases = Cases::default();
    doubles::of_one_part(&mut cases);
    doubles::of_values(&mut cases);
    doubles::of_two_parts(&mut cases);
    holds(cases.all, 30, 70);
}

/// What programs on the way do to whole messages, each with the kinds of its causes.
#[test]
fn what_was_done_to_a_message_on_the_way_is_told_first() {
    let missed: Vec<String> = wire::broken()
        .into_iter()
        .filter_map(wire::missed)
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// What a canonical form does not see breaks nothing, and nothing is said of it.
#[test]
fn what_no_canonical_form_sees_is_no_error() {
    for (name, message, known) in wire::unbroken() {
        let told = told_with(&message, known);
        assert!(!told.is_refused(), "{name}: {:#?}", told.findings);
        let state = soapstone_explain::State::Matches;
        assert_eq!(told.signatures[0].value, state, "{name}");
    }
}

/// What cannot be undone has no certain cause.
#[test]
fn what_is_lost_for_ever_has_no_certain_cause() {
    for (name, message, known) in wire::lost() {
        let told = told_with(message.as_bytes(), known);
        assert!(told.is_refused(), "{name}");
        let certain: Vec<&soapstone_explain::Cause> = first_causes(&told)
            .into_iter()
            .filter(|cause| cause.certain)
            .collect();
        assert!(certain.is_empty(), "{name}: {certain:#?}");
    }
}

#[test]
fn messages_as_they_were_made_have_no_error() {
    for number in 0..6 {
        let sender = cases::Sender::new(number, &cases::rich());
        let told = told_with(sender.message.as_bytes(), sender.known());
        assert_eq!(told.findings, [], "sender {number}");
    }
    for (name, good, known) in keys::good() {
        let told = told_with(good.as_bytes(), known);
        assert!(!told.is_refused(), "{name}: {:#?}", told.findings);
        let state = soapstone_explain::State::Matches;
        assert_eq!(told.signatures[0].value, state, "{name}");
    }
}
