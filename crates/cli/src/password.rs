//! Passwords, from the environment or from a file: never from the command line, where every user of
//! the machine sees them.
//!
//! The rule kept here: a password that was named and is not there is a failure, not an empty
//! password.

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::files;

/// `--password-env` and `--password-file`.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct PasswordArguments {
    /// The environment variable that holds the password
    #[arg(long, value_name = "NAME")]
    pub password_env: Option<String>,
    /// The file whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

impl PasswordArguments {
    /// The password, if one was named.
    ///
    /// # Errors
    /// [`Failure`] when it is not where it was said to be.
    pub fn read(&self) -> Result<Option<Zeroizing<String>>, Failure> {
        read(self.password_env.as_deref(), self.password_file.as_deref())
    }
}

/// `--key-password-env` and `--key-password-file`.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct KeyPasswordArguments {
    /// The environment variable that holds the password of the key, where the keystore has another
    /// one
    #[arg(long, value_name = "NAME")]
    pub key_password_env: Option<String>,
    /// The file whose first line is the password of the key, where the keystore has another one
    #[arg(long, value_name = "FILE")]
    pub key_password_file: Option<PathBuf>,
}

impl KeyPasswordArguments {
    /// The password, if one was named.
    ///
    /// # Errors
    /// [`Failure`] when it is not where it was said to be.
    pub fn read(&self) -> Result<Option<Zeroizing<String>>, Failure> {
        read(
            self.key_password_env.as_deref(),
            self.key_password_file.as_deref(),
        )
    }
}

/// The password from an environment variable or from the first line of a file; `None` if neither is
/// named.
///
/// # Errors
/// [`Failure`] when it is not where it was said to be.
pub fn read(
    variable: Option<&str>,
    file: Option<&Path>,
) -> Result<Option<Zeroizing<String>>, Failure> {
    if let Some(name) = variable {
        let password = std::env::var(name).map_err(|_| {
            Failure::new(format_args!(
                "expected a password in the environment variable {name}, which is not set"
            ))
        })?;
        return Ok(Some(Zeroizing::new(password)));
    }
    let Some(path) = file else { return Ok(None) };
    let octets = Zeroizing::new(files::read(Some(path))?);
    let line = octets
        .split(|octet| matches!(octet, b'\n' | b'\r'))
        .next()
        .unwrap_or_default();
    match std::str::from_utf8(line) {
        Ok(line) => Ok(Some(Zeroizing::new(line.to_owned()))),
        Err(_) => Err(Failure::file(
            path,
            "expected a password in UTF-8 on the first line, found other bytes",
        )),
    }
}
