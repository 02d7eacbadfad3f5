//! The employees as JSON: what a service without SOAP gives for the same records.
//!
//! For those who compare: `GET /employees` with `Accept: application/json`. The rule kept here:
//! names and values are those of the contract.

use crate::employees::employees;

/// Its media type.
pub(crate) const MEDIA_TYPE: &str = "application/json";

/// The first `count` employees, an array of objects of eight strings each; the service sends
/// [`EMPLOYEES`](crate::EMPLOYEES) of them.
pub fn employee_details(count: u32) -> Vec<u8> {
    /// Names and values of an employee fit into it.
    const EMPLOYEE_BYTES: usize = 320;
    let mut output = Vec::with_capacity(EMPLOYEE_BYTES * count as usize + 2);
    output.push(b'[');
    for (index, employee) in employees(count).enumerate() {
        let fields = [
            ("name", &employee.name),
            ("empNumber", &employee.emp_number),
            ("email", &employee.email),
            ("position", &employee.position),
            ("dateOfBirth", &employee.date_of_birth),
            ("ssn", &employee.ssn),
            ("homeAddress", &employee.home_address),
            ("phoneNumber", &employee.phone_number),
        ];
        for (place, (name, value)) in fields.into_iter().enumerate() {
            let before: &[u8] = match (index, place) {
                (0, 0) => b"{",
                (_, 0) => b",{",
                _ => b",",
            };
            output.extend_from_slice(before);
            string(name, &mut output);
            output.push(b':');
            string(value, &mut output);
        }
        output.push(b'}');
    }
    output.push(b']');
    output
}

/// RFC 8259, 7.
fn string(text: &str, output: &mut Vec<u8>) {
    output.push(b'"');
    for character in text.chars() {
        match character {
            '"' | '\\' => output.extend_from_slice(&[b'\\', character as u8]),
            '\0'..='\x1F' => {
                output.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
            }
            _ => output.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    output.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_control_characters_are_escaped_and_others_stay() {
        let mut output = Vec::new();
        string("a\"b\\c\u{1}\nd\u{2602}", &mut output);
        let expected = "\"a\\\"b\\\\c\\u0001\\u000ad\u{2602}\"";
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }

    #[test]
    fn an_array_has_an_object_for_each_employee() {
        let two = String::from_utf8(employee_details(2)).unwrap();
        assert!(
            two.starts_with("[{\"name\":\"") && two.ends_with("\"}]"),
            "{two}"
        );
        assert_eq!(two.matches("\"},{\"").count(), 1);
        assert_eq!(two.matches("\":\"").count(), 16);
        assert_eq!(employee_details(0), b"[]");
    }
}
