//! The answers of every operation, written straight into one buffer.
//!
//! The server sends these bytes, and the lab takes them as payloads without a server. The one rule
//! they keep: nothing is written twice. 25,000 books are some seven megabytes, and copying them
//! costs as much as making them.

use soapstone_xml::escape;

use crate::catalogue::{Book, Catalogue};
use crate::employees::Employee;
use crate::service::Service;
use crate::soap::{END, SoapVersion};

/// The answer of Echo.
pub fn echo(version: SoapVersion, text: &str) -> Vec<u8> {
    let mut output = start(version, Service::Echo, text.len() + text.len() / 16);
    element("<text>", text, "</text>", &mut output);
    end(Service::Echo, output)
}

/// The answer of Echo with a text of `length` ASCII characters: words, nothing that needs escaping.
pub fn echo_of_length(version: SoapVersion, length: usize) -> Vec<u8> {
    echo(version, &text_of_length(length))
}

/// A text of `length` ASCII characters: words and spaces, nothing that needs escaping, no space at
/// its ends.
pub fn text_of_length(length: usize) -> String {
    // What Novakouski et al. let their Echo say again and again.
    const WORDS: &str = "Hello World ";
    let mut text: String = WORDS.chars().cycle().take(length).collect();
    if text.ends_with(' ') {
        text.pop();
        text.push('.');
    }
    text
}

/// The answer of EchoStringArray.
pub fn echo_string_array<S: AsRef<str>>(version: SoapVersion, items: &[S]) -> Vec<u8> {
    string_array(version, items.iter().map(S::as_ref), 32 * items.len())
}

pub(crate) fn string_array<'s>(
    version: SoapVersion,
    items: impl Iterator<Item = &'s str>,
    capacity: usize,
) -> Vec<u8> {
    let mut output = start(version, Service::EchoStringArray, capacity);
    strings("<result>", items, "</result>", &mut output);
    end(Service::EchoStringArray, output)
}

/// The answer of Sum: every sum of two 32-bit integers is a 64-bit one.
pub fn sum(version: SoapVersion, a: i32, b: i32) -> Vec<u8> {
    let mut output = start(version, Service::Sum, 64);
    let sum = (i64::from(a) + i64::from(b)).to_string();
    element("<sum>", &sum, "</sum>", &mut output);
    end(Service::Sum, output)
}

/// The answer of EmployeeDetails with `count` employees; the service sends
/// [`EMPLOYEES`](crate::EMPLOYEES) of them.
pub fn employee_details(version: SoapVersion, count: u32) -> Vec<u8> {
    let mut output = start(version, Service::Employees, 420 * count as usize);
    for employee in crate::employees::employees(count) {
        write_employee(&employee, &mut output);
    }
    end(Service::Employees, output)
}

/// The answer of EmployeeDetails with the one record of a published study: eight strings, each
/// "Hello World".
pub fn one_employee(version: SoapVersion) -> Vec<u8> {
    let mut output = start(version, Service::Employees, 420);
    write_employee(&crate::employees::greeting(), &mut output);
    end(Service::Employees, output)
}

/// The answer of getBooks with the first `count` books, from memory. There are
/// [`BOOKS`](crate::BOOKS) of them.
pub fn books(version: SoapVersion, count: u32) -> Vec<u8> {
    let mut output = start_books(version, count);
    for book in Catalogue::shared().books(count) {
        write_book(&book, &mut output);
    }
    end_books(output)
}

/// The answer of getTemperature where the sensor measures so many hundredths of a degree Celsius;
/// of a [`Device`](crate::Device) that was told nothing else, 2150.
pub fn temperature(version: SoapVersion, hundredths: i16) -> Vec<u8> {
    let mut output = start(version, Service::Temperature, 64);
    let sign = if hundredths < 0 { "-" } else { "" };
    let size = hundredths.unsigned_abs();
    let degrees = format!("{sign}{}.{:02}", size / 100, size % 100);
    element("<temperature>", &degrees, "</temperature>", &mut output);
    end(Service::Temperature, output)
}

pub(crate) fn start_books(version: SoapVersion, count: u32) -> Vec<u8> {
    /// A book's tags take 251 bytes; titles and names of usual length fit into the rest.
    const BOOK_BYTES: usize = 384;
    start(version, Service::Books, BOOK_BYTES * count as usize)
}

pub(crate) fn end_books(output: Vec<u8>) -> Vec<u8> {
    end(Service::Books, output)
}

fn start(version: SoapVersion, service: Service, capacity: usize) -> Vec<u8> {
    let mut output = version.start_body(capacity + 200);
    output.extend_from_slice(service.response().start.as_bytes());
    output
}

fn end(service: Service, mut output: Vec<u8>) -> Vec<u8> {
    output.extend_from_slice(service.response().end.as_bytes());
    output.extend_from_slice(END);
    output
}

pub(crate) fn element(start: &str, text: &str, end: &str, output: &mut Vec<u8>) {
    output.extend_from_slice(start.as_bytes());
    escape::text(text, output);
    output.extend_from_slice(end.as_bytes());
}

/// An array of strings (rpc-literal: the accessor is in no namespace, the items are in the
/// schema's).
pub(crate) fn strings<'s>(
    start: &str,
    items: impl Iterator<Item = &'s str>,
    end: &str,
    output: &mut Vec<u8>,
) {
    output.extend_from_slice(start.as_bytes());
    for item in items {
        element("<m:item>", item, "</m:item>", output);
    }
    output.extend_from_slice(end.as_bytes());
}

fn write_employee(employee: &Employee, output: &mut Vec<u8>) {
    output.extend_from_slice(b"<employee>");
    element("<name>", &employee.name, "</name>", output);
    element("<empNumber>", &employee.emp_number, "</empNumber>", output);
    element("<email>", &employee.email, "</email>", output);
    element("<position>", &employee.position, "</position>", output);
    element(
        "<dateOfBirth>",
        &employee.date_of_birth,
        "</dateOfBirth>",
        output,
    );
    element("<ssn>", &employee.ssn, "</ssn>", output);
    element(
        "<homeAddress>",
        &employee.home_address,
        "</homeAddress>",
        output,
    );
    element(
        "<phoneNumber>",
        &employee.phone_number,
        "</phoneNumber>",
        output,
    );
    output.extend_from_slice(b"</employee>");
}

pub(crate) fn write_book(book: &Book<'_>, output: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    output.extend_from_slice(b"<book><id>");
    output.extend_from_slice(digits.format(book.id).as_bytes());
    output.extend_from_slice(b"</id><isbn>");
    escape::text(book.isbn, output);
    output.extend_from_slice(b"</isbn><title>");
    escape::text(book.title, output);
    output.extend_from_slice(b"</title><price>");
    output.extend_from_slice(digits.format(book.price / 100).as_bytes());
    let cents = (book.price % 100) as u8;
    output.extend_from_slice(&[b'.', b'0' + cents / 10, b'0' + cents % 10]);
    output.extend_from_slice(b"</price><year>");
    output.extend_from_slice(digits.format(book.year).as_bytes());
    output.extend_from_slice(b"</year><author><id>");
    output.extend_from_slice(digits.format(book.author_id).as_bytes());
    output.extend_from_slice(b"</id><name>");
    escape::text(book.author, output);
    output.extend_from_slice(b"</name></author><publisher><id>");
    output.extend_from_slice(digits.format(book.publisher_id).as_bytes());
    output.extend_from_slice(b"</id><name>");
    escape::text(book.publisher, output);
    output.extend_from_slice(b"</name></publisher></book>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_is_written_with_its_text_escaped_and_two_decimals_in_its_price() {
        let mut output = Vec::new();
        write_book(
            &Book {
                id: 7,
                isbn: "9799000000017",
                title: "Salt & <Soap>",
                price: 1905,
                year: 1999,
                author_id: 3,
                author: "O'Neill",
                publisher_id: 2,
                publisher: "Oak & Sons",
            },
            &mut output,
        );
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "<book><id>7</id><isbn>9799000000017</isbn><title>Salt &amp; &lt;Soap&gt;</title><price>19.05</price>\
             <year>1999</year><author><id>3</id><name>O'Neill</name></author>\
             <publisher><id>2</id><name>Oak &amp; Sons</name></publisher></book>"
        );
    }

    #[test]
    fn the_sum_of_the_largest_integers_is_told_exactly() {
        let answer = String::from_utf8(sum(SoapVersion::Soap12, i32::MAX, i32::MAX)).unwrap();
        assert!(answer.contains("<sum>4294967294</sum>"), "{answer}");
    }

    #[test]
    fn a_temperature_below_zero_keeps_its_sign_and_both_decimals() {
        for (hundredths, written) in [
            (2_150, "21.50"),
            (-5, "-0.05"),
            (0, "0.00"),
            (i16::MIN, "-327.68"),
        ] {
            let answer = temperature(SoapVersion::Soap11, hundredths);
            let answer = String::from_utf8(answer).unwrap();
            let element = format!("<temperature>{written}</temperature>");
            assert!(answer.contains(&element), "{answer}");
        }
    }

    #[test]
    fn a_text_has_the_length_that_was_asked_for_and_no_space_at_its_ends() {
        for length in [0, 1, 6, 11, 12, 13, 1_000] {
            let text = text_of_length(length);
            assert_eq!((text.len(), text.trim().len()), (length, length));
        }
        assert_eq!(text_of_length(24), "Hello World Hello World.");
    }

    #[test]
    fn the_buffer_for_books_is_large_enough_from_the_start() {
        for count in [1, 100, 25_000] {
            let started = start_books(SoapVersion::Soap11, count).capacity();
            assert_eq!(books(SoapVersion::Soap11, count).capacity(), started);
        }
    }
}
