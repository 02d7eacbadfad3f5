//! Certificates whose key usage speaks against what an endpoint does with them.
//!
//! The one rule: nothing is refused for it here. Peers may refuse such messages, so the operator
//! has to know.

use soapstone_crypto::{Certificate, KeyUsage};
use soapstone_wss::{KeyBinding, Keys, OutboundPlan, Policy};

use super::compiler::Compiler;
use super::plans::{Directions, Plans};
use super::remark::Remark;

/// The stable name of the warning.
const NAME: &str = "key-usage";

impl Compiler<'_> {
    /// Remarks on our certificate where it signs and may not, and on that of the peer where keys
    /// are encrypted to it and may not be.
    pub(super) fn remark_on_key_usage<P: Directions>(
        &mut self,
        keys: &Keys,
        plans: &[Option<Plans<P>>],
    ) {
        let outbound = || {
            let plans = plans.iter().flatten().filter_map(Plans::outbound);
            plans.map(OutboundPlan::policy)
        };
        let identity = keys
            .identity
            .as_ref()
            .map(|identity| identity.certificate());
        if let Some(config) = &self.config.identity
            && outbound().any(signs_by_certificate)
            && let Some((subject, found)) = usage_without(identity, KeyUsage::may_sign)
        {
            self.remarks.push(Remark {
                name: NAME,
                place: config.place,
                message: format!(
                    "messages are signed with the key of `{subject}`, whose key usage is {found}: peers may refuse them"
                ),
                hint: "take a certificate with `digitalSignature`; one for encryption alone is for identity = { …, decryption = { … } }",
            });
        }
        if let Some(config) = &self.config.peer
            && outbound().any(encrypts_to_certificate)
            && let Some((subject, found)) = usage_without(keys.peer.as_ref(), KeyUsage::may_encrypt)
        {
            self.remarks.push(Remark {
                name: NAME,
                place: config.place,
                message: format!(
                    "messages are encrypted to the key of `{subject}`, whose key usage is {found}: the peer may refuse them"
                ),
                hint: "name the peer's certificate for encryption, with `keyEncipherment` or `keyAgreement`",
            });
        }
    }
}

/// The subject and the usages of a certificate that names some, and not what is done with it.
fn usage_without(
    certificate: Option<&Certificate>,
    may: impl Fn(KeyUsage) -> bool,
) -> Option<(String, String)> {
    let certificate = certificate?;
    let usage = certificate.key_usage().filter(|usage| !may(*usage))?;
    Some((certificate.subject().to_owned(), usage.names()))
}

fn signs_by_certificate(policy: &Policy) -> bool {
    let signature = policy.signature();
    signature.is_some_and(|signature| signature.key == KeyBinding::Certificate)
}

fn encrypts_to_certificate(policy: &Policy) -> bool {
    let encryption = policy.encryption();
    encryption.is_some_and(|encryption| {
        matches!(
            encryption.key,
            KeyBinding::Certificate | KeyBinding::SessionKey
        )
    })
}
