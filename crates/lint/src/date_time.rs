//! The form of an `xsd:dateTime`, of Timestamps and of ebMS headers.

/// The form of an `xsd:dateTime`.
pub(crate) struct DateTime<'t> {
    pub(crate) seconds: u8,
    /// Digits behind the point.
    pub(crate) fraction: usize,
    /// What follows the seconds.
    pub(crate) zone: &'t str,
}

impl<'t> DateTime<'t> {
    /// Reads the form; ranges of days by month are not looked at.
    pub(crate) fn read(text: &'t str) -> Option<Self> {
        let date = text.strip_prefix('-').unwrap_or(text);
        let (date, time) = date.split_once('T')?;
        let mut date = date.split('-');
        let (year, month, day) = (date.next()?, date.next()?, date.next()?);
        let in_range = |text: &str, low, high| {
            let value = two_digits(text)?;
            (low..=high).contains(&value).then_some(value)
        };
        let is_year = year.len() >= 4 && year.bytes().all(|byte| byte.is_ascii_digit());
        if !is_year || date.next().is_some() {
            return None;
        }
        in_range(month, 1, 12)?;
        in_range(day, 1, 31)?;
        let zone_at = time.find(['Z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(zone_at);
        let mut clock = clock.splitn(3, ':');
        in_range(clock.next()?, 0, 24)?;
        in_range(clock.next()?, 0, 59)?;
        let seconds = clock.next()?;
        let (seconds, fraction) = match seconds.split_once('.') {
            Some((_, "")) => return None,
            Some(split) => split,
            None => (seconds, ""),
        };
        let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = two_digits(seconds).filter(|_| is_number)?;
        Some(Self {
            seconds,
            fraction: fraction.len(),
            zone,
        })
    }
}

fn two_digits(text: &str) -> Option<u8> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
