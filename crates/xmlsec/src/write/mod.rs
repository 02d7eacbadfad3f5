//! Writers for what a sender generates: canonical when born.
//!
//! Everything written here is its own exclusive canonical form: fixed prefixes (`ds`, `xenc`,
//! `xenc11`, `dsig-more`, `ec`), each declared on the outermost element of this text that uses it,
//! attributes in canonical order, no self-closing tags, escaped as C14N escapes. It is digested as
//! it is written and never parsed back.
//!
//! The one rule: a writer takes values, not markup, except where the parameter is called `raw`:
//! such text must be canonical already.

mod agreement;
mod element;
mod encryption;
mod key_info;
mod signature;

pub use agreement::{AgreementParts, DerivationParts, agreement_method};
pub use element::attribute;
pub use encryption::{
    EncryptedDataStart, EncryptedKeyParts, begin_encrypted_data, encrypted_data_elsewhere,
    encrypted_key, encryption_method, end_encrypted_data, reference_list,
};
pub use key_info::{
    der_encoded_key_value, key_name, key_value, x509_certificates, x509_issuer_serial,
    x509_issuer_serial_and_certificate, x509_issuer_serial_styled, x509_ski,
};
pub use signature::{
    Apex, ReferenceParts, SignedInfo, SignedInfoWriter, TransformParts, signature,
};
