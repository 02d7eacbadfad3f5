//! Which keys and users the two endpoints have, and what for.

use soapstone::wss::Mechanism;

use super::foreign::{Foreign, Source};

/// What the files need to have, whether a mechanism or a policy says so.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Uses {
    /// Requests are signed with the client's private key.
    pub(super) client_signs: bool,
    /// Answers are signed with the service's private key.
    pub(super) service_signs: bool,
    /// Requests are encrypted to the service's certificate.
    pub(super) service_decrypts: bool,
    /// Answers are encrypted to the client's certificate.
    pub(super) client_decrypts: bool,
    /// Requests do not show the certificate that answers are encrypted to.
    pub(super) answers_unknown: bool,
    /// Requests name the certificate that signs them, and do not show it.
    pub(super) requests_named: bool,
    /// Answers name the certificate that signs them, and do not show it.
    pub(super) answers_named: bool,
    /// Nothing shows who begins a conversation.
    pub(super) anonymous: bool,
    /// Requests name a user with a password.
    pub(super) users: bool,
    /// The connection to the service is TLS.
    pub(super) tls: bool,
    /// The client shows a certificate while that connection is made.
    pub(super) tls_client: bool,
    /// Messages belong to conversations.
    pub(super) converses: bool,
    /// Short cipher text is refused whose key is not signed.
    pub(super) binds_keys: bool,
    /// A token that neither side makes.
    pub(super) foreign: Option<Foreign>,
}

impl Uses {
    /// Those of a mechanism.
    pub(super) fn of(mechanism: Mechanism) -> Self {
        let (signs, encrypts) = (mechanism.signs(), mechanism.encrypts());
        let users = mechanism == Mechanism::Username;
        Self {
            client_signs: signs,
            service_signs: signs,
            service_decrypts: encrypts,
            client_decrypts: encrypts,
            answers_unknown: encrypts && !signs,
            requests_named: false,
            answers_named: false,
            anonymous: false,
            users,
            tls: users,
            tls_client: false,
            converses: mechanism == Mechanism::SecureConversation,
            // Both sides are ours, which agree on it.
            binds_keys: false,
            foreign: None,
        }
    }

    /// Where the client has its assertion from, if it has one.
    pub(super) fn source(self) -> Option<Source> {
        self.foreign?.source(self.converses)
    }

    /// Whether there is a key of the client.
    pub(super) fn client_key(self) -> bool {
        let converses = self.converses;
        let by_token = self
            .foreign
            .is_some_and(|it| it.takes_client_key(converses));
        self.client_signs || self.client_decrypts || self.tls_client || by_token
    }
}
