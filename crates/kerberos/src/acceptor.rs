//! The side of a service: tokens of clients, accepted with a keytab.
//!
//! The one rule: what a token says in the clear is compared with the rules first, and what the
//! library says of it afterwards.

use std::path::PathBuf;
use std::time::SystemTime;

use soapstone_crypto::SecretBytes;

use crate::ap_request::{ApRequest, Framing, framed};
use crate::enctype::Enctype;
use crate::error::KerberosError;
use crate::gss::{self, Usage};
use crate::principal::Principal;

/// Whom a service accepts, and as what.
#[derive(Clone, Debug)]
pub struct AcceptorRules {
    /// The file with the service's keys.
    pub keytab: PathBuf,
    /// The service.
    pub principal: Principal,
    /// The encryption types of tickets, authenticators and session keys.
    pub enctypes: Vec<Enctype>,
    /// The realms of clients.
    pub realms: Vec<String>,
    /// The clients; all of the realms, where there are none.
    pub clients: Vec<Principal>,
}

impl AcceptorRules {
    /// A service that accepts the clients of its own realm.
    pub fn new(keytab: impl Into<PathBuf>, principal: Principal) -> Self {
        Self {
            keytab: keytab.into(),
            realms: vec![principal.realm().to_owned()],
            principal,
            enctypes: Enctype::STRONG.to_vec(),
            clients: Vec::new(),
        }
    }
}

/// A service that accepts tokens.
#[derive(Debug)]
pub struct Acceptor {
    rules: AcceptorRules,
    keytab: String,
}

/// A token that was accepted.
#[derive(Debug)]
pub struct Accepted {
    /// Who made it.
    pub client: Principal,
    /// The session key of both sides.
    pub key: SecretBytes,
    /// The type of that key.
    pub enctype: Enctype,
    /// When the ticket ends: the library accepts it beyond that, by as much as clocks may differ.
    pub ends: SystemTime,
    /// The cipher text of the authenticator: the same in every form of one token.
    pub authenticator: Vec<u8>,
}

impl Acceptor {
    /// A service with these rules. The keytab is read when a token comes.
    ///
    /// # Errors
    /// [`KerberosError::Name`]: the path of the keytab is no text.
    pub fn new(rules: AcceptorRules) -> Result<Self, KerberosError> {
        let keytab = file_name(&rules.keytab)?;
        Ok(Self { rules, keytab })
    }

    /// The rules.
    pub const fn rules(&self) -> &AcceptorRules {
        &self.rules
    }

    /// Accepts a token. It blocks for as long as it takes to read files; nobody is asked over a
    /// network.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn accept(&self, token: &[u8], framing: Framing) -> Result<Accepted, KerberosError> {
        let request = ApRequest::parse(token, framing)?;
        self.check(&request)?;
        let gss = framed(request.raw);
        let usage = Usage::Accept {
            keytab: &self.keytab,
        };
        let established = gss::accept(&self.rules.principal, &usage, &gss)?;
        if established.mutual {
            return Err(KerberosError::Mutual);
        }
        self.check_enctype("the session key", established.enctype)?;
        let client = established.peer.unwrap_or_default();
        let client = Principal::parse(&client)?;
        self.check_client(&client)?;
        Ok(Accepted {
            client,
            key: established.key,
            enctype: established.enctype,
            ends: established.ends,
            authenticator: request.authenticator_cipher.to_vec(),
        })
    }

    /// Whether the rules accept a client, by the name that [`Accepted::client`] has.
    pub fn accepts_client(&self, client: &str) -> bool {
        Principal::parse(client).is_ok_and(|client| self.check_client(&client).is_ok())
    }

    /// Compares what stands in the clear with the rules.
    fn check(&self, request: &ApRequest<'_>) -> Result<(), KerberosError> {
        let own = &self.rules.principal;
        if request.realm != own.realm() {
            return Err(KerberosError::WrongRealm {
                expected: own.realm().to_owned(),
                found: request.realm.clone(),
            });
        }
        if request.service != own.name() {
            return Err(KerberosError::WrongService {
                expected: own.name().to_owned(),
                found: request.service.clone(),
            });
        }
        self.check_enctype("the ticket", request.ticket)?;
        self.check_enctype("the authenticator", request.authenticator)?;
        match request.mutual {
            true => Err(KerberosError::Mutual),
            false => Ok(()),
        }
    }

    fn check_enctype(&self, what: &'static str, found: Enctype) -> Result<(), KerberosError> {
        match self.rules.enctypes.contains(&found) {
            true => Ok(()),
            false => Err(KerberosError::Enctype { what, found }),
        }
    }

    fn check_client(&self, client: &Principal) -> Result<(), KerberosError> {
        let named = client.to_string();
        if !self
            .rules
            .realms
            .iter()
            .any(|realm| realm == client.realm())
        {
            return Err(KerberosError::ClientRealm { client: named });
        }
        let clients = &self.rules.clients;
        match clients.is_empty() || clients.contains(client) {
            true => Ok(()),
            false => Err(KerberosError::Client { client: named }),
        }
    }
}

/// The name of a file as the library takes it.
pub(crate) fn file_name(path: &std::path::Path) -> Result<String, KerberosError> {
    let text = path.to_str().ok_or(KerberosError::Name {
        problem: "expected a path in UTF-8",
    })?;
    Ok(format!("FILE:{text}"))
}
