//! The keys, certificates and secrets of the folder, and what stands in for those of others.
//!
//! The rule kept here: whatever proves somebody is readable for its owner alone.

use std::path::Path;

use soapstone::crypto::{Identity, KeyKind, SecretBytes, base64};

use super::assertion;
use super::foreign::{ASSERTION, Foreign, ISSUER, KEYTAB, Source};
use super::template::PASSWORD;
use super::{BITS, Plan, reachable};
use crate::commands::keys::convert::write_pair;
use crate::commands::keys::new::{AUTHORITY_DAYS, Order};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// Bytes of a password that nobody has to remember.
const PASSWORD_OCTETS: usize = 24;

/// Writes keys, certificates and the password; the assertion that the request to try brings.
pub(super) fn write(folder: &Path, plan: &Plan) -> Result<Option<String>, Failure> {
    let order = |subject, kind, alternative_names, days| Order {
        subject,
        kind,
        alternative_names,
        authority: false,
        not_before: None,
        days,
    };
    let write = |name: &str, identity: &Identity| {
        write_pair(&folder.join(name), identity, None, Existing::Keep)
    };
    let days = plan.days.max(AUTHORITY_DAYS);
    let authority = Order {
        authority: true,
        ..order("CN=Example CA", KeyKind::Rsa { bits: BITS }, &[], days)
    };
    let authority = authority.make(None)?;
    write("ca", &authority)?;
    // Whoever turns on TLS finds a certificate for it.
    let mut hosts = ["localhost", "127.0.0.1", "::1"]
        .map(str::to_owned)
        .to_vec();
    let listen = reachable(plan.listen).ip().to_string();
    if !hosts.contains(&listen) {
        hosts.push(listen);
    }
    let issue = |name: &str, subject, kind, hosts| -> Result<Identity, Failure> {
        let identity = order(subject, kind, hosts, plan.days).make(Some(&authority))?;
        write(name, &identity)?;
        Ok(identity)
    };
    issue("service", "CN=service", plan.first_key(), &hosts)?;
    let client = match plan.uses.client_key() {
        true => Some(issue("client", "CN=client", plan.first_key(), &[])?),
        false => None,
    };
    if let Some(kind) = plan.second_key() {
        issue("service-reads", "CN=service", kind, &[])?;
        issue("client-reads", "CN=client", kind, &[])?;
    }
    let write_secret = |name: &str, bytes: &[u8]| {
        files::create(&folder.join(name), bytes, Privacy::Secret, Existing::Keep)
    };
    let mut brought = None;
    match plan.uses.foreign {
        None => {}
        Some(foreign @ Foreign::Assertion { .. }) => {
            let issuer = issue(ISSUER, "CN=issuer", KeyKind::Rsa { bits: BITS }, &[])?;
            let source = plan.uses.source();
            let shown = foreign
                .shown()
                .filter(|_| source != Some(Source::TokenService));
            if let Some((shown, version)) = shown {
                let made = assertion::stand_in(issuer, client.as_ref(), shown, version)?;
                if source == Some(Source::File) {
                    write_secret(ASSERTION, made.as_bytes())?;
                } else {
                    brought = Some(made);
                }
            }
        }
        Some(Foreign::Ticket(_)) => write_secret(KEYTAB, b"")?,
    }
    if plan.uses.users {
        let mut password = Vec::new();
        base64::encode_into(SecretBytes::random(PASSWORD_OCTETS).expose(), &mut password);
        password.push(b'\n');
        let password = SecretBytes::new(password);
        write_secret(PASSWORD, password.expose())?;
    }
    Ok(brought)
}
