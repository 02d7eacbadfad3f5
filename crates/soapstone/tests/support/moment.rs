//! Endpoint files beside recorded messages, which stop the clock at the moment of recording.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Fixed};

/// The endpoint of a file, some hours after its moment.
pub(crate) fn endpoint<P: Fixed>(file: &Path, hours: i64) -> Endpoint<P> {
    let text = std::fs::read_to_string(file).expect("an endpoint file");
    endpoint_of(&text, file, hours)
}

/// The endpoint of what stands, or could stand, in a file.
pub(crate) fn endpoint_of<P: Fixed>(text: &str, file: &Path, hours: i64) -> Endpoint<P> {
    let (before, rest) = text
        .split_once("time = \"")
        .expect("the moment of recording");
    let (moment, after) = rest.split_once('"').expect("its end");
    let pretended =
        moment.parse::<Timestamp>().expect("a moment") + SignedDuration::from_hours(hours);
    let text = format!("{before}time = \"{pretended}\"{after}");
    EndpointConfig::from_text(&text, file, &|_| None)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"))
}
