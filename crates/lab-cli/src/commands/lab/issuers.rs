//! Who issues the tokens of calls: a KDC, which is started where one is installed. The token
//! service for SAML assertions is ours, a route of the gateway before the services. So is the
//! authority of assertions that requests name: a process beside the gateways.
//!
//! The rule kept here: a token that nobody issues, or that is refused, takes only its own arms out
//! of a run, and why is told.

use std::fs::File;

use soapstone::config::EndpointConfig;
use soapstone::endpoint::Client;
use soapstone_lab::study::{Call, NoCall};

use crate::failure::Failure;
use crate::testbed::{Place, Realm, Scratch, kerberos_endpoint};

/// The issuers of a run.
pub(super) struct Issuers {
    /// A realm of Kerberos, or why there is none.
    realm: Result<Realm, String>,
}

impl Issuers {
    /// Starts those that the calls need.
    pub(super) fn start(scratch: &Scratch, calls: &[Call]) -> Self {
        let realm = match calls.iter().any(|call| call.setup.proof.is_kerberos()) {
            true => Realm::start(scratch).and_then(|realm| {
                library(scratch)?;
                Ok(realm)
            }),
            false => Err("no KDC was started".to_owned()),
        };
        Self { realm }
    }

    /// Whether there are tokens for a call.
    ///
    /// # Errors
    /// Its arm is left out, and why.
    pub(super) fn issue_for(&self, call: &Call) -> Result<(), NoCall<Failure>> {
        match &self.realm {
            Err(why) if call.setup.proof.is_kerberos() => Err(NoCall::LeftOut(why.clone())),
            _ => Ok(()),
        }
    }

    /// Where gateways find them: processes of their own, in the realm if there is one.
    pub(super) fn place<'l>(&'l self, log: Option<&'l File>) -> Place<'l> {
        match &self.realm {
            Ok(realm) => Place::InRealm(realm, log),
            Err(_) => Place::Apart(log),
        }
    }
}

/// Whether Kerberos tokens can be made here: the library of GSS is there, and this build knows it.
fn library(scratch: &Scratch) -> Result<(), String> {
    let file = scratch.folder().join("kerberos.toml");
    let compiled = || {
        let config = EndpointConfig::from_text(&kerberos_endpoint(), &file, &|_| None)?;
        Client::from_config(&config)?;
        Ok(())
    };
    compiled().map_err(|failure: Failure| failure.to_string())
}
