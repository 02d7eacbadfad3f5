//! The session key of an `EncryptedKey` that was wrapped with a key agreed on (XML-Enc 1.1 section
//! 5.6).
//!
//! The one rule: what the plan's suite does not list is refused before a key is touched; what the
//! sender's public key is, and whether the agreement and the unwrapping go well, shows nowhere.
//! That key proves nobody: anybody who has our certificate can make one.

use soapstone_crypto::{KeyWrap, PublicKey};
use soapstone_xml::{Document, Element};
use soapstone_xmlsec::enc::EncryptedKey;
use soapstone_xmlsec::keyinfo::{AgreementMethod, KeyDerivationMethod, KeyInfoError};

use super::algorithms::not_allowed;
use crate::names::{XENC, XENC11};
use crate::rejected::{AlgorithmUse, Rejected};
use crate::suite::{KeyAgreementMethod, Suite};

const ELEMENT: &str = "xenc:AgreementMethod";

fn malformed(problem: impl ToString) -> Rejected {
    Rejected::Malformed {
        element: ELEMENT,
        problem: problem.to_string(),
    }
}

/// An agreement that the suite lists.
pub(super) struct Agreement {
    pub(super) method: AgreementMethod,
    /// The sender's public key; `None` where what stands there is no key, which shows nowhere.
    pub(super) originator: Option<PublicKey>,
    pub(super) listed: KeyAgreementMethod,
}

/// The `xenc:AgreementMethod` in the `ds:KeyInfo` of a wrapped key, alone.
fn method(key_info: Element<'_>) -> Result<Element<'_>, Rejected> {
    let mut children = key_info.children();
    match (children.next(), children.next()) {
        (Some(child), None) if child.is(XENC, "AgreementMethod") => Ok(child),
        _ => Err(malformed("expected one and nothing else in `ds:KeyInfo`")),
    }
}

/// Reads the agreement, and refuses what the suite does not list.
pub(super) fn agreement(
    document: &Document,
    suite: &Suite,
    wrapped: &EncryptedKey,
    wrap: KeyWrap,
) -> Result<Agreement, Rejected> {
    let allowed = &suite.key_agreement;
    let key_info = wrapped
        .key_info
        .map(|info| document.element(info))
        .ok_or_else(|| malformed("expected one in `ds:KeyInfo`, found no `ds:KeyInfo`"))?;
    let element = method(key_info)?;
    let algorithm = algorithm(element)?;
    let by_algorithm = |one: &&KeyAgreementMethod| one.algorithm.uri() == algorithm;
    let fitting: Vec<_> = allowed.iter().filter(by_algorithm).collect();
    if fitting.is_empty() {
        let names = allowed.iter().map(|one| one.algorithm.short_name());
        return Err(not_allowed(AlgorithmUse::KeyAgreement, &algorithm, names));
    }
    // Its name first: the parameters of a derivation that is not allowed are not looked at.
    let derivation = element
        .child(XENC11, "KeyDerivationMethod")
        .ok_or_else(|| malformed("expected a `xenc11:KeyDerivationMethod`"))
        .and_then(self::algorithm)?;
    let names = || fitting.iter().map(|one| one.derivation.short_name());
    if !fitting.iter().any(|one| one.derivation.uri() == derivation) {
        return Err(not_allowed(
            AlgorithmUse::KeyDerivation,
            &derivation,
            names(),
        ));
    }
    let parsed = AgreementMethod::parse(element).map_err(|error| match error {
        KeyInfoError::UnknownAlgorithm { uri, .. } => {
            not_allowed(AlgorithmUse::KeyDerivation, &uri, names())
        }
        other => malformed(other),
    })?;
    let fitting = fitting
        .into_iter()
        .filter(|one| one.derives(&parsed.derivation));
    let mut fitting = fitting.peekable();
    if fitting.peek().is_none() {
        let described = format!("{derivation} with {}", described(&parsed.derivation));
        let names = allowed.iter().map(|one| one.digest.short_name());
        return Err(not_allowed(AlgorithmUse::KeyDerivation, &described, names));
    }
    let names: Vec<_> = fitting.clone().map(|one| one.wrap.short_name()).collect();
    let found = fitting
        .find(|one| one.wrap == wrap)
        .ok_or_else(|| not_allowed(AlgorithmUse::KeyWrap, wrap.uri(), names.into_iter()))?;
    if parsed
        .derivation
        .length()
        .is_some_and(|length| length != wrap.key_length())
    {
        return Err(malformed(format!(
            "expected a `KeyLength` of {}, as {wrap} takes it",
            wrap.key_length()
        )));
    }
    let originator = parsed.originator_key(element).map_err(malformed)?;
    Ok(Agreement {
        method: parsed,
        originator,
        listed: *found,
    })
}

/// The `Algorithm` of a method.
fn algorithm(method: Element<'_>) -> Result<String, Rejected> {
    method
        .attribute("", "Algorithm")
        .map(|algorithm| algorithm.into_owned())
        .ok_or_else(|| malformed(format!("expected an `Algorithm` of `{}`", method.local())))
}

/// The digest or the HMAC that a derivation names.
fn described(derivation: &KeyDerivationMethod) -> String {
    match derivation {
        KeyDerivationMethod::ConcatKdf(parameters) => parameters.digest.to_string(),
        KeyDerivationMethod::Pbkdf2(parameters, _) => parameters.prf.to_string(),
        KeyDerivationMethod::Hkdf(parameters, _) => parameters.prf.to_string(),
    }
}
