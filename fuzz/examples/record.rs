//! Makes keys, messages and the other seeds anew: `cargo run --example record`, from this folder.
//!
//! Only needed when policies change or the moment moves; what is committed stays valid, as the
//! clock of the targets stands still.

use std::fs;
use std::sync::Arc;

use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::{Identity, KeyKind};
use soapstone_fuzz::parties::{PLAIN, identity, known, moment, path, policies};
use soapstone_wss::{Envelope, OutboundPlan, Outgoing};
use soapstone_xml::{Buffers, Limits};

type Failure = Box<dyn std::error::Error>;

const RSA: KeyKind = KeyKind::Rsa { bits: 2048 };

fn main() -> Result<(), Failure> {
    keys()?;
    messages()
}

fn keys() -> Result<(), Failure> {
    let validity = Validity::days(moment(), 365);
    let authority = issue::authority("CN=Fuzz CA", RSA, validity)?;
    fs::create_dir_all(path("keys"))?;
    fs::write(
        path("keys/authority.cert.pem"),
        authority.certificates_to_pem(),
    )?;
    for name in ["client", "service"] {
        let template = Template::new(&format!("CN={name}"), validity)?;
        let party: Identity = issue::identity(&authority, RSA, &template)?;
        fs::write(
            path(&format!("keys/{name}.key.pem")),
            party.key_to_pem(None)?.expose(),
        )?;
        fs::write(
            path(&format!("keys/{name}.cert.pem")),
            party.certificates_to_pem(),
        )?;
    }
    Ok(())
}

fn messages() -> Result<(), Failure> {
    let client = identity("client");
    fs::create_dir_all(path("seeds/open"))?;
    for (name, policy) in policies() {
        let keys = known(Arc::clone(&client), "service");
        let plan = OutboundPlan::compile(policy, keys)
            .map_err(|problems| format!("{name}: {problems:?}"))?;
        let mut buffers = Buffers::default();
        let envelope =
            Envelope::parse(PLAIN.as_bytes().to_vec(), &Limits::default(), &mut buffers)?;
        let secured = plan.secure(envelope, Outgoing::default(), moment(), &mut buffers)?;
        fs::write(path(&format!("seeds/open/{name}.xml")), secured.bytes)?;
    }
    Ok(())
}
