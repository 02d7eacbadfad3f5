//! From a reference in the message to a key of ours or a trusted certificate.
//!
//! The one rule: a certificate that is in the message is worth nothing until the trust store says
//! so.

use soapstone_crypto::Certificate;
use soapstone_xml::NodeId;

use super::message::Message;
use crate::key_locator::KeyLocator;
use crate::rejected::Rejected;
use crate::token::{self, unreadable};

/// A certificate with what the message says leads from it to an anchor.
pub(super) struct Chain {
    pub(super) certificate: Certificate,
    pub(super) intermediates: Vec<Certificate>,
    /// The token that carried it, if it is a child of the `wsse:Security` header.
    pub(super) token: Option<NodeId>,
    /// Whether the reference itself holds the certificate.
    pub(super) inside: bool,
}

impl Message<'_> {
    /// Finds the certificate that a locator means. Nothing is proven about it yet.
    pub(super) fn certificate(&self, locator: &KeyLocator) -> Result<Chain, Rejected> {
        let chain = |certificate| Chain {
            certificate,
            intermediates: Vec::new(),
            token: None,
            inside: false,
        };
        let inside = |certificate| Chain {
            inside: true,
            ..chain(certificate)
        };
        match locator {
            KeyLocator::Token(id) => {
                let node = self.token_by_id(id)?;
                let inner = self.certificate(&token::certificate(self.element(node))?)?;
                Ok(Chain {
                    token: Some(node),
                    inside: false,
                    ..inner
                })
            }
            KeyLocator::Certificate(der) => match self
                .known_certificates()
                .find(|known| known.der() == der.as_slice())
            {
                Some(known) => Ok(inside(known.clone())),
                None => self.read_certificate(der).map(inside),
            },
            KeyLocator::Path(der) => {
                let path = Certificate::from_pki_path(der).map_err(|error| unreadable(&error))?;
                let mut path = path.into_iter();
                let certificate = path.next().ok_or_else(|| Rejected::KeyNotFound {
                    reference: "an empty certification path".to_owned(),
                })?;
                Ok(Chain {
                    intermediates: path.collect(),
                    ..inside(certificate)
                })
            }
            _ => self
                .known_certificates()
                .find(|known| locator.names(known))
                .cloned()
                .map(chain)
                .ok_or_else(|| Rejected::KeyNotFound {
                    reference: locator.to_string(),
                }),
        }
    }

    fn read_certificate(&self, der: &[u8]) -> Result<Certificate, Rejected> {
        match &self.plan.keys.trust {
            Some(trust) => trust.read(der),
            None => Certificate::from_der(der),
        }
        .map_err(|error| unreadable(&error))
    }
}
