//! Endpoint files in a temporary folder: compiled, or refused with paths relative to the folder.

#![allow(dead_code, reason = "each test program uses its part")]

use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone_testkit::Folder;

/// The endpoint of a file with this text in the folder.
pub(crate) fn compile<P: Fixed>(folder: &Folder, text: &str) -> Result<Endpoint<P>, String> {
    EndpointConfig::from_text(text, &folder.path("endpoint.toml"), &|_| None)
        .and_then(|config| Endpoint::from_config(&config))
        .map_err(|problems| folder.relative(&problems.to_string()))
}

/// The problems of a file with this text; empty where there are none.
pub(crate) fn problems<P: Fixed>(folder: &Folder, text: &str) -> String {
    compile::<P>(folder, text).err().unwrap_or_default()
}
