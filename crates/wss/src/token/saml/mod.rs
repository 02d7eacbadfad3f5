//! SAML assertions of versions 1.1 and 2.0 (SAML Token Profile 1.1.1): read, and their issuers
//! believed or not.
//!
//! ```text
//! element ─ Assertion::read ─▶ conditions ─▶ issuer and signature ─▶ AssertionEvidence
//!                                             confirmed when the message is compared
//! ```
//!
//! An assertion gives the key of its subject's holder, and proves the subject only together with
//! the message that it is in. The one rule: everything about an assertion is read from the element
//! that its issuer's signature covers.

mod assertion;
mod conditions;
mod confirming;
mod demands;
mod fetched;
mod hidden;
mod holding;
mod id_card;
mod issued;
pub(super) mod issuer;
mod outgoing;
mod policy;
mod reading;
mod reference;
mod said;
mod standing_alone;
mod statements;
mod subject;
mod version;

use soapstone_xml::Element;

pub use self::assertion::Assertion;
pub(crate) use self::confirming::{Presentation, PresentedSignature};
pub use self::fetched::FetchedAssertion;
pub(crate) use self::hidden::{HiddenAssertion, holds_key};
pub use self::issued::{IssuedAssertion, WantedAssertion, WantedHolder};
pub use self::issuer::AssertionIssuer;
pub use self::outgoing::AssertionToken;
pub use self::policy::{
    AssertionPolicy, AssertionProtection, ConfirmationPart, HolderUse, IGNORED_CONFIRMATION,
};
use self::reading::required;
pub(crate) use self::reference::SOAP_BINDING;
pub use self::reference::{AssertionReference, IdDigest};
pub use self::said::{AssertionAttribute, NameIdentifier, TRANSIENT_NAMES};
pub(crate) use self::subject::HolderKey;
pub use self::version::{ConfirmationMethod, SamlVersion};
use super::kind::{Claim, GivenKey, Kind, Proving};
use crate::envelope::expanded_name;
use crate::evidence::AssertionEvidence;
use crate::key_locator::KeyLocator;
use crate::known_certificate::KnownCertificate;
use crate::marks;
use crate::names::{SAML11, SAML11_ID, SAML20, SAML20_ID};
use crate::operation::Operation;
use crate::rejected::Rejected;
use crate::supporting::SupportingToken;

/// The kind.
pub(super) static KIND: Kind = Kind {
    local: ELEMENT,
    namespaces: &[SAML20, SAML11],
    single: Some("`saml:Assertion`"),
    has_type: |token, claimed| {
        let version = SamlVersion::from_namespace(token.namespace());
        version.is_some_and(|version| {
            [version.token_type(), version.identifier_type()].contains(&claimed)
        })
    },
    texts: &[
        (SAML20_ID, |id| named(SamlVersion::V20, id)),
        (SAML11_ID, |id| named(SamlVersion::V11, id)),
    ],
    key: GivenKey::Holder(locate),
    prove: Some(prove),
    is_used_by: |policy| policy.assertion().is_some(),
    wrong_demands: demands::wrong_demands,
    claims,
    ..Kind::named("SAML assertion")
};

const ELEMENT: &str = "Assertion";

/// The version of an element that is an assertion.
pub(crate) fn version_of(element: Element<'_>) -> Option<SamlVersion> {
    let version = SamlVersion::from_namespace(element.namespace());
    version.filter(|_| element.local() == ELEMENT)
}

fn named(version: SamlVersion, id: String) -> KeyLocator {
    KeyLocator::Assertion { version, id }
}

/// The key of a holder is named by the assertion that has it.
fn locate(element: Element<'_>) -> Result<KeyLocator, Rejected> {
    let version = version_of(element).ok_or_else(|| Rejected::TokenUnsupported {
        found: expanded_name(element),
    })?;
    let id = match id_card::id_of(element) {
        Some(id) => id,
        None => required(element, version.id_attribute())?,
    };
    Ok(named(version, id.into_owned()))
}

/// Judges an assertion by itself: what it says of its use, and its issuer. Whether the message is
/// of its subject is for the comparison to say.
fn prove(element: Element<'_>, with: &mut Proving<'_>) -> Result<(), Rejected> {
    let mut demanded = with.demanded.iter();
    let Some(policy) = demanded.find_map(SupportingToken::assertion) else {
        return Err(Rejected::ElementUnexpected {
            element: expanded_name(element),
        });
    };
    if with.evidence.assertion.is_some() {
        return Err(Rejected::TooMany {
            what: "`saml:Assertion`",
            limit: 1,
        });
    }
    with.observer.ended(Operation::Other);
    let mut assertion = Assertion::read(element)?;
    if !policy.versions.contains(&assertion.version) {
        return Err(Rejected::TokenUnsupported {
            found: format!("an assertion of SAML {}", assertion.version.name()),
        });
    }
    assertion.check_kind(policy)?;
    assertion.check_conditions(policy, with.now)?;
    let document = element.document();
    let judged = assertion.check_issuer(document, with.issuers, policy, with.now)?;
    for name in judged.weak {
        if let Some(since) = (with.retired)(name) {
            return Err(Rejected::AlgorithmRetired {
                algorithm: name,
                since,
            });
        }
        if !with.evidence.weak.contains(&name) {
            with.evidence.weak.push(name);
        }
    }
    with.observer.ended(Operation::Assertion);
    if let Some((key, until, end)) = assertion.use_mark(policy) {
        with.marks.extend(marks::ending((until, end), [key]));
    }
    let signer = judged.signer;
    let signed_by = signer
        .as_ref()
        .map(|(signer, root)| KnownCertificate::new(signer, *root));
    assertion.signer = signer.map(|(signer, _)| signer);
    with.evidence.assertion = Some(AssertionEvidence {
        ends: assertion.end(policy),
        node: with.token,
        elsewhere: None,
        assertion,
        signed_by,
        confirmed: None,
        held_by_connection: false,
    });
    Ok(())
}

fn claims(element: Element<'_>) -> Result<Vec<Claim>, Rejected> {
    let assertion = Assertion::read(element)?;
    let methods = assertion.confirmations.iter();
    let methods = methods.map(|one| Claim::new("confirmation", one.method.name()));
    let known = [
        Claim::new("version", assertion.version.name()),
        Claim::new("id", assertion.id.clone()),
        Claim::new("issuer", assertion.issuer.clone()),
        Claim::new("subject", assertion.subject.value.clone()),
    ];
    Ok(known.into_iter().chain(methods).collect())
}
