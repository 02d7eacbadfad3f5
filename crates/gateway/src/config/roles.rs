//! `[[roles]]`: who may call which operation of which route, how large, how often and when.
//!
//! The rule kept here: what no role allows is refused. A role adds to what its members may, and
//! takes nothing from what another role allows.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use soapstone::config::{Located, OTHER_TEXT, Table};
use soapstone::crypto::HolderName;
use soapstone_broker::Rate;

use super::party::{READS_AS_TWO, WORD_IN_A_NAME};
use super::rate::read_rate;

/// One of `[[roles]]`.
#[derive(Clone, Debug)]
pub(crate) struct RoleSpec {
    pub(crate) name: String,
    pub(crate) members: Members,
    pub(crate) allow: Vec<Grant>,
    /// Values of `SOAPAction` and `wsa:Action` that are accepted beside those that end with the
    /// name of the operation.
    pub(crate) actions: Vec<String>,
    /// Most bytes of a request, in plain.
    pub(crate) bytes: Option<u64>,
    /// How many requests of all members together.
    pub(crate) rate: Option<Rate>,
    /// When; always, where there is none.
    pub(crate) hours: Vec<Hours>,
    pub(crate) zone: TimeZone,
}

/// Who has a role. Any one is enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// Users that proved their password.
    pub(crate) users: Vec<String>,
    /// Principals of Kerberos.
    pub(crate) principals: Vec<String>,
    /// Holders of certificates that signed.
    pub(crate) subjects: Vec<Located<HolderName>>,
    /// What assertions say.
    pub(crate) attributes: Vec<AttributeMember>,
    /// Whoever is proven.
    pub(crate) anybody: bool,
}

/// An attribute of an assertion, with the value that makes its subject a member.
#[derive(Clone, Debug)]
pub(crate) struct AttributeMember {
    pub(crate) issuer: String,
    pub(crate) name: String,
    pub(crate) value: String,
}

/// An entry of `allow`: operations of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The name of the route; none means every route.
    pub(crate) route: Option<String>,
    pub(crate) operation: GrantedOperation,
}

/// Which operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GrantedOperation {
    Every,
    /// The local name of the first child of the Body.
    Named(String),
    /// Its whole name, `{namespace}local`.
    Qualified(String),
}

impl Grant {
    /// Reads `route:operation`, where the name of the route may hold colons itself.
    fn parse(text: &str, routes: &[&str]) -> Option<Self> {
        let of = |route: &str| text.strip_prefix(route)?.strip_prefix(':');
        let named = routes.iter().filter_map(|route| Some((*route, of(route)?)));
        let every = of("*").map(|operation| (None, operation));
        let longest = named.max_by_key(|(route, _)| route.len());
        let named = longest.map(|(route, operation)| (Some(route.to_owned()), operation));
        let (route, operation) = named.or(every)?;
        let is_name = |name: &str| {
            !name.is_empty() && !name.contains(|it: char| "{}:* ".contains(it) || it.is_control())
        };
        let operation = match operation.strip_prefix('{') {
            _ if operation == "*" => GrantedOperation::Every,
            Some(rest) => {
                let (_, local) = rest.rsplit_once('}')?;
                is_name(local).then(|| GrantedOperation::Qualified(operation.to_owned()))?
            }
            None => is_name(operation).then(|| GrantedOperation::Named(operation.to_owned()))?,
        };
        Some(Self { route, operation })
    }

    /// Whether it is about that route.
    pub(crate) fn is_for(&self, route: &str) -> bool {
        self.route.as_ref().is_none_or(|named| named == route)
    }
}

/// A span of time on some days of the week. One that ends at midnight or later begins on those
/// days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hours {
    /// From Monday on.
    days: [bool; 7],
    /// Minutes since midnight.
    from: u16,
    /// The first minute that is outside; more than a day's where midnight lies between.
    to: u16,
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Minutes of a day.
const DAY: u16 = 24 * 60;

impl Hours {
    /// Reads `"Mon-Fri 08:00-18:00"`, `"Sat 22:00-04:00"` or `"08:00-18:00"`.
    fn parse(text: &str) -> Option<Self> {
        let (days, span) = match text.split_once(' ') {
            Some((days, span)) => (parse_days(days)?, span.trim()),
            None => ([true; 7], text),
        };
        let (from, to) = span.split_once('-')?;
        let (from, to) = (parse_minute(from)?, parse_minute(to)?);
        if from == DAY || from == to {
            return None;
        }
        let to = if to < from { to + DAY } else { to };
        Some(Self { days, from, to })
    }

    /// Whether that minute of that day lies within.
    pub(crate) fn hold(&self, day: Weekday, hour: i8, minute: i8) -> bool {
        let day = usize::from(day.to_monday_zero_offset().unsigned_abs());
        let hour = u16::from(hour.unsigned_abs());
        let now = hour * 60 + u16::from(minute.unsigned_abs());
        let within = |day: usize, now: u16| self.days[day] && (self.from..self.to).contains(&now);
        within(day, now) || within((day + 6) % 7, now + DAY)
    }
}

fn parse_days(text: &str) -> Option<[bool; 7]> {
    let place = |name: &str| DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut day, last) = (place(first)?, place(last)?);
        days[day] = true;
        while day != last {
            day = (day + 1) % 7;
            days[day] = true;
        }
    }
    Some(days)
}

fn parse_minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, most: u16| -> Option<u16> {
        let is_plain = text.len() == 2 && text.bytes().all(|it| it.is_ascii_digit());
        let number: u16 = is_plain.then(|| text.parse().ok()).flatten()?;
        (number <= most).then_some(number)
    };
    let minutes = number(hour, 24)? * 60 + number(minute, 59)?;
    (minutes <= DAY).then_some(minutes)
}

/// Reads `[[roles]]`. `routes` are the names of those routes that prove who sends requests.
pub(super) fn read_roles(tables: Vec<Table<'_>>, routes: &[&str]) -> Vec<RoleSpec> {
    let mut names: Vec<String> = Vec::new();
    let read = |table: Table<'_>| read_role(table, routes, &mut names);
    tables.into_iter().filter_map(read).collect()
}

fn read_role(mut table: Table<'_>, routes: &[&str], names: &mut Vec<String>) -> Option<RoleSpec> {
    let place = table.place();
    let name = table.required_string("name", "it stands in the log: name = \"clerks\"");
    if let Some(name) = &name {
        if names.contains(&name.value) {
            table.report(name.place, "two roles have the same `name`");
        }
        names.push(name.value.clone());
    }
    let members = table.table("members").map(read_members);
    if members.is_none() && !table.has("members") {
        table.missing(
            "members",
            "say who has the role: members = { users = [\"alice\"] }",
        );
    }
    let mut allow = Vec::new();
    for text in table.strings("allow").unwrap_or_default() {
        match Grant::parse(&text.value, routes) {
            Some(grant) => allow.push(grant),
            None => table.report_with_hint(
                text.place,
                format!("`allow` must hold operations of routes with `inbound`, found {OTHER_TEXT}"),
                "the name of the route and the operation: \"books:GetBook\", \"books:{urn:books}GetBook\", \"books:*\" or \"*:GetBook\"",
            ),
        }
    }
    if !table.has("allow") || table.is_empty_list("allow") {
        let hint = "say what its members may do: allow = [\"books:GetBook\"]";
        table.report_with_hint(place, "a role without `allow` allows nothing", hint);
    }
    let actions = table.strings("actions").unwrap_or_default();
    let bytes = table.size("bytes");
    let rate = read_rate(&mut table, "rate", "burst");
    let hours = table.strings("hours").unwrap_or_default();
    let spans = hours.iter().filter_map(|text| {
        let span = Hours::parse(&text.value);
        if span.is_none() {
            let message = format!("`hours` must hold spans of time, found {OTHER_TEXT}");
            let hint = "\"Mon-Fri 08:00-18:00\", \"Sat,Sun 10:00-14:00\" or \"22:00-04:00\"";
            table.report_with_hint(text.place, message, hint);
        }
        span
    });
    let spans: Vec<Hours> = spans.collect();
    let zone = read_zone(&mut table, !hours.is_empty());
    table.finish();
    Some(RoleSpec {
        name: name?.value,
        members: members?,
        allow,
        actions: actions.into_iter().map(|action| action.value).collect(),
        bytes: bytes.map(|bytes| bytes.value),
        rate,
        hours: spans,
        zone,
    })
}

fn read_zone(table: &mut Table<'_>, has_hours: bool) -> TimeZone {
    let Some(text) = table.string("time_zone") else {
        return TimeZone::UTC;
    };
    if !has_hours {
        table.report(text.place, "`time_zone` is for `hours`, and there are none");
    }
    TimeZone::get(&text.value).unwrap_or_else(|_| {
        let message = format!("`time_zone` must name a time zone of this host, found {OTHER_TEXT}");
        let hint = "for example time_zone = \"Europe/Prague\"; without it, hours are those of UTC";
        table.report_with_hint(text.place, message, hint);
        TimeZone::UTC
    })
}

fn read_members(mut table: Table<'_>) -> Members {
    let place = table.place();
    let texts = |given: Option<Vec<Located<String>>>| given.unwrap_or_default();
    let users = texts(table.strings("users"));
    let mut subjects = Vec::new();
    for text in texts(table.strings("subjects")) {
        match HolderName::parse(&text.value) {
            Ok(_) if HolderName::has_half_a_name(&text.value) => table.report_with_hint(
                text.place,
                format!("`subjects` must hold whole names, found {READS_AS_TWO}"),
                format!("name an issuer, \"CN=client of CN=authority\"; {WORD_IN_A_NAME}"),
            ),
            Ok(name) => subjects.push(text.map(|_| name)),
            Err(_) => table.report_with_hint(
                text.place,
                format!("`subjects` must hold distinguished names, found {OTHER_TEXT}"),
                "for example subjects = [\"CN=client,O=Example\"]",
            ),
        }
    }
    let attributes = table.tables("attributes").into_iter();
    let attributes: Vec<AttributeMember> = attributes
        .filter_map(|mut attribute| {
            let issuer = attribute.required_string("issuer", "as `issuers` of `saml` names it");
            let name = attribute.required_string("name", "as the issuer writes it");
            let value = attribute.required_string("value", "the value that its members have");
            attribute.finish();
            Some(AttributeMember {
                issuer: issuer?.value,
                name: name?.value,
                value: value?.value,
            })
        })
        .collect();
    let anybody = table.boolean("anybody").is_some_and(|it| it.value);
    let principals = texts(table.strings("principals"));
    if users.is_empty()
        && principals.is_empty()
        && !anybody
        && !["subjects", "attributes"]
            .iter()
            .any(|it| table.has(it) && !table.is_empty_list(it))
    {
        let hint = "users, principals of Kerberos, subjects of certificates, attributes of assertions, or anybody = true";
        table.report_with_hint(place, "`members` names nobody", hint);
    }
    table.finish();
    Members {
        users: users.into_iter().map(|user| user.value).collect(),
        principals: principals.into_iter().map(|it| it.value).collect(),
        subjects,
        attributes,
        anybody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_names_a_route_and_an_operation() {
        let routes = ["books", "/a:b", "/a"];
        let grant = |route: Option<&str>, operation| {
            let route = route.map(str::to_owned);
            Some(Grant { route, operation })
        };
        let named = |name: &str| GrantedOperation::Named(name.to_owned());
        let qualified = |name: &str| GrantedOperation::Qualified(name.to_owned());
        for (text, expected) in [
            ("books:Get", grant(Some("books"), named("Get"))),
            ("books:*", grant(Some("books"), GrantedOperation::Every)),
            ("*:Get", grant(None, named("Get"))),
            ("/a:b:Get", grant(Some("/a:b"), named("Get"))),
            (
                "books:{urn:a}Get",
                grant(Some("books"), qualified("{urn:a}Get")),
            ),
            ("other:Get", None),
            ("books:", None),
            ("books", None),
            ("books:{urn:a}", None),
            ("books:G*", None),
            ("", None),
        ] {
            assert_eq!(Grant::parse(text, &routes), expected, "{text}");
        }
    }

    #[test]
    fn hours_hold_from_their_first_minute_to_their_last_across_midnight_and_weeks() {
        use Weekday::{Friday, Monday, Saturday, Sunday};
        for (text, day, hour, minute, expected) in [
            ("Mon-Fri 08:00-18:00", Monday, 8, 0, true),
            ("Mon-Fri 08:00-18:00", Monday, 7, 59, false),
            ("Mon-Fri 08:00-18:00", Friday, 17, 59, true),
            ("Mon-Fri 08:00-18:00", Friday, 18, 0, false),
            ("Mon-Fri 08:00-18:00", Saturday, 9, 0, false),
            ("Sun 22:00-04:00", Sunday, 22, 0, true),
            ("Sun 22:00-04:00", Monday, 3, 59, true),
            ("Sun 22:00-04:00", Monday, 4, 0, false),
            ("Sun 22:00-04:00", Sunday, 3, 0, false),
            ("Sat-Mon 00:00-24:00", Sunday, 23, 59, true),
            ("Sat-Mon 00:00-24:00", Friday, 23, 59, false),
            ("08:00-18:00", Sunday, 12, 0, true),
        ] {
            let hours = Hours::parse(text).expect("a span");
            assert_eq!(hours.hold(day, hour, minute), expected, "{text} {day:?}");
        }
        for text in [
            "",
            "Mon",
            "Mon 8-18",
            "08:00",
            "24:00-08:00",
            "08:00-24:01",
            "Foo 08:00-09:00",
            "08:00-08:00",
        ] {
            assert_eq!(Hours::parse(text), None, "{text}");
        }
    }
}
