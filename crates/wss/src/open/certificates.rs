//! From a reference in the message to a key of ours or a trusted certificate.
//!
//! The one rule: a certificate that is in the message is worth nothing until the trust store says
//! so.

use soapstone_crypto::Certificate;
use soapstone_xml::NodeId;

use super::message::Message;
use crate::key_locator::KeyLocator;
use crate::rejected::Rejected;
use crate::token::{self, TokenKind, unreadable};

/// A certificate with what the message says leads from it to an anchor.
pub(super) struct Chain {
    pub(super) certificate: Certificate,
    pub(super) intermediates: Vec<Certificate>,
    /// The token that carried it, if it is a child of the `wsse:Security` header.
    pub(super) token: Option<NodeId>,
    /// Whether the reference itself holds the certificate.
    pub(super) inside: bool,
    /// Whether the token was found by a name that its certificate has, and by no reference to it.
    pub(super) by_name: bool,
}

fn ambiguous(locator: &KeyLocator) -> Rejected {
    Rejected::KeyAmbiguous {
        reference: locator.to_string(),
    }
}

impl Message<'_> {
    /// Finds the certificate that a locator means. Nothing is proven about it yet.
    pub(super) fn certificate(&self, locator: &KeyLocator) -> Result<Chain, Rejected> {
        let chain = |certificate| Chain {
            certificate,
            intermediates: Vec::new(),
            token: None,
            inside: false,
            by_name: false,
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
            KeyLocator::All(names) if locator.is_carried() => self.agreeing(locator, names),
            _ => {
                let known = self.known(locator)?.cloned().map(chain);
                let carried = self.carried(locator)?;
                carried.or(known).ok_or_else(|| Rejected::KeyNotFound {
                    reference: locator.to_string(),
                })
            }
        }
    }

    /// The certificate that this side knows under a name. A key may have several, since
    /// certificates are renewed: one that is valid now goes before one that is not, unless
    /// nobody asks for that. Where the text of an issuer means two names, it means none.
    fn known(&self, locator: &KeyLocator) -> Result<Option<&Certificate>, Rejected> {
        let is_named = |known: &&Certificate| locator.names(known);
        let mut named = self.known_certificates().filter(is_named);
        let Some(first) = named.next() else {
            return Ok(None);
        };
        if matches!(locator, KeyLocator::IssuerSerial { .. }) {
            let mut all = self.known_certificates().filter(is_named);
            if all.any(|other| !other.issuer_name().matches(first.issuer_name())) {
                return Err(ambiguous(locator));
            }
        }
        let trust = self.plan.keys.trust.as_ref();
        let is_valid = |known: &Certificate| {
            trust.is_some_and(|trust| trust.rules().ignore_validity)
                || (known.not_before()..=known.not_after()).contains(&self.now)
        };
        if is_valid(first) {
            return Ok(Some(first));
        }
        let is_its = |known: &&Certificate| known.public_key() == first.public_key();
        let mut others = named.filter(is_its);
        Ok(others.find(|known| is_valid(known)).or(Some(first)))
    }

    /// The certificate that one of several names holds. The others have to mean the same
    /// certificate: a receiver that follows another one of them would find another key.
    fn agreeing(&self, all: &KeyLocator, names: &[KeyLocator]) -> Result<Chain, Rejected> {
        let mut found: Option<Chain> = None;
        for name in names.iter().filter(|name| name.is_carried()) {
            let chain = self.certificate(name)?;
            match &found {
                Some(first) if first.certificate.der() != chain.certificate.der() => {
                    return Err(ambiguous(all));
                }
                Some(_) => {}
                None => found = Some(chain),
            }
        }
        let chain = found.ok_or_else(|| ambiguous(all))?;
        let mut others = names.iter().filter(|name| !name.is_carried());
        match others.all(|name| name.names(&chain.certificate)) {
            true => Ok(chain),
            false => Err(ambiguous(all)),
        }
    }

    /// The token of the header whose certificate has a name, wherever in the header the token is
    /// (SOAP Message Security 1.1.1, 7.3). The name of two keys, of tokens or of certificates that
    /// this side knows, means none: anybody can put a token into a header.
    fn carried(&self, locator: &KeyLocator) -> Result<Option<Chain>, Rejected> {
        let mut found: Option<Chain> = None;
        for chain in self.tokens_named(locator) {
            match &found {
                Some(first) if first.certificate.der() != chain.certificate.der() => {
                    return Err(ambiguous(locator));
                }
                Some(_) => {}
                None => found = Some(chain),
            }
        }
        if let Some(chain) = &found {
            let key = chain.certificate.public_key();
            let mut known = self.known_certificates();
            if known.any(|known| locator.names(known) && known.public_key() != key) {
                return Err(ambiguous(locator));
            }
        }
        Ok(found)
    }

    /// The tokens of the header whose certificates have a name. What cannot be read is none.
    pub(super) fn tokens_named<'m>(
        &'m self,
        locator: &'m KeyLocator,
    ) -> impl Iterator<Item = Chain> + 'm {
        let security = self.security.map(|security| self.element(security));
        let items = security
            .into_iter()
            .flat_map(|security| security.children());
        items.filter_map(move |item| {
            TokenKind::of(item)?;
            let inner = token::certificate(item).ok()?;
            let chain = match &inner {
                KeyLocator::Certificate(_) | KeyLocator::Path(_) => {
                    self.certificate(&inner).ok()?
                }
                _ => return None,
            };
            locator.names(&chain.certificate).then_some(Chain {
                token: Some(item.id()),
                inside: false,
                by_name: true,
                ..chain
            })
        })
    }

    fn read_certificate(&self, der: &[u8]) -> Result<Certificate, Rejected> {
        match &self.plan.keys.trust {
            Some(trust) => trust.read(der),
            None => Certificate::from_der(der),
        }
        .map_err(|error| unreadable(&error))
    }
}
