//! What a client is told of faults that arrive without the security that was asked for.
//!
//! The rule kept here: of an unproven message nothing is repeated but a name, unless the operator
//! chose to have more of it repeated; and it is said to be unproven.

use soapstone::config::UnsecuredFaults;
use soapstone::endpoint::UnsecuredFault;

/// What the client is told.
pub(crate) fn explanation(fault: &UnsecuredFault, told: UnsecuredFaults) -> String {
    let mut text =
        "The service behind this gateway refused the message with an unsecured fault".to_owned();
    let reason = Some(&fault.reason).filter(|reason| {
        told != UnsecuredFaults::Code && fault.plain.is_some() && !reason.is_empty()
    });
    for more in fault.code.iter().chain(reason) {
        text.push_str(": ");
        text.push_str(more);
    }
    text
}
