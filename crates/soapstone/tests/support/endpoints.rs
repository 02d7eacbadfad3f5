//! Endpoint files in a temporary folder: compiled, or refused with paths relative to the folder.

#![allow(dead_code, reason = "each test program uses its part")]

use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Role};
use soapstone_testkit::Folder;

/// The endpoint of a file with this text in the folder.
pub(crate) fn compile(folder: &Folder, text: &str, role: Role) -> Result<Endpoint, String> {
    EndpointConfig::from_text(text, &folder.path("endpoint.toml"), &|_| None)
        .and_then(|config| Endpoint::compile(&config, role))
        .map_err(|problems| folder.relative(&problems.to_string()))
}

/// The problems of a file with this text; empty where there are none.
pub(crate) fn problems(folder: &Folder, text: &str, role: Role) -> String {
    compile(folder, text, role).err().unwrap_or_default()
}
