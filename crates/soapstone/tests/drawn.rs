//! Policies drawn at random from the assertions of WS-SecurityPolicy: a client and a service that
//! read the same one understand each other, and what an agreement is published as says the same
//! again.
//!
//! A combination that makes no sense, or that is not supported, is refused when the endpoints are
//! compiled. None may make messages that nobody can open.

#[path = "support/arrived.rs"]
mod arrived;

use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::wss::{Rejected, SecureError, Secured};
use soapstone::{Client, ForgetfulReplayCache, Memory, OpenedMessage, Service};
use soapstone_policy::{CompileOptions, PolicyDocument, PolicyLimits, Selection};
use soapstone_testkit::Folder as Temporary;
use soapstone_testkit::keys::RSA;

/// Policies that are tried.
const POLICIES: u64 = 400;

const ENVELOPE: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.w3.org/2005/08/addressing\"><s:Header>\
                        <a:To>urn:service</a:To><a:Action>urn:echo</a:Action></s:Header><s:Body><e:echo xmlns:e=\"urn:echo\"><e:text>hello</e:text>\
                        <e:other/></e:echo></s:Body></s:Envelope>";

/// A source of choices: xorshift64*, so that a number says which policy it was.
struct Choices(u64);

impl Choices {
    fn of(number: u64) -> Self {
        let mut choices = Self(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        // Numbers that are near to each other are not alike any more after a few.
        for _ in 0..4 {
            choices.next();
        }
        choices
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33
    }

    /// One of these.
    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.next() as usize % all.len()]
    }

    /// Each of these one time in so many.
    fn some_of(&mut self, times: u64, all: &[&str]) -> String {
        let wanted = all.iter().filter(|_| self.next().is_multiple_of(times));
        wanted.copied().collect()
    }
}

const SUITES: [&str; 12] = [
    "sp:Basic256",
    "sp:Basic192",
    "sp:Basic128",
    "sp:TripleDes",
    "sp:Basic256Rsa15",
    "sp:Basic128Rsa15",
    "sp:TripleDesRsa15",
    "sp:Basic256Sha256",
    "sp:Basic128Sha256",
    "sp:Basic256Sha256Rsa15",
    "cxf:Basic128GCM",
    "cxf:Basic256GCM",
];

fn nest(name: &str, inner: &str) -> String {
    format!("<sp:{name}><wsp:Policy>{inner}</wsp:Policy></sp:{name}>")
}

fn x509(choices: &mut Choices) -> String {
    let inclusion = choices.one_of(&[
        "Never",
        "Once",
        "AlwaysToRecipient",
        "AlwaysToInitiator",
        "Always",
    ]);
    let keys = choices.one_of(&[
        "",
        "<sp:RequireDerivedKeys/>",
        "<sp:RequireImpliedDerivedKeys/>",
        "<sp:RequireExplicitDerivedKeys/>",
    ]);
    let reference = choices.one_of(&[
        "",
        "<sp:RequireThumbprintReference/>",
        "<sp:RequireIssuerSerialReference/>",
        "<sp:RequireKeyIdentifierReference/>",
    ]);
    let version = choices.one_of(&["", "<sp:WssX509V3Token10/>", "<sp:WssX509V3Token11/>"]);
    format!(
        "<sp:X509Token sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/{inclusion}'>\
         <wsp:Policy>{keys}{reference}{version}</wsp:Policy></sp:X509Token>"
    )
}

fn username(choices: &mut Choices) -> String {
    let password = choices.one_of(&["", "<sp:HashPassword/>"]);
    format!(
        "<sp:UsernameToken sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient'>\
         <wsp:Policy>{password}</wsp:Policy></sp:UsernameToken>"
    )
}

fn supporting(choices: &mut Choices) -> String {
    let kind = choices.one_of(&[
        "SupportingTokens",
        "SignedSupportingTokens",
        "EncryptedSupportingTokens",
        "SignedEncryptedSupportingTokens",
        "EndorsingSupportingTokens",
        "SignedEndorsingSupportingTokens",
        "EndorsingEncryptedSupportingTokens",
        "SignedEndorsingEncryptedSupportingTokens",
    ]);
    let mut inner = match kind.contains("Endorsing") {
        true => x509(choices),
        false => username(choices),
    };
    if choices.next().is_multiple_of(4) {
        let part = choices.one_of(&[
            "<sp:SignedParts><sp:Header Name='To' Namespace='http://www.w3.org/2005/08/addressing'/></sp:SignedParts>",
            "<sp:SignedElements><sp:XPath xmlns:e='urn:echo'>//e:text</sp:XPath></sp:SignedElements>",
        ]);
        inner.push_str(part);
    }
    nest(kind, &inner)
}

fn drawn(choices: &mut Choices) -> String {
    let suite = nest("AlgorithmSuite", &format!("<{}/>", choices.one_of(&SUITES)));
    let layout = choices.one_of(&["", "Strict", "Lax", "LaxTsFirst", "LaxTsLast"]);
    let layout = match layout {
        "" => String::new(),
        layout => nest("Layout", &format!("<sp:{layout}/>")),
    };
    let timestamp = choices.one_of(&["<sp:IncludeTimestamp/>", "<sp:IncludeTimestamp/>", ""]);
    let more = choices.some_of(
        4,
        &[
            "<sp:EncryptBeforeSigning/>",
            "<sp:EncryptSignature/>",
            "<sp:ProtectTokens/>",
            "<sp:OnlySignEntireHeadersAndBody/>",
        ],
    );
    let properties = format!("{suite}{layout}{timestamp}{more}");
    let token = |name: &str, choices: &mut Choices| nest(name, &x509(choices));
    let binding = match choices.one_of(&[
        "symmetric",
        "symmetric",
        "asymmetric",
        "asymmetric",
        "transport",
    ]) {
        "symmetric" => {
            let protection = token("ProtectionToken", choices);
            nest("SymmetricBinding", &format!("{protection}{properties}"))
        }
        "asymmetric" => {
            let (initiator, recipient) = (
                token("InitiatorToken", choices),
                token("RecipientToken", choices),
            );
            nest(
                "AsymmetricBinding",
                &format!("{initiator}{recipient}{properties}"),
            )
        }
        _ => {
            let https = nest(
                "TransportToken",
                "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>",
            );
            nest(
                "TransportBinding",
                &format!("{https}{suite}{layout}{timestamp}"),
            )
        }
    };
    let supporting: String = (0..choices.next() % 3)
        .map(|_| supporting(choices))
        .collect();
    let wss = choices.one_of(&[
        "",
        "<sp:Wss10><wsp:Policy><sp:MustSupportRefKeyIdentifier/></wsp:Policy></sp:Wss10>",
        "<sp:Wss11><wsp:Policy><sp:MustSupportRefThumbprint/><sp:MustSupportRefEncryptedKey/></wsp:Policy></sp:Wss11>",
        "<sp:Wss11><wsp:Policy><sp:MustSupportRefThumbprint/><sp:MustSupportRefEncryptedKey/><sp:RequireSignatureConfirmation/></wsp:Policy></sp:Wss11>",
    ]);
    let parts = choices.some_of(
        2,
        &[
            "<sp:SignedParts><sp:Body/></sp:SignedParts>",
            "<sp:SignedParts><sp:Body/><sp:Header Name='To' Namespace='http://www.w3.org/2005/08/addressing'/></sp:SignedParts>",
            "<sp:SignedParts><sp:Header Namespace='http://www.w3.org/2005/08/addressing' Name='Action'/></sp:SignedParts>",
            "<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>",
            "<sp:EncryptedParts><sp:Header Name='To' Namespace='http://www.w3.org/2005/08/addressing'/></sp:EncryptedParts>",
        ],
    );
    let elements = choices.some_of(
        6,
        &[
            "<sp:SignedElements><sp:XPath xmlns:e='urn:echo'>//e:text</sp:XPath></sp:SignedElements>",
            "<sp:EncryptedElements><sp:XPath xmlns:e='urn:echo'>//e:other</sp:XPath></sp:EncryptedElements>",
            "<sp:ContentEncryptedElements><sp:XPath xmlns:e='urn:echo'>//e:text</sp:XPath></sp:ContentEncryptedElements>",
            "<sp:RequiredElements><sp:XPath xmlns:e='urn:echo'>//e:text</sp:XPath></sp:RequiredElements>",
            "<sp:RequiredParts><sp:Header Name='To' Namespace='http://www.w3.org/2005/08/addressing'/></sp:RequiredParts>",
        ],
    );
    format!(
        "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702' \
         xmlns:cxf='http://cxf.apache.org/custom/security-policy'>{binding}{supporting}{wss}{parts}{elements}</wsp:Policy>"
    )
}

/// A folder with key pairs of a client and a service, and the policy.
struct Folder(Temporary);

impl Folder {
    fn new() -> Self {
        Self(Temporary::with_keys(RSA, &["client", "service"]))
    }

    /// Both sides, as far as they can do what the policy says.
    fn sides(&self, policy: &str) -> Option<(Client, Service)> {
        self.0.write("policy.xml", policy);
        let client = self.endpoint(["client", "service"])?;
        Some((client, self.endpoint(["service", "client"])?))
    }

    fn endpoint<P: Fixed>(&self, [own, other]: [&str; 2]) -> Option<Endpoint<P>> {
        let text = format!(
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\npeer = {{ certificate = \"{other}.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\nusers = [{{ name = \"alice\", password = \"wonderland\" }}]\n\
             security = {{ policy = \"policy.xml\" }}\n"
        );
        let config = EndpointConfig::from_text(&text, &self.0.path("endpoint.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        Endpoint::from_config(&config).ok()
    }
}

/// What a policy says, written anew, if it can be understood and written.
fn written_anew(policy: &str) -> Option<String> {
    let document = PolicyDocument::parse(policy.as_bytes().to_vec(), &PolicyLimits::default());
    let document = document.unwrap_or_else(|error| panic!("{policy}\n{error}"));
    let agreement = document.agreement(&Selection::default(), &CompileOptions::default());
    Some(agreement.ok()?.write().ok()?.to_xml())
}

/// The secured message, and its text for a report.
fn sent(secured: Result<Secured, SecureError>) -> Result<(Secured, String), String> {
    let secured = secured.map_err(|error| format!("it is not secured: {error}"))?;
    let text = String::from_utf8_lossy(&secured.bytes).into_owned();
    Ok((secured, text))
}

/// What was opened of a message with this text, if it is what was sent.
fn seen(opened: Result<OpenedMessage, Rejected>, text: &str) -> Result<OpenedMessage, String> {
    let opened = opened.map_err(|error| format!("it is not opened: {error:?}\n{text}"))?;
    let seen = String::from_utf8_lossy(&opened.bytes);
    if !seen.contains("hello</e:text><e:other></e:other></e:echo></s:Body>") {
        return Err(format!("another message is opened: {seen}"));
    }
    Ok(opened)
}

/// A request and its answer.
fn exchange(client: &Client, service: &Service) -> Result<(), String> {
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let (request, text) = sent(client.secure(ENVELOPE))?;
    let arrived = arrived::message(service.receive(request.bytes, memory));
    let asked = seen(arrived, &text)?;
    let (answer, text) = sent(service.answer(ENVELOPE, &asked.receipt))?;
    let opened = client.open(answer.bytes, request.receipt, memory);
    seen(opened, &text).map(drop)
}

#[test]
fn a_client_and_a_service_with_the_same_policy_understand_each_other() {
    let folder = Folder::new();
    let (mut exchanges, mut written, mut failed) = (0, 0, Vec::new());
    for number in 0..POLICIES {
        let policy = drawn(&mut Choices::of(number));
        let Some((client, service)) = folder.sides(&policy) else {
            continue;
        };
        exchanges += 1;
        if let Err(error) = exchange(&client, &service) {
            failed.push(format!("policy {number}: {error}\n{policy}"));
        }
        let Some(anew) = written_anew(&policy) else {
            continue;
        };
        written += 1;
        // Each side may be the one that has read what the other one has published.
        let Some((other_client, other_service)) = folder.sides(&anew) else {
            failed.push(format!(
                "policy {number}: what is written is not understood\n{policy}\n{anew}"
            ));
            continue;
        };
        for (client, service) in [(&client, &other_service), (&other_client, &service)] {
            if let Err(error) = exchange(client, service) {
                failed.push(format!(
                    "policy {number}: written anew, {error}\n{policy}\n{anew}"
                ));
            }
        }
    }
    println!("{exchanges} exchanges of {POLICIES} policies, {written} of them written anew");
    let several = failed.len();
    assert!(
        failed.is_empty(),
        "{several} fail:\n{}",
        failed.join("\n\n")
    );
    // What is written is what presets demand, which is less than policies can.
    assert!(exchanges > POLICIES / 4 && written > POLICIES / 40);
}
