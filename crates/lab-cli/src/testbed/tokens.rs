//! What endpoint files say of tokens whose keys protect messages: passwords, Kerberos tokens, SAML
//! assertions, and the token service that issues assertions.
//!
//! The token service is a route of the gateway before the services. The rule kept here: an
//! assertion that requests carry from a file is as one that the token service issues.

use std::fmt::Write as _;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use soapstone::crypto::{
    Certificate, DigestAlgorithm, Identity, KeyKind, SignatureAlgorithm, base64, digest,
};
use soapstone::wss::Mechanism;
use soapstone_lab::study::{Form, Proof};

use super::realm::{CLIENT, CLIENT_KEYTAB, SERVICE, SERVICE_KEYTAB};
use super::scratch::{Scratch, Side, USER, user};
use super::{Layout, Route, Target, authority};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// The issuer of assertions.
const ISSUER: &str = "https://issuer.example";
/// Whom they are for.
const AUDIENCE: &str = "https://service.example";
/// What the files of the issuer's key begin with.
const ISSUER_FILES: &str = "issuer";
/// The largest message of endpoints without gateways, MiB: 20,000 books are 5 MiB.
const LARGEST_MESSAGE: u32 = 32;
/// The path of the token service.
const TOKEN_SERVICE: &str = "/token-service";

/// An assertion in a file: its method of confirmation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Confirmation {
    HolderOfKey,
    Bearer,
}

impl Confirmation {
    const ALL: [Self; 2] = [Self::HolderOfKey, Self::Bearer];

    /// That of a route's assertion; nothing, where it has none.
    const fn of(proof: Proof) -> Option<Self> {
        match proof {
            Proof::SamlBearer => Some(Self::Bearer),
            _ if is_holders(proof) => Some(Self::HolderOfKey),
            _ => None,
        }
    }

    /// Its name in files, which ends its URI.
    const fn name(self) -> &'static str {
        match self {
            Self::HolderOfKey => "holder-of-key",
            Self::Bearer => "bearer",
        }
    }

    fn file(self) -> String {
        format!("{}.assertion.xml", self.name())
    }
}

/// Whether the key of messages is that of an assertion's holder.
pub(super) const fn is_holders(proof: Proof) -> bool {
    matches!(proof, Proof::SamlHolder | Proof::SamlIssued) || is_named(proof)
}

/// Whether requests name their assertion, and do not carry it.
pub(super) const fn is_named(proof: Proof) -> bool {
    matches!(proof, Proof::SamlReference | Proof::SamlReferenceCold)
}

/// The file with the assertion that requests name.
pub(super) fn named_file() -> String {
    Confirmation::HolderOfKey.file()
}

/// Makes the issuer and its assertions, where a route has some and they are not there yet.
pub(super) fn make(scratch: &Scratch, layout: &Layout) -> Result<(), Failure> {
    let mut routes = layout.routes.iter();
    if !routes.any(|route| Confirmation::of(route.proof).is_some()) {
        return Ok(());
    }
    let read = |name: &str| scratch.identity(name);
    scratch.issue_as(ISSUER_FILES, KeyKind::Rsa { bits: 2048 })?;
    let (issuer, client) = (read(ISSUER_FILES)?, read("client")?);
    for confirmation in Confirmation::ALL {
        let path = scratch.folder().join(confirmation.file());
        if !path.exists() {
            let written = assertion(confirmation, &issuer, client.certificate())?;
            files::create(&path, written.as_bytes(), Privacy::Secret, Existing::Keep)?;
        }
    }
    Ok(())
}

/// What an endpoint of a route says of its token, if that has lines of its own; and what stands in
/// its `security` beside mechanism and suite.
pub(super) fn lines(route: &Route, side: Side) -> (String, &'static str) {
    match (route.proof, side) {
        (Proof::PasswordKey, _) => (user(USER), ", password_keys = {}"),
        (Proof::Kerberos | Proof::KerberosOnce, _) => {
            let once = match route.proof {
                Proof::KerberosOnce => ", include = \"once\"",
                _ => "",
            };
            (kerberos(side, once), "")
        }
        (proof, _) if is_named(proof) => (String::new(), ""),
        (proof, Side::Server) => (Confirmation::of(proof).map_or(String::new(), accepting), ""),
        (Proof::SamlIssued, Side::Client) => (String::new(), ""),
        (proof, Side::Client) => {
            let carried = Confirmation::of(proof).map_or(String::new(), |it| {
                let (file, name) = (it.file(), it.name());
                format!("saml = {{ assertion = \"{file}\", confirmation = [\"{name}\"] }}\n")
            });
            (carried, "")
        }
    }
}

/// Writes the files of a client and of a service that speak to each other under the keys of a
/// token, without gateways, and makes what they need but the realm of Kerberos.
///
/// # Errors
/// Something cannot be written.
pub(crate) fn token_ends(
    scratch: &Scratch,
    proof: Proof,
    mechanism: Mechanism,
    suite: &str,
) -> Result<[PathBuf; 2], Failure> {
    let route = Route {
        prefix: String::new(),
        target: Target::Own {
            url: String::new(),
            authorities: Vec::new(),
        },
        mechanism,
        proof,
        suite: suite.to_owned(),
        rsa_bits: 2048,
        form: Form::Preset,
        tls: false,
        warm_up: None,
    };
    let layout = Layout {
        name: "token",
        instances: Vec::new(),
        routes: vec![route],
        largest_message: LARGEST_MESSAGE,
    };
    scratch.make_keys(&layout)?;
    let route = &layout.routes[0];
    let sides = [
        (Side::Client, ("client", "A client that shows a token.")),
        (Side::Server, ("service", "A service that accepts a token.")),
    ];
    let [client, service] =
        sides.map(|(side, named)| scratch.write_endpoint(&layout, route, side, named));
    Ok([client?, service?])
}

fn kerberos(side: Side, once: &str) -> String {
    match side {
        Side::Server => format!(
            "kerberos = {{ keytab = \"{SERVICE_KEYTAB}\", principal = \"{SERVICE}\"{once} }}\n"
        ),
        Side::Client => format!(
            "kerberos = {{ keytab = \"{CLIENT_KEYTAB}\", principal = \"{CLIENT}\", service = \"{SERVICE}\"{once} }}\n"
        ),
    }
}

/// The endpoint of a client that makes tokens from the realm's tickets, for a trial whether that
/// can be.
pub(crate) fn kerberos_endpoint() -> String {
    kerberos(Side::Client, "")
        + "security = { mechanism = \"sign-encrypt\", suite = \"Basic128GCM\" }\n"
}

/// Whose assertions are believed.
fn issuers() -> String {
    format!("issuers = [{{ name = \"{ISSUER}\", pinned = [\"{ISSUER_FILES}.cert.pem\"] }}]")
}

fn accepting(confirmation: Confirmation) -> String {
    format!(
        "saml = {{ audience = [\"{AUDIENCE}\"], confirmation = [\"{}\"], {} }}\n",
        confirmation.name(),
        issuers()
    )
}

/// Writes where the gateway for clients gets the assertions of a route, behind its endpoint: from
/// the token service of the gateway at this address.
pub(super) fn append_asking(text: &mut String, route: &Route, origin: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "[routes.outbound.saml]\nconfirmation = [\"holder-of-key\"]\n{}\n\
         [routes.outbound.saml.token_service]\nurl = \"{origin}{TOKEN_SERVICE}\"\napplies_to = \"{AUDIENCE}\"\n\
         [routes.outbound.saml.token_service.endpoint]\n{}",
        issuers(),
        certified("client", "server", &route.suite)
    );
}

/// Writes behind an endpoint, whose requests name their assertion, where that is; nothing for
/// others. A cold receiver keeps none.
pub(super) fn append_reference(
    text: &mut String,
    route: &Route,
    side: Side,
    authority: Option<u16>,
) {
    let Some(port) = authority.filter(|_| is_named(route.proof)) else {
        return;
    };
    let (url, issuers) = (authority::url(port), issuers());
    let confirmation = "confirmation = [\"holder-of-key\"]";
    let capacity = match route.proof {
        Proof::SamlReferenceCold => 0,
        _ => 16,
    };
    // Writing to a String does not fail.
    let _ = match side {
        Side::Server => writeln!(
            text,
            "[routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\n{confirmation}\n{issuers}\n\
             [routes.inbound.saml.by_reference]\nauthorities = [\"{url}\"]\n\
             capacity = {capacity}\nper_second = 10000\ntls = {{ ca = [\"ca.cert.pem\"] }}"
        ),
        Side::Client => writeln!(
            text,
            "[routes.outbound.saml]\nassertion = \"{}\"\n{confirmation}\n\
             send_by_reference = {{ authority = \"{url}\" }}",
            named_file()
        ),
    };
}

/// Writes the route of the token service at the end of the file of the gateway before the
/// services, where a route of the layout gets assertions there.
pub(super) fn append_token_service(text: &mut String, layout: &Layout) {
    let mut routes = layout.routes.iter();
    let Some(route) = routes.find(|route| route.proof == Proof::SamlIssued) else {
        return;
    };
    let _ = writeln!(
        text,
        "\n[[routes]]\npath = \"{TOKEN_SERVICE}\"\n[routes.sts]\nissuer = \"{ISSUER}\"\n\
         identity = {{ key = \"{ISSUER_FILES}.key.pem\", certificate = \"{ISSUER_FILES}.cert.pem\" }}\n\
         key_types = [\"public-key\"]\nservices = [{{ address = \"{AUDIENCE}\" }}]\n\
         [routes.inbound]\n{}",
        certified("server", "client", &route.suite)
    );
}

/// An endpoint that signs and encrypts with certificates.
fn certified(own: &str, peer: &str, suite: &str) -> String {
    format!(
        "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
         security = {{ mechanism = \"sign-encrypt\", suite = \"{suite}\" }}"
    )
}

/// An assertion for a day about the client, in canonical form, signed by the issuer.
fn assertion(
    confirmation: Confirmation,
    issuer: &Identity,
    holder: &Certificate,
) -> Result<String, Failure> {
    let now = Timestamp::from_second(Timestamp::now().as_second()).map_err(Failure::new)?;
    let (begin, end) = (
        now - SignedDuration::from_mins(1),
        now + SignedDuration::from_hours(24),
    );
    let (id, name) = (format!("_{}", confirmation.name()), confirmation.name());
    let ds = "http://www.w3.org/2000/09/xmldsig#";
    let exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#";
    let data = match confirmation {
        Confirmation::Bearer => String::new(),
        Confirmation::HolderOfKey => format!(
            "<saml:SubjectConfirmationData><ds:KeyInfo xmlns:ds=\"{ds}\"><ds:X509Data><ds:X509Certificate>{}</ds:X509Certificate>\
             </ds:X509Data></ds:KeyInfo></saml:SubjectConfirmationData>",
            base64::encode(holder.der())
        ),
    };
    let before = format!(
        "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"{id}\" IssueInstant=\"{begin}\" Version=\"2.0\">\
         <saml:Issuer>{ISSUER}</saml:Issuer>"
    );
    let behind = format!(
        "<saml:Subject><saml:NameID>CN=client</saml:NameID>\
         <saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:{name}\">{data}</saml:SubjectConfirmation></saml:Subject>\
         <saml:Conditions NotBefore=\"{begin}\" NotOnOrAfter=\"{end}\"><saml:AudienceRestriction><saml:Audience>{AUDIENCE}</saml:Audience>\
         </saml:AudienceRestriction></saml:Conditions></saml:Assertion>"
    );
    let sha256 = DigestAlgorithm::Sha256;
    let digested =
        digest(sha256, [&*before, &*behind].concat().as_bytes()).map_err(Failure::new)?;
    let signed_info = |declared: &str| {
        format!(
            "<ds:SignedInfo{declared}><ds:CanonicalizationMethod Algorithm=\"{exclusive}\"></ds:CanonicalizationMethod>\
             <ds:SignatureMethod Algorithm=\"{}\"></ds:SignatureMethod><ds:Reference URI=\"#{id}\"><ds:Transforms>\
             <ds:Transform Algorithm=\"{ds}enveloped-signature\"></ds:Transform><ds:Transform Algorithm=\"{exclusive}\"></ds:Transform>\
             </ds:Transforms><ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod><ds:DigestValue>{}</ds:DigestValue></ds:Reference></ds:SignedInfo>",
            SignatureAlgorithm::RsaSha256.uri(),
            sha256.uri(),
            base64::encode(digested.as_ref())
        )
    };
    let canonical = signed_info(&format!(" xmlns:ds=\"{ds}\""));
    let value = issuer
        .key()
        .sign(SignatureAlgorithm::RsaSha256, canonical.as_bytes());
    let value = base64::encode(&value.map_err(Failure::new)?);
    let signature = format!(
        "<ds:Signature xmlns:ds=\"{ds}\">{}<ds:SignatureValue>{value}</ds:SignatureValue></ds:Signature>",
        signed_info("")
    );
    Ok([before, signature, behind].concat())
}
