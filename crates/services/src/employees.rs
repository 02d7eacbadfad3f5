//! The employees: records of eight strings each, generated, the same on every machine.
//!
//! They look personal so that there is something worth encrypting, and belong to nobody: the one
//! rule is that every number and address is from a range that is never given out.

use crate::words::{FAMILY_NAMES, GIVEN_NAMES, Random, pair};

/// How many employees `EmployeeDetails` returns.
pub const EMPLOYEES: u32 = 25;

const SEED: u64 = 0x0050_A950_7E00_0002;

/// One employee. All fields are strings, as the published studies had them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Employee {
    /// Given and family name.
    pub name: String,
    /// Number in the company, `E` and six digits.
    pub emp_number: String,
    /// Address in the reserved domain example.com (RFC 2606).
    pub email: String,
    /// What the employee does.
    pub position: String,
    /// Date in ISO 8601 form.
    pub date_of_birth: String,
    /// A United States social security number with area 000, which is never issued.
    pub ssn: String,
    /// Street, number, town.
    pub home_address: String,
    /// A number in 555-0100 to 555-0199, reserved for fiction.
    pub phone_number: String,
}

/// The first `count` employees. There is no last one: the lab asks for as many as it needs.
pub fn employees(count: u32) -> impl Iterator<Item = Employee> {
    const POSITIONS: &[&str] = &[
        "Accountant",
        "Analyst",
        "Buyer",
        "Designer",
        "Engineer",
        "Head of Research & Development",
        "Lawyer",
        "Librarian",
        "Nurse",
        "Operator",
        "Physicist",
        "Secretary",
        "Technician",
        "Translator",
    ];
    const STREETS: &[&str] = &[
        "Bridge Street",
        "Castle Lane",
        "Church Road",
        "Garden Walk",
        "Harbour Quay",
        "High Street",
        "King's Road",
        "Market Square",
        "Mill Lane",
        "Station Road",
    ];
    const TOWNS: &[&str] = &[
        "Ashford",
        "Bexley",
        "Dunmore",
        "Elmswell",
        "Fairfield",
        "Kirkby",
        "Marlow",
        "Norwick",
        "Oakham",
        "Wexcombe",
    ];
    let mut random = Random::seeded(SEED);
    (0..count).map(move |index| {
        let (given, family) = pair(index as usize, GIVEN_NAMES, FAMILY_NAMES);
        Employee {
            name: format!("{given} {family}"),
            emp_number: format!("E{:06}", 100_000 + index),
            email: format!("employee{}@example.com", index + 1),
            position: random.pick(POSITIONS).to_owned(),
            date_of_birth: format!(
                "{}-{:02}-{:02}",
                1960 + random.below(45),
                1 + random.below(12),
                1 + random.below(28)
            ),
            ssn: format!(
                "000-{:02}-{:04}",
                1 + random.below(99),
                random.below(10_000)
            ),
            home_address: format!(
                "{} {}, {}",
                1 + random.below(180),
                random.pick(STREETS),
                random.pick(TOWNS)
            ),
            phone_number: format!("+1-202-555-01{:02}", random.below(100)),
        }
    })
}

/// The one employee of a published study: eight strings, each "Hello World", so that the record
/// differs from an echo in its structure and hardly in its size (CMU/SEI-2010-TR-023, appendix E).
pub fn greeting() -> Employee {
    let text = || "Hello World".to_owned();
    Employee {
        name: text(),
        emp_number: text(),
        email: text(),
        position: text(),
        date_of_birth: text(),
        ssn: text(),
        home_address: text(),
        phone_number: text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn employees_are_the_same_whenever_they_are_generated() {
        assert!(employees(EMPLOYEES).eq(employees(EMPLOYEES)));
        assert_eq!(employees(EMPLOYEES).count(), EMPLOYEES as usize);
    }

    #[test]
    fn no_employee_has_a_number_that_somebody_could_have() {
        for employee in employees(200) {
            assert!(employee.ssn.starts_with("000-"), "{}", employee.ssn);
            assert!(employee.phone_number.starts_with("+1-202-555-01"));
            assert!(employee.email.ends_with("@example.com"));
        }
    }
}
