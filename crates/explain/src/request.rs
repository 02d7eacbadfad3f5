//! An answer held against its request: confirmed signatures, `wsa:RelatesTo`.

use std::collections::BTreeSet;

use soapstone_wss::names::{DS, WSSE11};
use soapstone_xml::{Buffers, Document, Element};

use crate::model::{Explanation, Finding, Severity};
use crate::options::Options;

pub(crate) fn tell(answer: &Document, options: &Options<'_>, told: &mut Explanation) {
    let Some(request) = options.request else {
        return;
    };
    let mut add = |severity, kind, says: String| {
        told.findings
            .push(Finding::new(severity, kind, "the answer", says));
    };
    let parsed = Document::parse(request.to_vec(), &options.parsing(), &mut Buffers::new());
    let request = match parsed {
        Ok(request) => request,
        Err(error) => {
            add(
                Severity::Warning,
                "request-unreadable",
                format!("the request cannot be read: {error}"),
            );
            return;
        }
    };
    let joined = |text: &str| text.split_ascii_whitespace().collect::<String>();
    let values: BTreeSet<String> = request
        .elements_named(DS, "SignatureValue")
        .map(|value| joined(&value.text()))
        .collect();
    let confirmations: Vec<Option<String>> = answer
        .elements_named(WSSE11, "SignatureConfirmation")
        .filter(Element::is_live)
        .map(|one| one.attribute("", "Value").map(|value| joined(&value)))
        .collect();
    for confirmed in confirmations.iter().flatten() {
        if !values.contains(confirmed) {
            add(
                Severity::Error,
                "confirmation-mismatch",
                "it confirms a signature that the request does not have: it answers another request, or the signature of the request was still encrypted".to_owned(),
            );
        }
    }
    if !confirmations.is_empty() {
        let confirmed: BTreeSet<&String> = confirmations.iter().flatten().collect();
        let missing = values
            .iter()
            .filter(|value| !confirmed.contains(value))
            .count();
        if missing > 0 {
            add(
                Severity::Error,
                "confirmation-missing",
                format!(
                    "{missing} of {} signatures of the request are not confirmed",
                    values.len()
                ),
            );
        }
    }
    let identifier = addressing(&request, "MessageID");
    let relates = addressing(answer, "RelatesTo");
    if let (Some(identifier), Some(relates)) = (identifier, relates)
        && identifier != relates
    {
        add(
            Severity::Error,
            "answer-to-another-request",
            format!(
                "wsa:RelatesTo is `{relates}`, and the wsa:MessageID of the request is `{identifier}`"
            ),
        );
    }
}

/// The text of a header of WS-Addressing.
fn addressing(document: &Document, local: &str) -> Option<String> {
    let root = document.root();
    let header = root.child(root.namespace(), "Header")?;
    let mut blocks = header.children();
    let found =
        blocks.find(|block| block.local() == local && block.namespace().contains("addressing"))?;
    Some(found.text().trim().to_owned())
}
