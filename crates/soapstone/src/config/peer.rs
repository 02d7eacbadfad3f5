//! `peer`: whom messages are encrypted to.
//!
//! The one rule: it says a certificate, and nothing of trust.

use super::document::LoadedFile;
use super::problem::Place;
use super::table::Table;

/// `[peer]`.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Where the table begins.
    pub place: Place,
    /// Whom to encrypt to.
    pub certificate: LoadedFile,
}

pub(super) fn read_peer(mut table: Table<'_>) -> Option<PeerConfig> {
    let place = table.place();
    if !table.has("certificate") {
        table.missing(
            "certificate",
            "name a PEM file with the certificate to encrypt to",
        );
    }
    let certificate = table.file("certificate");
    table.finish();
    Some(PeerConfig {
        place,
        certificate: certificate?,
    })
}
