//! From `ds:KeyInfo` to a key, as `xmlsec1` searches.
//!
//! Names lead to the caller's keys; certificates lead to keys only when the caller's anchors vouch
//! for them; encrypted, derived and agreed keys lead to them through the caller's keys.
//!
//! The one rule: every step is bounded, and a key that is merely written in the message counts only
//! where the options say so.

use soapstone_crypto::{
    Certificate, KeyDerivation, KeyTransport, PublicKey, SecretBytes, SymmetricKey,
};
use soapstone_xml::{Element, NodeId};

use super::error::GenericError;
use super::key::{Key, Material, Need};
use super::pointer;
use super::session::Session;
use super::source::{Reading, Source};
use super::template::names_nothing;
use super::trust;
use soapstone_xmlsec::dsig::{SameDocument, Transform};
use soapstone_xmlsec::enc::{EncryptedKey, EncryptionError, KeyEncryption, OpeningKey};
use soapstone_xmlsec::keyinfo::{
    self, AgreementMethod, DerivedKey, KeyDerivationMethod, KeyInfoError, KeySource, KeyValue,
    X509Data,
};
use soapstone_xmlsec::namespaces::{DSIG, TYPE_RAW_X509};

/// Most children of one `ds:KeyInfo` or `ds:X509Data`. Certificate paths in the wild have fewer
/// than 10 members.
const CHILDREN: usize = 64;
/// Deepest chain of key information: retrieval, encrypted key, agreement. `xmlsec1` stops at one of
/// each.
const DEPTH: u8 = 5;
/// Most steps of one search, whatever branches there are.
const STEPS: u32 = 1_000;
/// Most references in the list of an `xenc:EncryptedKey`.
const REFERENCES: usize = 10_000;

/// One search for a key.
pub(super) struct Search<'s, 'r> {
    session: &'s mut Session<'r>,
    depth: u8,
    steps: u32,
    /// Whether we are the originator of key agreements, and not the recipient.
    originating: bool,
}

impl<'s, 'r> Search<'s, 'r> {
    pub(super) fn new(session: &'s mut Session<'r>) -> Self {
        Self {
            session,
            depth: 0,
            steps: 0,
            originating: false,
        }
    }

    /// A search for a key to encrypt with.
    pub(super) fn originating(session: &'s mut Session<'r>) -> Self {
        Self {
            session,
            depth: 0,
            steps: 0,
            originating: true,
        }
    }

    /// The key for a template: as [`find`](Self::find), and any suitable key where the template's
    /// `ds:KeyInfo` is still empty.
    pub(super) fn find_for_template(
        &mut self,
        reading: &Reading<'_>,
        key_info: Option<NodeId>,
        need: Need,
    ) -> Result<Key, GenericError> {
        let named =
            key_info.filter(|key_info| !names_nothing(reading.document().element(*key_info)));
        self.find(reading, named, need)
    }

    /// The key for `need` to which `key_info` leads; failing that the caller's first suitable key
    /// without a name, or with any where there is no `ds:KeyInfo` or the search is lax.
    pub(super) fn find(
        &mut self,
        reading: &Reading<'_>,
        key_info: Option<NodeId>,
        need: Need,
    ) -> Result<Key, GenericError> {
        let mut failure = None;
        if let Some(key_info) = key_info {
            match self.children(reading, reading.document().element(key_info), need) {
                Ok(Some(key)) => return Ok(key),
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        // A key without a name cannot be named by a message: whoever gave it meant it.
        let any = key_info.is_none() || self.session.options.lax_key_search;
        let mut keys = self.callers_keys();
        if let Some(key) = keys.find(|key| need.fits(key) && (any || key.name.is_none())) {
            return Ok(key.clone());
        }
        Err(failure.unwrap_or(GenericError::KeyNotFound))
    }

    /// The caller's keys that may be used.
    fn callers_keys(&self) -> impl Iterator<Item = &'r Key> + use<'r> {
        let (keys, options) = (self.session.keys, self.session.options);
        keys.keys
            .iter()
            .filter(move |key| !options.verify_keys || trust::key_is_verified(key, keys, options))
    }

    /// Tries the children of `key_info` in turn. The first failure is told only when no child leads
    /// to a key.
    fn children(
        &mut self,
        reading: &Reading<'_>,
        key_info: Element<'_>,
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        let sources = keyinfo::sources(key_info, CHILDREN)?;
        let mut failure = None;
        let mut certificates_done = false;
        for source in &sources {
            // All ds:X509Data of one ds:KeyInfo are about the same key (XML-DSig 4.5.4): they are
            // read together.
            if matches!(source, KeySource::X509Data(_))
                && std::mem::replace(&mut certificates_done, true)
            {
                continue;
            }
            match self.child(reading, source, &sources, need) {
                Ok(Some(key)) if need.fits(&key) => return Ok(Some(key)),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    fn child(
        &mut self,
        reading: &Reading<'_>,
        source: &KeySource,
        siblings: &[KeySource],
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        self.steps += 1;
        if self.steps > STEPS {
            let limit = STEPS as usize;
            return Err(KeyInfoError::TooMany {
                what: "step of a key search",
                limit,
            }
            .into());
        }
        let document = reading.document();
        let enabled = |name| {
            self.session
                .options
                .key_data
                .allows(name, self.session.options.insecure)
        };
        match source {
            KeySource::KeyName(name) if enabled("key-name") => Ok(self.named(name, need)),
            KeySource::KeyValue(node) if enabled("key-value") => {
                self.key_value(KeyValue::parse(document.element(*node))?)
            }
            KeySource::DerEncodedKeyValue(node) if enabled("der-encoded-key-value") => {
                let key = keyinfo::der_encoded_key_value(document.element(*node))?;
                Ok(Some(Key::new(None, Material::Public(key))))
            }
            KeySource::X509Data(_) if enabled("x509") => {
                let mut data = X509Data::default();
                for sibling in siblings {
                    if let KeySource::X509Data(node) = sibling {
                        data.merge(X509Data::parse(document.element(*node), CHILDREN)?);
                    }
                }
                self.x509(&data, need)
            }
            KeySource::EncryptedKey(node) if enabled("enc-key") => self
                .deeper("xenc:EncryptedKey", |search| {
                    search.encrypted_key(reading, *node, need)
                }),
            KeySource::DerivedKey(node) if enabled("derived-key") => {
                self.derived_key(document.element(*node), need)
            }
            KeySource::AgreementMethod(node) if enabled("agreement-method") => self
                .deeper("xenc:AgreementMethod", |search| {
                    search.agreed_key(reading, document.element(*node), need)
                }),
            KeySource::RetrievalMethod { node, uri, kind } if enabled("retrieval-method") => self
                .deeper("ds:RetrievalMethod", |search| {
                    search.retrieve(reading, *node, uri, kind.as_deref(), need)
                }),
            KeySource::KeyInfoReference { uri } if enabled("key-info-reference") => self
                .deeper("dsig11:KeyInfoReference", |search| {
                    search.refer(reading, uri, need)
                }),
            _ => Ok(None),
        }
    }

    fn deeper<T>(
        &mut self,
        what: &'static str,
        step: impl FnOnce(&mut Self) -> Result<T, GenericError>,
    ) -> Result<T, GenericError> {
        if self.depth == DEPTH {
            return Err(GenericError::TooDeep { what });
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    fn named(&self, name: &str, need: Need) -> Option<Key> {
        self.callers_keys()
            .find(|key| key.name.as_deref().map(str::trim) == Some(name) && need.fits(key))
            .cloned()
    }

    /// The key that is written in the message, if its kind may be used.
    fn key_value(&self, value: Option<KeyValue>) -> Result<Option<Key>, GenericError> {
        let Some(value) = value else {
            return Ok(None);
        };
        let key_data = &self.session.options.key_data;
        let allowed = match value {
            KeyValue::Rsa(_) => key_data.allows_kind("rsa"),
            KeyValue::Dsa(_) => key_data.allows_kind("dsa"),
            KeyValue::Ec(_) => key_data.allows_kind("ec") || key_data.allows_kind("ecdsa"),
        };
        Ok(allowed.then(|| Key::new(None, Material::Public(value.into_public_key()))))
    }

    /// A key of the caller's whose certificate (or public key) is named or embedded, or else a
    /// certificate that the caller's anchors vouch for.
    fn x509(&self, data: &X509Data, need: Need) -> Result<Option<Key>, GenericError> {
        let (keys, options) = (self.session.keys, self.session.options);
        let is_meant = |key: &Key| {
            let embedded = |public: &PublicKey| {
                let mut certificates = data.certificates.iter();
                certificates.any(|certificate| certificate.public_key() == public)
            };
            key.certificates.first().is_some_and(|own| data.names(own))
                || key.public_key().is_some_and(embedded)
        };
        let meant: Vec<&Key> = self
            .callers_keys()
            .filter(|key| need.fits(key) && is_meant(key))
            .collect();
        let own = meant.iter().filter_map(|key| key.certificates.first());
        let own: Vec<&Certificate> = own.collect();
        let issued_another = |key: &&&Key| {
            let certificate = key.certificates.first();
            certificate.is_some_and(|certificate| issued_one_of(certificate, &own))
        };
        if let Some(key) = meant.iter().min_by_key(issued_another) {
            return Ok(Some((*key).clone()));
        }
        let known = keys
            .untrusted
            .iter()
            .chain(&keys.trusted)
            .filter(|certificate| data.names(certificate));
        let embedded = leaves_first(data.certificates.iter().collect(), data);
        let known = leaves_first(known.collect(), data);
        let (mut failure, mut failed) = (None, Vec::new());
        for candidate in embedded.into_iter().chain(known) {
            let key = Key::from_certificate(None, candidate.clone());
            // The authority of a certificate that is not trusted is not the signer.
            if !need.fits(&key) || issued_one_of(candidate, &failed) {
                continue;
            }
            let vouched = if options.insecure {
                Ok(())
            } else {
                trust::check(
                    candidate,
                    &data.certificates,
                    &data.revocation_lists,
                    keys,
                    options,
                )
            };
            match vouched {
                Ok(()) => return Ok(Some(key)),
                Err(error) => {
                    failure = failure.or(Some(error));
                    failed.push(candidate);
                }
            }
        }
        failure.map_or(Ok(None), Err)
    }

    fn encrypted_key(
        &mut self,
        reading: &Reading<'_>,
        node: NodeId,
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        let Some(kind) = need.secret_kind() else {
            return Ok(None);
        };
        let encrypted = EncryptedKey::parse(reading.document(), node, REFERENCES)?;
        let opening = match &encrypted.method {
            KeyEncryption::Transport { .. } => Need::TransportFrom,
            KeyEncryption::Wrap(algorithm) => Need::Wrap(*algorithm),
            KeyEncryption::Data(algorithm) => Need::Data(*algorithm),
        };
        let key = self.find(reading, encrypted.key_info, opening)?;
        let opening_key = match &key.material {
            Material::Private(key) => OpeningKey::Private(key),
            Material::Secret(_, key) => OpeningKey::Secret(key),
            Material::Public(_) => return Err(EncryptionError::Failed.into()),
        };
        // `xmlsec1` encrypts longer keys than the data's algorithm takes and uses their first
        // bytes. Not with RSA 1.5, whose defence needs to know the length.
        let exact = matches!(
            encrypted.method,
            KeyEncryption::Transport {
                algorithm: KeyTransport::Rsa15,
                ..
            }
        );
        let mut secret = encrypted.open(opening_key, need.length().filter(|_| exact))?;
        if let Some(length) = need.length().filter(|length| *length != secret.len()) {
            let first = secret
                .expose()
                .get(..length)
                .ok_or(EncryptionError::Failed)?;
            secret = SymmetricKey::new(first.to_vec())?;
        }
        Ok(Some(Key::new(
            encrypted.carried_key_name.clone(),
            Material::Secret(kind, secret),
        )))
    }

    fn derived_key(&self, element: Element<'_>, need: Need) -> Result<Option<Key>, GenericError> {
        let derived = DerivedKey::parse(element)?;
        let master_need = Need::Derive(match derived.method {
            KeyDerivationMethod::ConcatKdf(_) => KeyDerivation::ConcatKdf,
            KeyDerivationMethod::Pbkdf2(..) => KeyDerivation::Pbkdf2,
            KeyDerivationMethod::Hkdf(..) => KeyDerivation::Hkdf,
        });
        let master = match &derived.master_key_name {
            Some(name) => self.named(name, master_need),
            None => None,
        };
        let master = master.or_else(|| {
            let any = self.session.options.lax_key_search || derived.master_key_name.is_none();
            self.callers_keys()
                .find(|key| master_need.fits(key) && (any || key.name.is_none()))
                .cloned()
        });
        let Some(master) = master else {
            return Err(GenericError::KeyNotFound);
        };
        let Some(secret) = master.secret() else {
            return Err(GenericError::KeyNotFound);
        };
        derive(
            &derived.method,
            &SecretBytes::copy_of(secret.expose()),
            need,
        )
    }

    fn agreed_key(
        &mut self,
        reading: &Reading<'_>,
        element: Element<'_>,
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        let agreement = AgreementMethod::parse(element)?;
        let (our_info, their_info) = match self.originating {
            false => (agreement.recipient, agreement.originator),
            true => (agreement.originator, agreement.recipient),
        };
        let ours =
            self.find_for_template(reading, our_info, Need::AgreeOurs(agreement.algorithm))?;
        let written = their_info
            .filter(|_| !self.originating)
            .and_then(|info| originator_key_value(reading, info));
        let theirs = match written {
            // The originator's key is chosen by the sender for this message; it proves nothing and
            // needs no trust.
            Some(key) => key?,
            None => {
                self.find_for_template(reading, their_info, Need::AgreeTheirs(agreement.algorithm))?
            }
        };
        let (Some(private), Some(public)) = (ours.private_key(), theirs.public_key()) else {
            return Err(GenericError::KeyNotFound);
        };
        let secret = private.agree(agreement.algorithm, public)?;
        derive(&agreement.derivation, &secret, need)
    }

    /// `ds:RetrievalMethod` (XML-DSig 4.5.3): what its transforms give is a child of a
    /// `ds:KeyInfo`, or a DER certificate.
    fn retrieve(
        &mut self,
        reading: &Reading<'_>,
        node: NodeId,
        uri: &str,
        kind: Option<&str>,
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        let options = self.session.options;
        self.session.allow(uri, options.retrieval_method_uris)?;
        let uri = pointer::without_escapes(uri, reading.source)?;
        let uri = &*uri;
        let element = reading.document().element(node);
        let transforms = match element.child(DSIG, "Transforms") {
            Some(transforms) => Transform::parse_all(transforms, options.transforms)?,
            None => Vec::new(),
        };
        if transforms.is_empty()
            && let Some(SameDocument::Element { id, .. }) = SameDocument::parse(uri)
        {
            let target = reading.source.by_id(id)?;
            return self.retrieved(reading, target, need);
        }
        let octets = reading.octets(uri, &transforms, None, self.session)?;
        if kind == Some(TYPE_RAW_X509) {
            if !options.key_data.allows("raw-x509-cert", options.insecure) {
                return Ok(None);
            }
            let mut data = X509Data::default();
            data.certificates.push(Certificate::from_der(&octets)?);
            return self.x509(&data, need);
        }
        let source = Source::load(&octets, options, &mut |_| None)?;
        let retrieved = Reading::new(&source);
        let root = source.document.root().id();
        self.retrieved(&retrieved, root, need)
    }

    /// Reads the element at the end of a retrieval as a child of a `ds:KeyInfo`, or as one.
    fn retrieved(
        &mut self,
        reading: &Reading<'_>,
        node: NodeId,
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        let element = reading.document().element(node);
        if element.is(DSIG, "KeyInfo") {
            return self.children(reading, element, need);
        }
        match keyinfo::source(element)? {
            KeySource::Other(_) => {
                let options = self.session.options;
                if options.key_data.allows("key-value", options.insecure) {
                    return self.key_value(KeyValue::read(element)?);
                }
                Ok(None)
            }
            source => self.child(reading, &source, std::slice::from_ref(&source), need),
        }
    }

    /// `dsig11:KeyInfoReference` (XML-DSig 4.5.10): another `ds:KeyInfo`, not by way of transforms.
    fn refer(
        &mut self,
        reading: &Reading<'_>,
        uri: &str,
        need: Need,
    ) -> Result<Option<Key>, GenericError> {
        self.session
            .allow(uri, self.session.options.key_info_reference_uris)?;
        let uri = pointer::without_escapes(uri, reading.source)?;
        let uri = &*uri;
        let Some(SameDocument::Element { id, .. }) = SameDocument::parse(uri) else {
            return Err(GenericError::UriNotEnabled {
                uri: uri.to_owned(),
            });
        };
        let element = reading.document().element(reading.source.by_id(id)?);
        if !element.is(DSIG, "KeyInfo") {
            return Ok(None);
        }
        self.children(reading, element, need)
    }
}

fn derive(
    method: &KeyDerivationMethod,
    secret: &SecretBytes,
    need: Need,
) -> Result<Option<Key>, GenericError> {
    let Some(kind) = need.secret_kind() else {
        return Ok(None);
    };
    let length = need
        .length()
        .or(method.length())
        .ok_or(KeyInfoError::Malformed {
            element: "KeyLength",
            reason: "neither the derivation nor the algorithm says how long the key is",
        })?;
    let key = SymmetricKey::from_secret(method.derive(secret, length)?)?;
    Ok(Some(Key::new(None, Material::Secret(kind, key))))
}

/// The public key in the `ds:KeyValue` or `dsig11:DEREncodedKeyValue` of an
/// `xenc:OriginatorKeyInfo`.
fn originator_key_value(
    reading: &Reading<'_>,
    originator: NodeId,
) -> Option<Result<Key, GenericError>> {
    let element = reading.document().element(originator);
    let read = keyinfo::sources(element, CHILDREN)
        .ok()?
        .into_iter()
        .find_map(|source| match source {
            KeySource::KeyValue(node) => Some(
                KeyValue::parse(reading.document().element(node))
                    .map(|value| value.map(KeyValue::into_public_key)),
            ),
            KeySource::DerEncodedKeyValue(node) => {
                Some(keyinfo::der_encoded_key_value(reading.document().element(node)).map(Some))
            }
            _ => None,
        })?;
    match read {
        Ok(key) => key.map(|key| Ok(Key::new(None, Material::Public(key)))),
        Err(error) => Some(Err(error.into())),
    }
}

/// Certificates in the order in which they are tried: those that the element names first, then
/// those that issued no other one of them, then the rest. The order in which they were given
/// decides between equals only.
fn leaves_first<'c>(
    mut certificates: Vec<&'c Certificate>,
    data: &X509Data,
) -> Vec<&'c Certificate> {
    let all = certificates.clone();
    certificates.sort_by_key(|certificate| {
        (
            !(data.has_names() && data.names(certificate)),
            issued_one_of(certificate, &all),
        )
    });
    certificates
}

/// Whether another one of these certificates names this one as its issuer.
fn issued_one_of(certificate: &Certificate, others: &[&Certificate]) -> bool {
    others.iter().any(|other| {
        *other != certificate
            && other.issuer() == certificate.subject()
            && other.issuer() != other.subject()
    })
}
