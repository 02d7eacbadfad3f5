//! The assertion of a message in cipher text of its own, for the peer alone.
//!
//! The one rule: the assertion is enciphered when every signature over it is made, and as it is.

use soapstone_crypto::SymmetricKey;
use soapstone_xml::Buffers;
use soapstone_xmlsec::enc::ContentType;
use soapstone_xmlsec::write::{self, EncryptedDataStart};

use super::edits::{Cipher, Replacement};
use super::message::Addressee;
use super::ready_keys::Session;
use super::securing::Securing;
use super::shown::name_of;
use super::text::put;
use crate::binding::KeyReference;
use crate::key_locator::KeyLocator;
use crate::names::SAML20;
use crate::secure_error::SecureError;
use crate::securing_event::CipherExtent;
use crate::token::SamlVersion;

impl Securing<'_> {
    /// Puts cipher text in the place of the assertion, if the plan wants it: a
    /// `saml:EncryptedAssertion` (SAML Core 2.0, 2.3.4), and for SAML 1.1, which has none, an
    /// `xenc:EncryptedData` with its key.
    pub(super) fn hide_assertion(&mut self, buffers: &mut Buffers) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(assertion) = self.message.assertion() else {
            return Ok(());
        };
        if !plan.protection.hides_assertion {
            return Ok(());
        }
        let peer = plan.keys.peer.as_ref().ok_or(SecureError::KeyMissing)?;
        let algorithm = plan.protection.suite.data.first();
        let algorithm = *algorithm.ok_or(SecureError::KeyMissing)?;
        self.message.check_retirement(algorithm.short_name())?;
        let key = SymmetricKey::generate(algorithm.key_length())?;
        let (data_id, key_id) = (self.message.named("saml"), self.message.named("saml-key"));
        let mut key_info = Vec::new();
        // In a reference of its own, as stacks that hold themselves to BSP 1.1 (R5426) demand.
        let reference = KeyReference::IssuerSerial;
        self.wrap(
            &key_id,
            &key,
            Addressee::alone(peer),
            reference,
            &[],
            &mut key_info,
        )?;
        let session = Session {
            key,
            algorithm,
            key_info,
        };
        let plain = std::mem::take(&mut self.pieces.assertion);
        let cipher = session.seal(plain.len(), buffers, &mut self.supply, |out| {
            out.extend_from_slice(&plain);
        })?;
        let mut data = Replacement {
            start: Vec::new(),
            cipher: Cipher::Octets(cipher),
            end: Vec::new(),
        };
        let is_element = assertion.version() == SamlVersion::V20;
        if is_element {
            let start = ["<saml:EncryptedAssertion xmlns:saml=\"", SAML20, "\">"];
            put(&start, &mut data.start);
        }
        write::begin_encrypted_data(
            &EncryptedDataStart {
                id: Some(&data_id),
                mime_type: None,
                content_type: &ContentType::Element,
                method: algorithm,
                raw_key_info: Some(&session.key_info),
            },
            &mut data.start,
        );
        write::end_encrypted_data(&mut data.end);
        if is_element {
            put(&["</saml:EncryptedAssertion>"], &mut data.end);
        }
        let (element, extent) = (name_of(&plain), CipherExtent::Element);
        // The wrapped key stands in the place of a name.
        let inside = self.observer.listens.then_some(KeyLocator::Token(key_id));
        self.tell_of_cipher_text((&data_id, element, extent), algorithm, inside.as_ref());
        data.write(&[], &mut self.pieces.assertion);
        data.recycle_cipher(buffers);
        Ok(())
    }
}
