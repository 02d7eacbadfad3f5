//! Which versions of WS-Addressing the parts of a policy speak of: `sp:Header` has a namespace, and
//! a path may select the headers of several.
//!
//! The one rule: a path is asked with a message that has the headers; its text tells nothing.

use soapstone_trust::addressing::AddressingVersion;
use soapstone_wss::{Envelope, Part, Policy, SoapVersion};
use soapstone_xml::{Buffers, Limits};

/// The addressing headers of requests.
const OF_REQUESTS: [&str; 6] = ["To", "Action", "MessageID", "ReplyTo", "FaultTo", "From"];

/// Whether a part is one of these headers of a version, or a path that selects one of them.
pub(super) fn selects(part: &Part, version: AddressingVersion, locals: &[&str]) -> bool {
    match part {
        Part::Header { namespace, local } => {
            namespace == version.namespace() && locals.contains(&local.as_str())
        }
        Part::Path(path) => {
            let versions = [SoapVersion::V11, SoapVersion::V12];
            versions.iter().any(|soap| {
                let Some(sample) = sample(*soap, version, locals) else {
                    return false;
                };
                let selected = path.select(sample.document());
                let mut blocks = sample.header().into_iter().flat_map(|it| it.children());
                blocks.any(|block| selected.contains(&block.id()))
            })
        }
        _ => false,
    }
}

/// The versions whose headers of requests a policy has signed; none where the connection protects
/// them.
pub(super) fn signed_versions(request: &Policy) -> Vec<AddressingVersion> {
    if request.is_by_connection() {
        return Vec::new();
    }
    let parts = request.signed_parts();
    let is_signed = |version: &AddressingVersion| {
        let mut parts = parts.iter();
        parts.any(|part| selects(part, *version, &OF_REQUESTS))
    };
    AddressingVersion::ALL
        .into_iter()
        .filter(is_signed)
        .collect()
}

/// A message that has these headers.
fn sample(soap: SoapVersion, version: AddressingVersion, locals: &[&str]) -> Option<Envelope> {
    let blocks: String = locals
        .iter()
        .map(|local| format!("<a:{local}>urn:a</a:{local}>"))
        .collect();
    let text = format!(
        "<s:Envelope xmlns:s=\"{}\"><s:Header xmlns:a=\"{}\">{blocks}</s:Header><s:Body/></s:Envelope>",
        soap.namespace(),
        version.namespace()
    );
    Envelope::parse(
        text.into_bytes(),
        &Limits::default(),
        &mut Buffers::default(),
    )
    .ok()
}
