//! The cipher text that a message lists, read with the algorithms of the plan.

use soapstone_xml::NodeId;
use soapstone_xmlsec::enc::EncryptedData;

use super::algorithms::not_allowed;
use super::message::Message;
use crate::envelope::expanded_name;
use crate::names::XENC;
use crate::rejected::{AlgorithmUse, Rejected};

/// What the data references of one list mean.
#[derive(Default)]
pub(super) struct Listed<'l> {
    pub(super) data: Vec<EncryptedData>,
    /// References to what the document does not have, or not yet: cipher text inside of other
    /// cipher text.
    pub(super) hidden: Vec<&'l str>,
}

/// Cipher text, and which keys of the header decipher it.
pub(super) struct KeyedData {
    pub(super) data: EncryptedData,
    /// The `EncryptedKey`s that list it, or the one that it was deciphered with.
    pub(super) keys: Vec<NodeId>,
    /// Whether a list apart from the keys has it, so that its own `ds:KeyInfo` names the key.
    pub(super) names_key: bool,
}

impl Message<'_> {
    /// Looks up what data references mean.
    pub(super) fn listed<'l>(
        &self,
        uris: impl Iterator<Item = &'l str>,
    ) -> Result<Listed<'l>, Rejected> {
        let mut listed = Listed::default();
        for uri in uris {
            match self.encrypted_data(uri)? {
                Some(data) => listed.data.push(data),
                None => listed.hidden.push(uri),
            }
        }
        match listed.hidden.first() {
            // Nothing is left that could bring it to light.
            Some(uri) if listed.data.is_empty() => Err(not_found(uri)),
            _ => Ok(listed),
        }
    }

    /// Refuses a list of cipher text where the plan has none encrypted.
    pub(super) fn expect_encryption(&self, listed: &Listed<'_>) -> Result<(), Rejected> {
        match (&self.demands().encryption, listed.data.first()) {
            (None, Some(data)) => Err(Rejected::ElementUnexpected {
                element: expanded_name(self.element(data.node)),
            }),
            _ => Ok(()),
        }
    }

    /// The `EncryptedData` that a `DataReference` means, with an algorithm of the plan; `None` if
    /// the document does not have it, or not yet.
    pub(super) fn encrypted_data(&self, uri: &str) -> Result<Option<EncryptedData>, Rejected> {
        let document = self.document();
        let id = uri.strip_prefix('#').ok_or_else(|| not_found(uri))?;
        let Some(node) = document.by_id(id).map_err(|_| not_found(uri))? else {
            return Ok(None);
        };
        if !document.element(node).is(XENC, "EncryptedData") || document.element(node).is_replaced()
        {
            return Err(not_found(uri));
        }
        let data = EncryptedData::parse(document, node)?;
        let allowed = &self.demands().suite.data;
        if !allowed.contains(&data.method) {
            return Err(not_allowed(
                AlgorithmUse::Data,
                data.method.uri(),
                allowed.iter().map(|one| one.short_name()),
            ));
        }
        Ok(Some(data))
    }
}

fn not_found(uri: &str) -> Rejected {
    Rejected::CipherTextNotFound {
        reference: uri.to_owned(),
    }
}
