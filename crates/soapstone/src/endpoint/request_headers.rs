//! Which addressing headers requests get that leave without any, and which they must have.
//!
//! The rule kept here: a header that the file or the policy wants is written, or securing fails; it
//! is never left out in silence.

use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_wss::{Part, Policy, SecureError};

use super::addressing_parts::signed_versions;
use super::compiler::Compiler;
use super::exchange_policy::{EndpointPolicies, Exchange};
use super::role::Role;
use crate::config::{ADDRESSING_VERSIONS, Located, SecuritySource};

/// How the addressing headers of requests are written.
#[derive(Clone, Debug)]
pub(super) struct RequestHeaders {
    to: Option<String>,
    /// The address in the description, for who knows of no other.
    described: Option<String>,
    action: Option<String>,
    message_id: bool,
    reply_to: Option<String>,
    from: Option<String>,
    version: AddressingVersion,
}

impl Default for RequestHeaders {
    fn default() -> Self {
        let version = AddressingVersion::V10;
        Self {
            to: None,
            described: None,
            action: None,
            message_id: true,
            reply_to: Some(version.anonymous().to_owned()),
            from: None,
            version,
        }
    }
}

impl RequestHeaders {
    /// The headers of a request that asks for `action`, if the file says no other. `requested` is
    /// where it goes, as far as that is known.
    ///
    /// # Errors
    /// Nothing says where it goes, or what it asks for.
    pub(super) fn of(
        &self,
        action: Option<String>,
        requested: Option<&str>,
    ) -> Result<Addressing, SecureError> {
        let to = self.to.as_deref().or(requested);
        let to = to.or(self.described.as_deref());
        let to = to.ok_or(SecureError::DestinationUnknown)?;
        let action = self.action.clone().or(action);
        let action = action.ok_or(SecureError::ActionUnknown)?;
        let mut headers = Addressing::request(self.version, action, to.to_owned());
        if !self.message_id {
            headers.message_id = None;
        }
        headers.reply_to.clone_from(&self.reply_to);
        headers.from.clone_from(&self.from);
        Ok(headers)
    }

    /// The version of WS-Addressing in which requests are written.
    pub(super) fn version(&self) -> AddressingVersion {
        self.version
    }
}

impl Compiler<'_> {
    /// How the file and the description have addressing headers written. What makes no sense of it
    /// is reported.
    pub(super) fn request_headers(
        &mut self,
        role: Role,
        version: AddressingVersion,
        described: Option<String>,
    ) -> RequestHeaders {
        let mut headers = RequestHeaders {
            described,
            reply_to: Some(version.anonymous().to_owned()),
            version,
            ..RequestHeaders::default()
        };
        let config = self.config;
        let Some(given) = &config.security.addressing else {
            return headers;
        };
        if role == Role::Service
            && let Some((key, place)) = given.of_requests_that_leave()
        {
            self.report_with_hint(
                place,
                format!("`{key}` is of requests that leave, and this endpoint opens them"),
                "leave it out, or let it stand with the endpoint of the client: [routes.outbound]",
            );
        }
        if role == Role::Client && given.to.len() > 1 {
            self.report_with_hint(
                given.place,
                "`to` names several addresses, and a request is for one",
                "name the address of the service alone",
            );
        }
        if let Some(to) = given.to.first() {
            headers.to = Some(to.clone());
        }
        if given.action.as_deref() == Some("") {
            self.report_with_hint(
                given.place,
                "`action` must be an action, found an empty text",
                "name the action of every request, or leave it out",
            );
        }
        headers.action.clone_from(&given.action);
        headers.message_id = given.message_id.as_ref().is_none_or(|given| given.value);
        headers.reply_to = match given.reply_to.as_ref().map(|given| given.value.as_str()) {
            None | Some("anonymous") => Some(headers.version.anonymous().to_owned()),
            Some("absent") => None,
            Some(address) => Some(address.to_owned()),
        };
        headers.from = given.from.as_ref().map(|given| match given.value.as_str() {
            "anonymous" => headers.version.anonymous().to_owned(),
            address => address.to_owned(),
        });
        headers
    }

    /// The version of the addressing headers of requests: what the file says, or else the version
    /// whose headers the policy has signed, or else that of its assertion.
    ///
    /// Headers of another version than the signed ones would leave without a signature, which is
    /// reported.
    pub(super) fn addressing_version(
        &mut self,
        agreed: &EndpointPolicies,
        role: Role,
    ) -> AddressingVersion {
        let given = self.config.security.addressing.as_ref();
        let written = given.and_then(|given| given.version);
        let bootstrap = agreed.bootstrap.as_ref();
        // Requests for contexts have addressing headers in any case.
        let bootstrap = bootstrap.map(|bootstrap| (&bootstrap.request, None));
        let exchanges = agreed.exchanges.iter();
        let labelled = exchanges
            .filter(|exchange| exchange.addressing)
            .map(|exchange| (&exchange.request, exchange.asserted_addressing));
        let labelled: Vec<(Vec<AddressingVersion>, Option<AddressingVersion>)> = labelled
            .chain(bootstrap)
            .map(|(request, asserted)| (signed_versions(request), asserted))
            .collect();
        let signed = labelled.iter().flat_map(|(signed, _)| signed).copied();
        let asserted = labelled.iter().filter_map(|(_, asserted)| *asserted);
        let version = written.or_else(|| only(signed)).or_else(|| only(asserted));
        let version = version.unwrap_or(AddressingVersion::V10);
        let leave = matches!(role, Role::Client | Role::Secure);
        if !leave || !matches!(self.config.security.source.value, SecuritySource::Policy(_)) {
            return version;
        }
        let place = given.filter(|_| written.is_some()).map(|given| given.place);
        let place = place.unwrap_or(self.config.security.source.place);
        for (signed, asserted) in labelled {
            let Some(first) = signed.first() else {
                continue;
            };
            let meant = match (written, asserted) {
                (None, Some(asserted)) => asserted,
                _ => version,
            };
            let mut unsigned = [meant, version].into_iter();
            let Some(unsigned) = unsigned.find(|one| !signed.contains(one)) else {
                continue;
            };
            let said = match written {
                Some(_) => "`version` has",
                None if asserted == Some(unsigned) => "the policy asks for",
                None => "all requests have",
            };
            let (meant, first) = (name_of(unsigned), name_of(*first));
            self.report_with_hint(
                place,
                format!(
                    "{said} addressing headers of WS-Addressing {meant}, and the policy signs those of {first}: \
                     requests would show headers that nothing signs"
                ),
                format!("write those that are signed: addressing = {{ version = \"{first}\" }}"),
            );
            break;
        }
        version
    }

    /// The header blocks that requests must have when they are secured: those of addressing that
    /// the file names to be signed or encrypted, and those that a policy requires.
    pub(super) fn demand_headers_of_requests(&self, exchange: &mut Exchange, role: Role) {
        if !matches!(role, Role::Client | Role::Secure) {
            return;
        }
        let security = &self.config.security;
        let mut named: Vec<&Part> = Vec::new();
        if let SecuritySource::Mechanism(_) = security.source.value {
            let writes_from = security
                .addressing
                .as_ref()
                .is_some_and(|it| it.from.is_some());
            // What a profile says stands where it is named. It lists every header that a request
            // can have, and `wsa:From` is optional (1.0 Core, 3.2).
            let is_optional = |part: &Located<Part>| {
                part.place == security.source.place && is_from(&part.value) && !writes_from
            };
            let signed = security.signed.iter().flatten();
            let signed = signed.filter(|part| !is_optional(part));
            let signed = signed.map(|part| &part.value);
            let encrypted = security.encrypted.iter().flatten();
            named.extend(signed.chain(encrypted.map(|wanted| &wanted.value.part)));
            named.retain(|part| is_of_requests(part));
        }
        let request: &mut Policy = &mut exchange.request;
        let required = request.parts.required.iter();
        let required = required.filter(|part| matches!(part, Part::Header { .. }));
        let sent: Vec<Part> = named.into_iter().chain(required).cloned().collect();
        request.parts.sent = sent;
    }
}

/// The version that all of these are.
fn only(mut versions: impl Iterator<Item = AddressingVersion>) -> Option<AddressingVersion> {
    let first = versions.next()?;
    versions.all(|other| other == first).then_some(first)
}

/// What the file calls a version.
fn name_of(version: AddressingVersion) -> &'static str {
    let mut names = ADDRESSING_VERSIONS.iter();
    let known = names.find(|(_, named)| *named == version);
    known.map_or("", |(name, _)| *name)
}

/// Whether a part is `wsa:From`.
fn is_from(part: &Part) -> bool {
    matches!(part, Part::Header { namespace, local }
        if local == "From" && AddressingVersion::from_namespace(namespace).is_some())
}

/// Whether a part is an addressing header that requests have: `RelatesTo` is of answers.
fn is_of_requests(part: &Part) -> bool {
    matches!(part, Part::Header { namespace, local }
        if local != "RelatesTo" && AddressingVersion::from_namespace(namespace).is_some())
}
