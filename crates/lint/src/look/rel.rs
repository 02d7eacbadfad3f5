//! Licences of the Rights Expression Language (REL Token Profile 1.1).

use std::collections::HashMap;

use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::message::{Message, Target, Token};
use crate::names::{DS, REL_LICENSE, WSU};

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    let mut first_uses: HashMap<NodeId, Element<'_>> = HashMap::new();
    for reference in &message.references {
        if reference.token != Some(Token::Rel) {
            continue;
        }
        if let Some(licence) = reference.inside() {
            first_uses.entry(licence.id()).or_insert(reference.element);
        }
        let Some(direct) = reference.direct else {
            continue;
        };
        let value = direct.attribute("", "ValueType");
        if value.as_deref() != Some(REL_LICENSE) {
            let found = quoted(value.as_deref());
            findings.add("R6304", direct, quoted(Some(REL_LICENSE)), found);
        }
        let uri = direct.attribute("", "URI");
        let licence = uri.as_deref().and_then(|uri| message.licence(uri));
        if licence.is_some_and(|licence| licence.attribute(WSU, "Id").is_some()) {
            let expected = "# and the wsu:Id of the licence";
            findings.add("R6301", direct, expected, quoted(uri.as_deref()));
        }
    }
    if first_uses.is_empty() {
        return;
    }
    for signature in &message.signatures {
        let signed = signature.child(DS, "SignedInfo").into_iter();
        for reference in signed.flat_map(|signed| signed.children()) {
            let uri = reference.attribute("", "URI");
            let Target::Inside(licence) = message.target(uri.as_deref()) else {
                continue;
            };
            let used = first_uses.get(&licence.id());
            // A signature's own key may be the licence's.
            let early = used.is_some_and(|used| {
                used.range().start < signature.range().start && !signature.contains(*used)
            });
            if early {
                let expected = "the signature of a licence in front of references to it";
                findings.add("R6302", *signature, expected, "a reference in front of it");
            }
        }
    }
}
