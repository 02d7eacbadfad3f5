//! Durations, sizes and bytes as people write them.
//!
//! The rule kept here: a number without a unit is only accepted where no unit could be meant
//! otherwise (bytes).

use std::time::Duration;

use soapstone_crypto::hexadecimal;

/// Reads a duration: one or more numbers, each with its unit (`ms`, `s`, `m`, `h`, `d`), as in
/// `5m`, `1h30m` or `500ms`.
///
/// `None` when the text has another form, repeats or disorders its units, or exceeds what a
/// `Duration` holds.
pub fn parse_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, u64); 5] = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ];
    let mut rest = text.trim();
    let mut milliseconds = 0_u64;
    let mut next_unit = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = leading_number(rest)?;
        let unit_length = after
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_length);
        let position = UNITS.iter().position(|(name, _)| *name == unit)?;
        if position < next_unit {
            return None;
        }
        next_unit = position + 1;
        milliseconds = milliseconds.checked_add(number.checked_mul(UNITS[position].1)?)?;
        rest = after.trim_start();
    }
    Some(Duration::from_millis(milliseconds))
}

/// Reads a size in bytes: a number and a unit (`B`, `kB`, `MB`, `GB` in thousands, `KiB`, `MiB`,
/// `GiB` in 1024s).
///
/// A number alone is bytes. `None` when the text has another form or the size does not fit.
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = leading_number(text.trim())?;
    let factor = match unit.trim_start() {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" | "kiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Reads pairs of hexadecimal digits. `None` when there are none, or something else.
pub(super) fn decode_hexadecimal(text: &str) -> Option<Vec<u8>> {
    hexadecimal::decode(text).filter(|bytes| !bytes.is_empty())
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let length = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(length);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_one_or_more_units_in_falling_order() {
        assert_eq!(parse_duration("5m"), Some(Duration::from_secs(300)));
        assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_duration("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(
            parse_duration("1m 500ms"),
            Some(Duration::from_millis(60_500))
        );
        assert_eq!(parse_duration("2d"), Some(Duration::from_secs(172_800)));
    }

    #[test]
    fn durations_without_a_unit_or_in_disorder_are_refused() {
        for text in [
            "",
            "5",
            "m",
            "5 minutes",
            "30m1h",
            "5m5m",
            "-5s",
            "1.5s",
            "99999999999999999999s",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_take_decimal_and_binary_units() {
        assert_eq!(parse_size("8MiB"), Some(8 << 20));
        assert_eq!(parse_size("64 kB"), Some(64_000));
        assert_eq!(parse_size("1024"), Some(1024));
        assert_eq!(parse_size("8 megs"), None);
        assert_eq!(parse_size("99999999999GiB"), None);
    }
}
