//! What is granted and what is asked for when a conversation begins: from the endpoint's file, and
//! from what its policy demands.

use soapstone_trust::{ClientRules, ServiceRules, TrustVersion};
use soapstone_wss::{ConversationVersion, Keys, WrappedKeyUse};

use super::exchange_policy::TokenDemands;
use crate::config::ConversationsConfig;

/// The rules of both sides. `bits` are those that the secret of a context must have, where messages
/// use it as a key.
pub(super) fn token_rules(
    config: Option<&ConversationsConfig>,
    version: ConversationVersion,
    demands: TokenDemands,
    bits: Option<u32>,
    keys: &Keys,
) -> (ServiceRules, ClientRules) {
    let (mut service, mut client) = (ServiceRules::default(), ClientRules::default());
    client.version = TrustVersion::from(version);
    service.versions = vec![client.version];
    if let Some(config) = config {
        if let Some(lifetime) = &config.lifetime {
            service.lifetime = lifetime.value;
            service.longest_lifetime = lifetime.value;
            client.lifetime = Some(lifetime.value);
        }
        service.anonymous = config.anonymous;
        service.owner_alone = config.owner_alone;
        service.renewal_by_key_alone = config
            .renewal_by_key_alone
            .as_ref()
            .map(|limit| limit.value);
        service.scopes.clone_from(&config.applies_to);
        if let Some(first) = config.computed_keys.first() {
            service.computed_keys.clone_from(&config.computed_keys);
            client.computed_key = *first;
        }
    }
    let wanted = config.and_then(|config| config.key_size.as_ref());
    if let Some(bits) = bits.or(wanted.map(|wanted| wanted.value)) {
        service.key_size = bits;
        client.key_size = bits;
    }
    service.operations = demands.operations;
    service.issuer_key_alone = !demands.client_entropy;
    service.applies_to_required = demands.applies_to;
    let key = keys.unwrapping(WrappedKeyUse::Secret).next();
    let key = key.map(|identity| identity.key().clone());
    service.decryption_key.clone_from(&key);
    client.decryption_key = key;
    (service, client)
}

#[cfg(test)]
mod tests {
    use soapstone_testkit::keys::{P256, RSA, identity};

    use super::*;

    /// What either side encrypts by itself comes by RSA-OAEP, whichever key of ours comes first.
    #[test]
    fn secrets_are_opened_with_a_key_of_rsa() {
        let (curve, rsa) = (identity("CN=curve", P256), identity("CN=rsa", RSA));
        for (decryption, expected) in [
            (vec![&curve, &rsa], Some(RSA)),
            (vec![&rsa, &curve], Some(RSA)),
            (vec![&curve], None),
        ] {
            let keys = Keys {
                decryption: decryption.into_iter().cloned().collect(),
                ..Keys::default()
            };
            let version = ConversationVersion::V13;
            let (service, client) =
                token_rules(None, version, TokenDemands::default(), None, &keys);
            for found in [service.decryption_key, client.decryption_key] {
                assert_eq!(found.map(|key| key.kind()), expected);
            }
        }
    }
}
