//! The keys and certificates that an operation is given: `xmlsec1`'s options.
//!
//! The rule kept here: keys are added in the order of `xmlsec1`'s help, so that a search for any
//! suitable key finds the same one.

use std::path::{Path, PathBuf};

use soapstone_xmltools::generic::{GenericError, Keys, Options, SecretKind};
use zeroize::Zeroizing;

use super::spelling::Named;
use crate::failure::Failure;
use crate::files;

/// Keys and certificates.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Keys and certificates")]
pub(super) struct KeyArguments {
    /// Keys from an XML file of xmlsec
    #[arg(long, short_alias = 'k', value_name = "FILE")]
    keys_file: Vec<PathBuf>,
    /// A private key with the certificates of its path
    #[arg(long, alias = "privkey", value_name = "KEY[,CERT…]")]
    privkey_pem: Vec<Named>,
    /// The same in DER
    #[arg(long, value_name = "KEY[,CERT…]")]
    privkey_der: Vec<Named>,
    /// A private key in PKCS#8 with the certificates of its path
    #[arg(long, alias = "privkey-p8-pem", value_name = "KEY[,CERT…]")]
    pkcs8_pem: Vec<Named>,
    /// The same in DER
    #[arg(long, alias = "privkey-p8-der", value_name = "KEY[,CERT…]")]
    pkcs8_der: Vec<Named>,
    /// A private key with its certificates from a PKCS#12 file
    #[arg(long, value_name = "FILE")]
    pkcs12: Vec<Named>,
    /// A public key
    #[arg(long, alias = "pubkey", value_name = "FILE")]
    pubkey_pem: Vec<Named>,
    /// The same in DER
    #[arg(long, value_name = "FILE")]
    pubkey_der: Vec<Named>,
    /// The public key of a certificate
    #[arg(long, alias = "pubkey-cert", value_name = "FILE")]
    pubkey_cert_pem: Vec<Named>,
    /// The same in DER
    #[arg(long, value_name = "FILE")]
    pubkey_cert_der: Vec<Named>,
    /// An AES key: the bytes of a file
    #[arg(long, alias = "aes-key", value_name = "FILE")]
    aeskey: Vec<Named>,
    /// A Triple DES key: the bytes of a file
    #[arg(long, alias = "des-key", value_name = "FILE")]
    deskey: Vec<Named>,
    /// An HMAC key: the bytes of a file
    #[arg(long, alias = "hmac-key", value_name = "FILE")]
    hmackey: Vec<Named>,
    /// A key from which ConcatKDF derives others
    #[arg(long, alias = "concatkdfkey", value_name = "FILE")]
    concatkdf_key: Vec<Named>,
    /// A key (password) from which PBKDF2 derives others
    #[arg(long, alias = "pbkdf2key", value_name = "FILE")]
    pbkdf2_key: Vec<Named>,
    /// A key from which HKDF derives others
    #[arg(long, value_name = "FILE")]
    hkdf_key: Vec<Named>,
    /// The password of private keys and PKCS#12 files; other users may see it in the list of
    /// processes
    #[arg(long, value_name = "PASSWORD")]
    pwd: Option<String>,
    /// The environment variable that holds this password
    #[arg(long, value_name = "NAME", conflicts_with = "pwd")]
    password_env: Option<String>,
    /// The file whose first line is this password
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pwd", "password_env"])]
    password_file: Option<PathBuf>,
    /// A certificate to which paths may lead
    #[arg(long, alias = "trusted", value_name = "FILE")]
    trusted_pem: Vec<PathBuf>,
    /// The same in DER
    #[arg(long, value_name = "FILE")]
    trusted_der: Vec<PathBuf>,
    /// A certificate that may stand in a path
    #[arg(long, alias = "untrusted", value_name = "FILE")]
    untrusted_pem: Vec<PathBuf>,
    /// The same in DER
    #[arg(long, value_name = "FILE")]
    untrusted_der: Vec<PathBuf>,
    /// A certificate revocation list
    #[arg(long, value_name = "FILE")]
    crl_pem: Vec<PathBuf>,
    /// The same in DER
    #[arg(long, value_name = "FILE")]
    crl_der: Vec<PathBuf>,
}

impl KeyArguments {
    /// Reads all of them.
    ///
    /// # Errors
    /// [`Failure`] naming the first file that cannot be read or is not what it should be.
    pub(super) fn load(&self, options: &Options) -> Result<Keys, Failure> {
        let password = self.password()?;
        let password = password.as_deref().map(String::as_str);
        let mut keys = Keys::new();
        for path in &self.keys_file {
            add(path, |octets| keys.add_keys_file(octets, options))?;
        }
        for key in [
            &self.privkey_pem,
            &self.privkey_der,
            &self.pkcs8_pem,
            &self.pkcs8_der,
        ]
        .into_iter()
        .flatten()
        {
            add_private_key(&mut keys, key, password)?;
        }
        for Named { name, value } in &self.pkcs12 {
            let password = password.unwrap_or_default();
            add(Path::new(value), |octets| {
                keys.add_pkcs12(name.clone(), octets, password)
            })?;
        }
        for Named { name, value } in self.pubkey_pem.iter().chain(&self.pubkey_der) {
            add(Path::new(value), |octets| {
                keys.add_public_key(name.clone(), octets)
            })?;
        }
        for Named { name, value } in self.pubkey_cert_pem.iter().chain(&self.pubkey_cert_der) {
            add(Path::new(value), |octets| {
                // A bare public key serves as well: it is the caller's own word.
                keys.add_certificate(name.clone(), octets)
                    .or_else(|error| keys.add_public_key(name.clone(), octets).map_err(|_| error))
            })?;
        }
        for (secrets, kind) in [
            (&self.aeskey, SecretKind::Aes),
            (&self.deskey, SecretKind::TripleDes),
            (&self.hmackey, SecretKind::Hmac),
            (&self.concatkdf_key, SecretKind::ConcatKdf),
            (&self.pbkdf2_key, SecretKind::Pbkdf2),
            (&self.hkdf_key, SecretKind::Hkdf),
        ] {
            for Named { name, value } in secrets {
                add(Path::new(value), |octets| {
                    keys.add_secret(name.clone(), kind, octets.to_vec())
                })?;
            }
        }
        for path in self.trusted_pem.iter().chain(&self.trusted_der) {
            add(path, |octets| keys.add_trusted(octets))?;
        }
        for path in self.untrusted_pem.iter().chain(&self.untrusted_der) {
            add(path, |octets| keys.add_untrusted(octets))?;
        }
        for path in self.crl_pem.iter().chain(&self.crl_der) {
            keys.add_revocation_list(&files::read(Some(path))?);
        }
        Ok(keys)
    }

    fn password(&self) -> Result<Option<Zeroizing<String>>, Failure> {
        match &self.pwd {
            Some(password) => Ok(Some(Zeroizing::new(password.clone()))),
            None => {
                crate::password::read(self.password_env.as_deref(), self.password_file.as_deref())
            }
        }
    }
}

fn add(path: &Path, add: impl FnOnce(&[u8]) -> Result<(), GenericError>) -> Result<(), Failure> {
    let octets = Zeroizing::new(files::read(Some(path))?);
    add(&octets).map_err(|error| {
        let failure = Failure::file(path, &error);
        match super::operation::unsupported(&error) {
            Some(what) => failure.with_unsupported(what),
            None => failure,
        }
    })
}

/// Adds the key of `KEY[,CERT…]`.
fn add_private_key(keys: &mut Keys, key: &Named, password: Option<&str>) -> Result<(), Failure> {
    let mut paths = key.value.split(',').map(Path::new);
    let path = paths.next().unwrap_or(Path::new(""));
    let certificates = paths
        .map(|path| files::read(Some(path)))
        .collect::<Result<Vec<_>, _>>()?;
    let certificates: Vec<&[u8]> = certificates.iter().map(Vec::as_slice).collect();
    add(path, |octets| {
        keys.add_private_key(key.name.clone(), octets, password, &certificates)
    })
}
