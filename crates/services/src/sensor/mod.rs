//! A sensor's controller and how it is read: what `getTemperature` stands on.
//!
//! A device too small for XML answers short datagrams on a local network, and the service turns its
//! numbers into messages: the three tiers of the studies by Shopov and Kakanakov. The protocol is
//! of the kind of their CNDEP (Controller Network Data Extracting Protocol): request and answer
//! over UDP, each a few bytes between two delimiters. It is not CNDEP itself, which has no
//! sequence numbers. [`Controller`] plays the device, with a delay and a loss of its own. The rule
//! kept here: what comes over UDP may come late, twice, from a stranger or never, and neither side
//! waits for ever, believes it, or sends more than it was sent.

mod controller;
mod datagram;
mod location;
mod reading;

pub use controller::{Controller, Device};
pub use location::ControllerLocation;
pub use reading::Patience;

pub(crate) use reading::{ReadError, Sensor};

/// The number of the sensor that the service reads, and of the only one that [`Controller`] has.
pub(crate) const SENSOR: u16 = 1;
