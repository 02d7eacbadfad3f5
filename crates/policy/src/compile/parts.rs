//! Parts and elements of a policy as parts of messages.

use soapstone_wss::{ElementPath, EncryptedPart, Extent, Part};

use crate::requirements::{ElementsDemand, HeaderDemand, PartsDemand, Requirements};

/// Header blocks of the message, but the ones that secure it; the prefix is the namespace that is asked for.
const ALL_HEADERS: &str = "/*[local-name()='Envelope']/*[local-name()='Header']/*[not(local-name()='Security' and \
     namespace-uri()='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd')]";
const HEADERS_OF_NAMESPACE: &str =
    "/*[local-name()='Envelope']/*[local-name()='Header']/namespace:*";

impl Requirements {
    /// What the message's signature covers because of `sp:SignedParts` and `sp:SignedElements`.
    pub(super) fn signed(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for demand in &self.signed_parts {
            add_signed(demand, &mut parts);
        }
        add_elements(&self.signed_elements, &mut parts);
        parts
    }

    /// What is encrypted because of `sp:EncryptedParts`, `sp:EncryptedElements` and `sp:ContentEncryptedElements`.
    pub(super) fn encrypted(&self) -> Vec<EncryptedPart> {
        let mut whole = Vec::new();
        let mut encrypted = Vec::new();
        for demand in &self.encrypted_parts {
            // WS-SecurityPolicy 1.3, 4.2.1: nothing named means the Body.
            if demand.body || demand.everything {
                whole.push(Part::Body);
            }
            whole.extend(demand.headers.iter().filter_map(header));
        }
        add_elements(&self.encrypted_elements, &mut whole);
        let mut content = Vec::new();
        add_elements(&self.content_encrypted_elements, &mut content);
        let content = content.into_iter().map(|part| EncryptedPart {
            part,
            extent: Extent::Content,
        });
        for part in whole
            .into_iter()
            .map(EncryptedPart::customary)
            .chain(content)
        {
            if !encrypted.contains(&part) {
                encrypted.push(part);
            }
        }
        encrypted
    }

    /// What must be in the message.
    pub(super) fn required(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for demand in &self.required_parts {
            if demand.body {
                add(Part::Body, &mut parts);
            }
            for part in demand.headers.iter().filter_map(header) {
                add(part, &mut parts);
            }
        }
        add_elements(&self.required_elements, &mut parts);
        parts
    }
}

/// WS-SecurityPolicy 1.3, 4.1.1.
pub(super) fn add_signed(demand: &PartsDemand, parts: &mut Vec<Part>) {
    if demand.everything {
        let all = ElementPath::parse(ALL_HEADERS, |_| None);
        parts.extend(all.ok().map(Part::Path));
    }
    if demand.body || demand.everything {
        add(Part::Body, parts);
    }
    for part in demand.headers.iter().filter_map(header) {
        add(part, parts);
    }
}

pub(super) fn add_elements(demands: &[ElementsDemand], parts: &mut Vec<Part>) {
    for path in demands.iter().flat_map(|demand| &demand.paths) {
        add(Part::Path(path.path.clone()), parts);
    }
}

pub(super) fn add(part: Part, parts: &mut Vec<Part>) {
    if !parts.contains(&part) {
        parts.push(part);
    }
}

fn header(demand: &HeaderDemand) -> Option<Part> {
    let namespace = demand.namespace.clone();
    match &demand.local {
        Some(local) => Some(Part::Header {
            namespace,
            local: local.clone(),
        }),
        None => ElementPath::parse(HEADERS_OF_NAMESPACE, |_| Some(namespace.clone()))
            .ok()
            .map(Part::Path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_for_header_blocks_are_paths() {
        assert!(ElementPath::parse(ALL_HEADERS, |_| None).is_ok());
        let demand = HeaderDemand {
            local: None,
            namespace: "urn:a".to_owned(),
        };
        assert!(matches!(header(&demand), Some(Part::Path(_))));
    }
}
