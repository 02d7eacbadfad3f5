//! Parts of one whole are drawn as one bar.

use serde_json::{Value, json};
use soapstone_lab::report::Report;
use soapstone_lab::studies;

use super::{read, run};

/// What operations take, microseconds: those of a message, in the order of drawing, and what
/// carries it otherwise.
const PARTS: [(&str, f64); 4] = [
    ("xml-send", 10.0),
    ("sign", 400.0),
    ("tcp", 40.0),
    ("verify", 50.0),
];
const INSTEAD: (&str, f64) = ("https", 60.0);

fn lines() -> Vec<Value> {
    let mut all = Vec::new();
    let at = json!({"proof": "rsa-sha1"});
    let figure = |name| ("vanengelen2008", 2, name);
    // The order of lines is not that of drawing.
    for (arm, time) in PARTS.iter().rev().chain([&INSTEAD]) {
        let who = ("soapstone", *arm);
        all.push(read::line(
            figure("figure-3"),
            &at,
            who,
            "processor",
            &[*time; 3],
        ));
    }
    let at = json!({"proof": "hmac-sha1"});
    for (arm, time) in [("messaging", 60.0), ("security", 20.0)] {
        let who = ("soapstone", arm);
        all.push(read::line(
            figure("figure-3-share"),
            &at,
            who,
            "processor",
            &[time; 3],
        ));
    }
    all
}

/// The plot of a figure.
fn plot(figure: &str) -> String {
    let study = studies::named("vanengelen2008").expect("the study");
    let runs = [run("a", &lines())];
    let files = Report::of(&[study], &runs).attachments();
    let file = files
        .into_iter()
        .find(|it| it.name.contains(&format!("-{figure}.")) && it.name.ends_with(".svg"));
    file.unwrap_or_else(|| panic!("no plot of {figure}"))
        .contents
}

/// Where the bars of a plot begin and how long they are, in the order of drawing, with what they
/// say when they are pointed at; those of the legend say nothing and are not among them.
fn bars(svg: &str) -> Vec<(String, f64, f64)> {
    let points = svg.split("<g class=\"point\">").skip(1);
    let between = |text: &str, before: &str, after: &str| {
        let (_, rest) = text.split_once(before).expect(before);
        rest.split_once(after).expect(after).0.to_owned()
    };
    points
        .map(|point| {
            let number = |name: &str| -> f64 {
                let rectangle = between(point, "<rect class=\"bar", "/>");
                between(&rectangle, &format!(" {name}=\""), "\"")
                    .parse()
                    .expect("a number")
            };
            let title = between(point, "<title>", "</title>");
            let arm = title.split(" · ").next().unwrap_or_default().to_owned();
            (arm, number("x"), number("width"))
        })
        .collect()
}

#[test]
fn operations_of_one_message_stand_one_after_another_and_what_is_none_of_them_beside() {
    let svg = plot("figure-3");
    let bars = bars(&svg);
    let arms: Vec<&str> = bars.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(arms, ["xml-send", "sign", "tcp", "verify", "https"]);
    let (_, base, first) = bars[0];
    let unit = first / PARTS[0].1;
    let mut end = base;
    for ((_, from, width), (arm, time)) in bars.iter().zip(PARTS) {
        assert!(
            (from - end).abs() < 0.2,
            "{arm} begins at {from}, not {end}"
        );
        // Coordinates are written to a tenth.
        assert!((width - unit * time).abs() < 0.3 * time / 10.0, "{arm}");
        end = from + width;
    }
    assert!((bars[4].1 - base).abs() < 0.2, "https begins at nothing");
    // What they add up to stands at the end, and all parts are explained.
    assert!(svg.contains(">500<"), "{svg}");
    for (arm, _) in PARTS {
        assert_eq!(svg.matches(&format!(">{arm}<")).count(), 1, "{arm}");
    }
}

#[test]
fn shares_fill_their_bar_and_what_the_paper_reported_stands_in_its_part() {
    let svg = plot("figure-3-share");
    let bars = bars(&svg);
    let arms: Vec<&str> = bars.iter().map(|it| it.0.as_str()).collect();
    // The paper reported the share of security.
    assert_eq!(arms, ["security", "messaging"]);
    let whole = bars[0].2 + bars[1].2;
    assert!((bars[0].2 / whole - 0.25).abs() < 0.01, "{bars:?}");
    assert_eq!(svg.matches("class=\"reported\"").count(), 1);
}
