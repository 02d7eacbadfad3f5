//! TLS of a client that trusts the authority of [`keys`].

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use soapstone_crypto::Identity;

use crate::keys;

/// A client that trusts the authority alone, and shows the certificate of `shown` if it is asked.
///
/// # Panics
/// If the certificate and its key do not belong together.
pub fn client_tls(shown: Option<&Identity>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let authority = keys::authority(keys::AUTHORITY);
    roots.add_parsable_certificates([CertificateDer::from(authority.certificate().der())]);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots);
    let Some(shown) = shown else {
        return builder.with_no_client_auth();
    };
    let chain = vec![CertificateDer::from(shown.certificate().der().to_vec())];
    let key = shown.key_to_pem(None).expect("a key");
    let key = PrivateKeyDer::from_pem_slice(key.expose()).expect("a key");
    builder
        .with_client_auth_cert(chain, key)
        .expect("they belong together")
}
