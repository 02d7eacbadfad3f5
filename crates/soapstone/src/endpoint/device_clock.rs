//! The clock of a device that speaks ONVIF, which it tells whoever asks.
//!
//! `GetSystemDateAndTime` of the device management service is for everybody (access class
//! `PRE_AUTH`): a client has to know the device's clock before a `UsernameToken` of its can be
//! fresh. The rule kept here: nothing proves the answer, and it says its time once, in full, or
//! nothing.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use soapstone_wss::Envelope;
use soapstone_xml::{Buffers, Element, Limits};

/// Namespace of the operations and their answers.
const DEVICE: &str = "http://www.onvif.org/ver10/device/wsdl";
/// Namespace of the types.
const SCHEMA: &str = "http://www.onvif.org/ver10/schema";

/// The action of the request for a device's time.
pub const DEVICE_TIME_ACTION: &str = "http://www.onvif.org/ver10/device/wsdl/GetSystemDateAndTime";

/// The request for a device's time: a message of SOAP 1.2 without a header.
pub fn device_time_request() -> Vec<u8> {
    format!(
        "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body>\
         <d:GetSystemDateAndTime xmlns:d=\"{DEVICE}\"/></s:Body></s:Envelope>"
    )
    .into_bytes()
}

/// The moment that a device's answer shows: its `UTCDateTime`, to the second.
///
/// `None` for a fault, and for an answer that says no such time or two of them. A local time alone
/// is none: its zone is text that devices write in many ways.
pub fn device_time_in(answer: &[u8]) -> Option<Timestamp> {
    let mut buffers = Buffers::default();
    let envelope = Envelope::parse(answer.to_vec(), &Limits::default(), &mut buffers).ok()?;
    let answer = only(envelope.body(), DEVICE, "GetSystemDateAndTimeResponse")?;
    let both = only(answer, DEVICE, "SystemDateAndTime")?;
    let moment = only(both, SCHEMA, "UTCDateTime")?;
    let date = only(moment, SCHEMA, "Date")?;
    let time = only(moment, SCHEMA, "Time")?;
    let moment = DateTime::new(
        number(date, "Year")?,
        small(date, "Month")?,
        small(date, "Day")?,
        small(time, "Hour")?,
        small(time, "Minute")?,
        small(time, "Second")?,
        0,
    );
    Offset::UTC.to_timestamp(moment.ok()?).ok()
}

/// The one child with that name.
fn only<'d>(parent: Element<'d>, namespace: &str, local: &str) -> Option<Element<'d>> {
    let mut found = parent.children().filter(|child| child.is(namespace, local));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// A whole number of at most four digits.
fn number(parent: Element<'_>, local: &str) -> Option<i16> {
    let text = only(parent, SCHEMA, local)?.text();
    let digits = text.trim();
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

fn small(parent: Element<'_>, local: &str) -> Option<i8> {
    number(parent, local)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(inside: &str) -> Vec<u8> {
        format!(
            "<e:Envelope xmlns:e=\"http://www.w3.org/2003/05/soap-envelope\" \
             xmlns:tds=\"{DEVICE}\" xmlns:tt=\"{SCHEMA}\"><e:Body>{inside}</e:Body></e:Envelope>"
        )
        .into_bytes()
    }

    fn told(utc: &str) -> Vec<u8> {
        answer(&format!(
            "<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime>\
             <tt:DateTimeType>Manual</tt:DateTimeType><tt:DaylightSavings>true</tt:DaylightSavings>\
             <tt:TimeZone><tt:TZ>CET-1CEST,M3.5.0,M10.5.0/3</tt:TZ></tt:TimeZone>{utc}\
             <tt:LocalDateTime><tt:Time><tt:Hour>1</tt:Hour><tt:Minute>2</tt:Minute>\
             <tt:Second>3</tt:Second></tt:Time><tt:Date><tt:Year>1999</tt:Year>\
             <tt:Month>1</tt:Month><tt:Day>1</tt:Day></tt:Date></tt:LocalDateTime>\
             </tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>"
        ))
    }

    fn utc([year, month, day, hour, minute, second]: [&str; 6]) -> String {
        format!(
            "<tt:UTCDateTime><tt:Time><tt:Hour>{hour}</tt:Hour><tt:Minute>{minute}</tt:Minute>\
             <tt:Second>{second}</tt:Second></tt:Time><tt:Date><tt:Year>{year}</tt:Year>\
             <tt:Month>{month}</tt:Month><tt:Day>{day}</tt:Day></tt:Date></tt:UTCDateTime>"
        )
    }

    #[test]
    fn a_device_tells_its_time_of_greenwich() {
        let expected: Timestamp = "2026-05-04T03:02:01Z".parse().expect("a time");
        for parts in [
            ["2026", "5", "4", "3", "2", "1"],
            ["2026", "05", "04", "03", "02", " 01\n"],
        ] {
            let answer = told(&utc(parts));
            assert_eq!(device_time_in(&answer), Some(expected));
        }
    }

    #[test]
    fn an_answer_without_one_whole_time_of_greenwich_tells_nothing() {
        let good = ["2026", "5", "4", "3", "2", "1"];
        let with = |at: usize, part: &'static str| {
            let mut parts = good;
            parts[at] = part;
            told(&utc(parts))
        };
        for (answer, what) in [
            (told(""), "a local time alone"),
            (told(&utc(good).repeat(2)), "two times"),
            (with(1, "13"), "a month that is none"),
            (with(2, "31</tt:Day><tt:Day>4"), "two days"),
            (with(3, "24"), "an hour that is none"),
            (with(5, "60"), "a second that is none"),
            (with(5, "-1"), "a number with a sign"),
            (with(0, "02026"), "a year of five digits"),
            (with(4, ""), "no minute"),
            (
                answer("<e:Fault><e:Code><e:Value>e:Sender</e:Value></e:Code></e:Fault>"),
                "a fault",
            ),
            (answer(&utc(good)), "a time without its operation"),
            (b"<html/>".to_vec(), "no message"),
            (
                [
                    b"<!DOCTYPE e [<!ENTITY y \"2026\">]>".to_vec(),
                    told(&utc(good)),
                ]
                .concat(),
                "a DTD",
            ),
        ] {
            assert_eq!(device_time_in(&answer), None, "{what}");
        }
    }

    #[test]
    fn the_request_is_a_message() {
        let mut buffers = Buffers::default();
        let request = device_time_request();
        let envelope =
            Envelope::parse(request, &Limits::default(), &mut buffers).expect("it is read");
        assert!(only(envelope.body(), DEVICE, "GetSystemDateAndTime").is_some());
        assert!(envelope.header().is_none());
    }
}
