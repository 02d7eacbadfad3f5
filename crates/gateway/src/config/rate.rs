//! `rate` and `burst` of the file.
//!
//! The rule kept here: a burst without a rate is reported.

use soapstone::config::{OTHER_TEXT, Table};
use soapstone_broker::Rate;

/// Most requests at once of a route or client with a rate; a number of seconds' worth of any rate
/// that makes sense.
const LARGEST_BURST: u64 = 1_000_000;

/// Reads a rate and how many may come at once.
pub(super) fn read_rate(
    table: &mut Table<'_>,
    key: &'static str,
    burst: &'static str,
) -> Option<Rate> {
    let burst_place = table.place_of(burst);
    let at_once = table.integer(burst, 1, LARGEST_BURST);
    let Some(text) = table.string(key) else {
        if let Some(place) = burst_place
            && !table.has(key)
        {
            table.report(
                place,
                format!("`{burst}` is for a `{key}`, and there is none"),
            );
        }
        return None;
    };
    let rate = Rate::parse(&text.value, at_once.map(|burst| burst.value));
    if rate.is_none() {
        let message = format!(
            "`{key}` must be a number in a second, a minute or an hour, found {OTHER_TEXT}"
        );
        table.report_with_hint(
            text.place,
            message,
            "for example \"100/s\", \"30/m\" or \"500/h\"",
        );
    }
    rate
}
