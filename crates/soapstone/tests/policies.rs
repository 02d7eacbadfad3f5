//! What an endpoint file says beside its policy: algorithms, assertions that are left out, users
//! without a password, and the user of HTTP.

use jiff::{SignedDuration, Timestamp};
use soapstone::config::{EndpointConfig, Problems};
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::endpoint::{Arrived, Endpoint, Fixed, ReceiveError};
use soapstone::mime::{Attachment, Message};
use soapstone::{Client, ForgetfulReplayCache, Memory, Opener, Securer, Service};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::keys::{self, P256, RSA};

const HEAD: &str = "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702'>";

fn nest(name: &str, inner: &str) -> String {
    format!("<sp:{name}><wsp:Policy>{inner}</wsp:Policy></sp:{name}>")
}

/// An asymmetric binding with that in its suite, a signed Body, and what is beside them.
fn signed(suite: &str, beside: &str) -> String {
    let token = |inclusion: &str| {
        format!(
            "<sp:X509Token sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/{inclusion}'>\
             <wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
        )
    };
    let binding = [
        nest("InitiatorToken", &token("AlwaysToRecipient")),
        nest("RecipientToken", &token("Always")),
        nest("AlgorithmSuite", suite),
    ];
    format!(
        "{HEAD}{}<sp:SignedParts><sp:Body/></sp:SignedParts>{beside}</wsp:Policy>",
        nest("AsymmetricBinding", &binding.concat())
    )
}

/// A transport binding with that in its `sp:HttpsToken`, and what is beside it.
fn over_tls(https: &str, beside: &str) -> String {
    let token = nest("TransportToken", &nest("HttpsToken", https));
    let suite = nest("AlgorithmSuite", "<sp:Basic256/>");
    let binding = nest("TransportBinding", &format!("{token}{suite}"));
    format!("{HEAD}{binding}{beside}</wsp:Policy>")
}

struct Files(Folder);

impl Files {
    fn new(policy: &str) -> Self {
        let folder = Folder::with_keys(RSA, &["both"]);
        folder.write("policy.xml", policy);
        Self(folder)
    }

    fn config(&self, users: &str, security: &str) -> Result<EndpointConfig, Problems> {
        let text = format!(
            "identity = {{ key = \"both.key.pem\", certificate = \"both.cert.pem\" }}\n\
             peer = {{ certificate = \"both.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             {users}\n[security]\npolicy = \"policy.xml\"\n{security}\n"
        );
        EndpointConfig::from_text(&text, &self.0.path("endpoint.toml"), &|_| None)
    }

    fn endpoint<P: Fixed>(&self, users: &str, security: &str) -> Endpoint<P> {
        let config = self.config(users, security);
        let endpoint = config.and_then(|config| Endpoint::from_config(&config));
        endpoint.unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn problems<P: Fixed>(&self, users: &str, security: &str) -> String {
        let config = self.config(users, security);
        let endpoint: Result<Endpoint<P>, Problems> =
            config.and_then(|config| Endpoint::from_config(&config));
        let problems = endpoint.err().map(|problems| problems.to_string());
        self.0.relative(&problems.unwrap_or_default())
    }

    /// The names of what the start warns of.
    fn risks(&self, users: &str, security: &str) -> Vec<&'static str> {
        let client: Client = self.endpoint(users, security);
        let config = self.config(users, security).expect("it was read");
        let risks = client.risks(&config, true);
        risks.into_iter().map(|risk| risk.name).collect()
    }
}

const ALICE: &str = "users = [{ name = \"alice\", password = \"opens it\" }]";

fn secured(client: &Client) -> String {
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let secured = client.secure(plain).expect("it is secured");
    String::from_utf8(secured.bytes).expect("text")
}

/// Digikoppeling (SIGN001) demands SHA-2, and the description of its gateway names suites with
/// SHA-1 (`cases/sectors/13`).
#[test]
fn algorithms_beside_a_policy_take_the_place_of_those_of_its_suite() {
    let suites = "<sp:Basic128Rsa15/><sp:Basic256Rsa15/><sp:TripleDesRsa15/>";
    let files = Files::new(&signed(suites, ""));
    let by_policy = secured(&files.endpoint("", ""));
    assert!(by_policy.contains("#rsa-sha1\""), "{by_policy}");
    let algorithms = "algorithms = { signature = [\"rsa-sha256\"], digest = [\"sha256\"] }";
    let changed = secured(&files.endpoint("", algorithms));
    assert!(changed.contains("#rsa-sha256\""), "{changed}");
    assert!(!changed.contains("sha1\""), "{changed}");
    assert_eq!(
        files.risks("", algorithms),
        ["no-subjects", "several-suites"],
        "nothing is weak: nothing is encrypted"
    );
    let wrong = "algorithms = { signature = [\"rsa-sha257\"] }";
    let problems = files.problems::<soapstone::endpoint::Calling>("", wrong);
    assert!(
        problems.contains("expected the name of a signature algorithm"),
        "{problems}"
    );
}

/// What a file says of forms that no message of its policy has is passed over by nobody.
#[test]
fn forms_of_signatures_and_cipher_text_are_refused_beside_a_policy_without_them() {
    let encrypted = "<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
    let (signing, both, neither) = (
        signed("<sp:Basic256/>", ""),
        signed("<sp:Basic256/>", encrypted),
        over_tls("", ""),
    );
    let of_signatures = [
        (
            "signature.inclusive_prefixes",
            "signature = { inclusive_prefixes = true }",
        ),
        (
            "signature.str_transform",
            "signature = { str_transform = true }",
        ),
    ];
    let of_cipher_text = [
        (
            "encryption.implied_digest",
            "encryption = { implied_digest = true }",
        ),
        (
            "encryption.encrypted_header",
            "encryption = { encrypted_header = false }",
        ),
        (
            "encryption.derivation_info",
            "encryption = { derivation_info = \"00\" }",
        ),
    ];
    for (policy, given, does) in [
        (&neither, &of_signatures[..], Some("signs")),
        (&neither, &of_cipher_text, Some("encrypts")),
        (&signing, &of_signatures, None),
        (&signing, &of_cipher_text, Some("encrypts")),
        (&both, &of_signatures, None),
        (&both, &of_cipher_text, None),
    ] {
        let files = Files::new(policy);
        for (key, text) in given {
            let found = files.problems::<soapstone::endpoint::Calling>("", text);
            match does {
                Some(does) => {
                    let expected = format!("`{key}` is given, and nothing {does} messages");
                    assert!(found.contains(&expected), "{key}: {found}");
                    assert!(found.contains("change the policy"), "{key}: {found}");
                }
                None => assert_eq!(found, "", "{key}"),
            }
        }
    }
}

/// An asymmetric binding whose keys are written out, and a signed Body.
fn by_key_values() -> String {
    let token = "<sp:KeyValueToken><wsp:Policy><sp:RsaKeyValue/></wsp:Policy></sp:KeyValueToken>";
    let binding = [
        nest("InitiatorToken", token),
        nest("RecipientToken", token),
        nest("AlgorithmSuite", "<sp:Basic256/>"),
    ];
    let parts = "<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
    let binding = nest("AsymmetricBinding", &binding.concat());
    format!("{HEAD}{binding}{parts}</wsp:Policy>")
}

/// WS-SecurityPolicy 1.3, 5.4.11: `sp:RsaKeyValue` is about the kind of the key, whatever the
/// algorithms beside the policy are.
#[test]
fn a_policy_that_wants_rsa_keys_takes_no_others() {
    let folder = Folder::with_keys(RSA, &["service"]);
    folder.write_identity("client", &keys::identity("CN=client", P256));
    let encrypted = "<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
    let rsa = by_key_values().replace(encrypted, "");
    folder.write("any.xml", rsa.replace("<sp:RsaKeyValue/>", ""));
    let endorsing = "<sp:X509Token><wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>";
    let endorsing = nest("EndorsingSupportingTokens", endorsing);
    folder.write(
        "mixed.xml",
        rsa.replace("<sp:SignedParts>", &format!("{endorsing}<sp:SignedParts>")),
    );
    folder.write("rsa.xml", rsa);
    let endpoint = |own: &str, policy: &str, more: &str| {
        let text = format!(
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
             trust = {{ pinned = [\"client.cert.pem\", \"service.cert.pem\"] }}\n\
             security = {{ policy = \"{policy}.xml\", algorithms = {{ signature = [\"rsa-sha256\", \"ecdsa-sha256\"] }} }}\n{more}"
        );
        EndpointConfig::from_text(&text, &folder.path("endpoint.toml"), &|_| None)
    };
    let peer = "peer = { certificate = \"service.cert.pem\" }\n";
    let client = |own: &str, policy: &str| -> Result<Client, Problems> {
        endpoint(own, policy, peer).and_then(|config| Endpoint::from_config(&config))
    };
    // Our own key, when the endpoint is compiled.
    for policy in ["rsa", "mixed"] {
        let problems = client("client", policy).expect_err("a key of a curve");
        let problems = problems.to_string();
        let expected = "the policy wants an RSA key that is written out (`sp:RsaKeyValue`), found a key of kind EC on P-256";
        assert!(problems.contains(expected), "{problems}");
    }
    client("service", "rsa").unwrap_or_else(|problems| panic!("{problems}"));
    // That of others, when their message is opened: whatever names it.
    let written = secured(&client("client", "any").unwrap_or_else(|problems| panic!("{problems}")));
    assert!(written.contains("<dsig11:ECKeyValue"), "{written}");
    for (policy, expected) in [("any", None), ("rsa", Some("token-unsupported"))] {
        let service = endpoint("service", policy, "");
        let service = service.and_then(|config| Endpoint::from_config(&config));
        let service: Service = service.unwrap_or_else(|problems| panic!("{problems}"));
        let replay = ForgetfulReplayCache;
        let memory = Memory::without_conversations(&replay);
        let received = service.receive(written.clone().into_bytes(), memory);
        let refused = received.err().map(|error| match error {
            ReceiveError::Rejected(rejected) => rejected.name(),
            other => panic!("{other}"),
        });
        assert_eq!(refused, expected, "{policy}");
    }
}

/// A certificate of the client's key that has ended.
fn ended_of_the_client() -> String {
    let past = Timestamp::now() - SignedDuration::from_hours(48);
    let template = Template::new("CN=client", Validity::days(past, 1)).expect("a name");
    let key = keys::identity("CN=client", RSA).key().clone();
    let ended = issue::self_signed(key, &template).expect("it signs");
    ended.certificates_to_pem()
}

/// WS-SecurityPolicy 1.3, 5.4.11: a key says nothing of whose it is. Trust is in the keys that the
/// endpoint pins.
#[test]
fn keys_that_are_written_out_are_those_that_the_endpoint_pins() {
    let folder = Folder::with_keys(RSA, &["client", "service", "other"]);
    folder.write("policy.xml", by_key_values());
    let endpoint = |own: &str, peer: &str, trust: &str| {
        let text = format!(
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n{peer}\
             trust = {{ {trust} }}\nsecurity = {{ policy = \"policy.xml\" }}\n"
        );
        EndpointConfig::from_text(&text, &folder.path("endpoint.toml"), &|_| None)
    };
    let client = |own: &str| -> Client {
        let peer = "peer = { certificate = \"service.cert.pem\" }\n";
        let config = endpoint(own, peer, "pinned = [\"service.cert.pem\"]");
        let client = config.and_then(|config| Endpoint::from_config(&config));
        client.unwrap_or_else(|problems| panic!("{problems}"))
    };
    let service = |trust: &str| -> Service {
        let service = endpoint("service", "", trust);
        let service = service.and_then(|config| Endpoint::from_config(&config));
        service.unwrap_or_else(|problems| panic!("{problems}"))
    };
    let received = |service: &Service, message: String| {
        let replay = ForgetfulReplayCache;
        let memory = Memory::without_conversations(&replay);
        match service.receive(message.into_bytes(), memory) {
            Ok(Arrived::Message(opened)) => Ok(opened),
            Ok(Arrived::Answered(_)) => panic!("an answer"),
            Err(ReceiveError::Rejected(rejected)) => Err(rejected.name()),
            Err(other) => panic!("{other}"),
        }
    };
    let (ours, theirs) = (client("client"), service("pinned = [\"client.cert.pem\"]"));
    let request = secured(&ours);
    assert!(request.contains("<ds:RSAKeyValue>") && !request.contains("BinarySecurityToken"));
    let opened = received(&theirs, request.clone()).expect("it is accepted");
    let signer = opened.evidence.signer().expect("a signer");
    assert_eq!(signer.subject(), "CN=client");
    // A renewed certificate has the key of one that has ended, whichever is named first.
    folder.write("ended.cert.pem", ended_of_the_client());
    for (pinned, expected) in [
        ("\"client.cert.pem\", \"ended.cert.pem\"", None),
        ("\"ended.cert.pem\", \"client.cert.pem\"", None),
        ("\"ended.cert.pem\"", Some("certificate-expired")),
    ] {
        let renewed = service(&format!("pinned = [{pinned}]"));
        let opened = received(&renewed, request.clone());
        assert_eq!(opened.err(), expected, "{pinned}");
    }
    // The answer is signed and encrypted in the same way.
    let plain = with_header(SOAP11, "", HELLO).into_bytes();
    let answer = theirs.answer(plain, &opened.receipt).expect("an answer");
    let text = String::from_utf8(answer.bytes).expect("text");
    assert!(text.contains("<ds:RSAKeyValue>"), "{text}");
    // Whoever might certify a key: it is not known here.
    let stranger = secured(&client("other"));
    let by_anchor = service("anchors = [\"ca.cert.pem\"]");
    assert_eq!(received(&theirs, stranger).err(), Some("key-not-found"));
    assert_eq!(
        received(&by_anchor, request.clone()).err(),
        Some("key-not-found")
    );
    // The value of another key in its place (XML-DSig 4.5.2) signed nothing.
    let signature = |message: &str| message.find("<ds:Signature").expect("a signature");
    let value = |message: &str| {
        let (_, rest) = message.split_once("<ds:KeyValue>").expect("a key");
        rest.split_once("</ds:KeyValue>")
            .expect("its end")
            .0
            .to_owned()
    };
    let both = service("pinned = [\"client.cert.pem\", \"other.cert.pem\"]");
    let foreign = secured(&client("other"));
    let (before, after) = request.split_at(signature(&request));
    let others = value(&foreign[signature(&foreign)..]);
    let swapped = format!("{before}{}", after.replacen(&value(after), &others, 1));
    assert_ne!(swapped, request);
    assert_eq!(received(&both, swapped).err(), Some("signature-mismatch"));
}

/// Elements that are encrypted may be of the Body: what is attached is left readable by choice
/// alone.
#[test]
fn attachments_beside_encrypted_elements_are_readable_by_choice_alone() {
    let elements = |path: &str| {
        let elements = format!(
            "<sp:EncryptedElements xmlns:e='urn:echo' xmlns:s='{SOAP11}'><sp:XPath>{path}</sp:XPath></sp:EncryptedElements>"
        );
        Files::new(&signed("<sp:Basic256Sha256/>", &elements))
    };
    let readable = "attachments = { encrypted = \"none\" }";
    for (path, security, is_warned_of) in [
        ("//e:text", "", false),
        ("//e:text", readable, true),
        ("/s:Envelope/s:Header/e:text", readable, false),
    ] {
        let risks = elements(path).risks("", security);
        let found = risks.contains(&"readable-attachments");
        assert_eq!(found, is_warned_of, "{path} {security}: {risks:?}");
    }
}

/// A signature that the key of a password makes is none that a certificate makes.
#[test]
fn what_certificates_sign_with_is_no_risk_where_a_password_endorses() {
    let include =
        "sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/";
    let service = format!(
        "<sp:X509Token {include}Never'><wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
    );
    let user = format!(
        "<sp:UsernameToken {include}AlwaysToRecipient'><wsp:Policy><sp:RequireDerivedKeys/></wsp:Policy></sp:UsernameToken>"
    );
    let binding = nest("ProtectionToken", &service) + &nest("AlgorithmSuite", "<sp:Basic256/>");
    let policy = format!(
        "{HEAD}{}<sp:SignedParts><sp:Body/></sp:SignedParts>{}</wsp:Policy>",
        nest("SymmetricBinding", &binding),
        nest("EndorsingSupportingTokens", &user)
    );
    let files = Files::new(&policy);
    let risks = files.risks(ALICE, "algorithms = { digest = [\"sha256\"] }");
    assert!(!risks.contains(&"weak-algorithm"), "{risks:?}");
    let risks = files.risks(ALICE, "");
    assert!(
        risks.contains(&"weak-algorithm"),
        "its digest is: {risks:?}"
    );
    // A suite beside a policy file is refused, so it is no remedy.
    let client: Client = files.endpoint(ALICE, "");
    let config = files.config(ALICE, "").expect("it was read");
    let risks = client.risks(&config, true);
    let mut weak = risks.iter().filter(|risk| risk.name == "weak-algorithm");
    let hint = weak.next().and_then(|risk| risk.problem.hint.as_deref());
    let hint = hint.expect("a hint");
    assert!(
        hint.starts_with("change `sp:AlgorithmSuite` in ")
            && hint.ends_with(", or say with `allow_weak_until` when they end"),
        "{hint}"
    );
}

#[test]
fn a_custom_suite_needs_all_of_its_algorithms() {
    let custom = "<c:CustomAlgorithmSuite xmlns:c='http://cxf.apache.org/custom/security-policy'/>";
    let files = Files::new(&signed(custom, ""));
    let some = "algorithms = { signature = [\"rsa-sha512\"], digest = [\"sha512\"] }";
    for security in ["", some] {
        let problems = files.problems::<soapstone::endpoint::Calling>("", security);
        assert!(
            problems.contains("`algorithms` beside `policy` says them"),
            "{problems}"
        );
    }
    let all = "algorithms = { signature = [\"rsa-sha512\"], digest = [\"sha512\"], data = [\"aes256-gcm\"], key_transport = [\"rsa-oaep\"] }";
    let message = secured(&files.endpoint("", all));
    assert!(message.contains("#rsa-sha512\""), "{message}");
}

/// `cases/clients/14`.
#[test]
fn foreign_assertions_are_left_out_by_name_and_warned_of() {
    let foreign = "<c:CarbonSecConfig xmlns:c='urn:carbon'/>";
    let files = Files::new(&signed("<sp:Basic256/>", foreign));
    let problems = files.problems::<soapstone::endpoint::Calling>("", "");
    let unknown = "no assertion `{urn:carbon}CarbonSecConfig` is known here";
    assert!(problems.contains(unknown), "{problems}");
    let ignored = "ignore_assertions = [\"{urn:carbon}CarbonSecConfig\"]";
    let risks = files.risks("", ignored);
    assert!(risks.contains(&"ignored-assertion"), "{risks:?}");
    for (security, told) in [
        (
            "ignore_assertions = [\"{urn:carbon}CarbonSecConfig\", \"{urn:carbon}Other\"]",
            "endpoint.toml:7:53: `ignore_assertions` names an assertion that the policy does not have",
        ),
        (
            "ignore_assertions = [\"{http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702}SignedParts\"]",
            "endpoint.toml:7:22: `ignore_assertions` names an assertion of WS-SecurityPolicy or WS-Policy, which is never ignored",
        ),
        (
            "ignore_assertions = [\"CarbonSecConfig\"]",
            "endpoint.toml:7:22: `ignore_assertions` must name assertions, found another text",
        ),
    ] {
        let problems = files.problems::<soapstone::endpoint::Calling>("", security);
        assert!(problems.contains(told), "{problems}");
    }
}

#[test]
fn a_policy_without_passwords_is_obeyed_by_permission_and_no_other_one_takes_it() {
    let user = nest("UsernameToken", "<sp:NoPassword/>");
    let files = Files::new(&over_tls("", &nest("SupportingTokens", &user)));
    let nameless = "users = [{ name = \"alice\" }]";
    let problems = files.problems::<soapstone::endpoint::Calling>(nameless, "");
    assert!(
        problems.contains("a user without a password proves nothing"),
        "{problems}"
    );
    let message = secured(&files.endpoint(nameless, "password = \"none\""));
    assert!(message.contains("alice"), "{message}");
    assert!(!message.contains("Password"), "{message}");
    let other = Files::new(&signed("<sp:Basic256/>", ""));
    let problems = other.problems::<soapstone::endpoint::Calling>("", "password = \"none\"");
    assert!(
        problems.contains("the policy demands none such"),
        "{problems}"
    );
}

/// A policy may need TLS for a user of HTTP, and have its messages signed all the same.
#[test]
fn attachments_are_left_to_tls_where_their_message_is() {
    let microsoft =
        "<h:BasicAuthentication xmlns:h='http://schemas.microsoft.com/ws/06/2004/policy/http'/>";
    let word = "attachments = { signed = \"none\" }";
    for (policy, of_client, expected) in [
        (
            over_tls("", ""),
            over_tls("<sp:HttpBasicAuthentication/>", ""),
            None,
        ),
        (
            signed("<sp:Basic256Sha256/>", ""),
            signed("<sp:Basic256Sha256/>", microsoft),
            Some("attachment-uncovered"),
        ),
    ] {
        let files = Files::new(&policy);
        let securer: Securer = files.endpoint("", word);
        let opener: Opener = files.endpoint("", word);
        let part = Attachment::new("a@x", "text/plain", b"7".to_vec());
        let message = Message {
            root: with_header(SOAP11, "", HELLO).into_bytes(),
            parts: vec![part.expect("an attachment")],
        };
        let secured = securer.secure(message).expect("it is secured");
        let message = Message {
            root: secured.bytes,
            parts: secured.parts,
        };
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let verified = opener.verify(message, memory).expect("it is accepted");
        files.0.write("policy.xml", &of_client);
        let client: Client = files.endpoint("", word);
        assert!(client.needs_tls());
        let found = client.has_uncovered_part(verified.evidence());
        assert_eq!(found.err().map(|it| it.name()), expected);
    }
}

#[test]
fn the_user_of_http_goes_with_requests_that_leave_and_is_refused_of_those_that_arrive() {
    let microsoft =
        "<h:BasicAuthentication xmlns:h='http://schemas.microsoft.com/ws/06/2004/policy/http'/>";
    let policies = [
        over_tls("<sp:HttpBasicAuthentication/>", ""),
        over_tls("", microsoft),
        // Without TLS in the policy it is needed all the same.
        signed("<sp:Basic256/>", microsoft),
    ];
    for policy in policies {
        let files = Files::new(&policy);
        let client: Client = files.endpoint(ALICE, "");
        // RFC 7617: alice:opens it.
        let expected = Some("Basic YWxpY2U6b3BlbnMgaXQ=");
        assert_eq!(client.http_authorization(), expected);
        assert!(client.needs_tls());
        let client: Client = files.endpoint("", "");
        assert_eq!(client.http_authorization(), None);
        let risks = files.risks("", "");
        assert!(risks.contains(&"http-user-of-clients"), "{risks:?}");
        let colon = "users = [{ name = \"a:b\", password = \"opens it\" }]";
        let problems = files.problems::<soapstone::endpoint::Calling>(colon, "");
        assert!(problems.contains("a colon is in the name"), "{problems}");
        let problems = files.problems::<soapstone::endpoint::Serving>(ALICE, "");
        assert!(problems.contains("which is not checked here"), "{problems}");
    }
    let files = Files::new(&signed("<sp:Basic256/>", ""));
    let client: Client = files.endpoint(ALICE, "");
    assert_eq!(client.http_authorization(), None);
    // Of the messages that begin a conversation, which are our own: no client sends it with them.
    for demand in [
        over_tls("<sp:HttpBasicAuthentication/>", ""),
        over_tls("", microsoft),
    ] {
        let bootstrap = nest(
            "BootstrapPolicy",
            demand
                .trim_start_matches(HEAD)
                .trim_end_matches("</wsp:Policy>"),
        );
        let token = nest("SecureConversationToken", &bootstrap);
        let binding = [
            nest("ProtectionToken", &token),
            nest("AlgorithmSuite", "<sp:Basic256/>"),
        ];
        let binding = nest("SymmetricBinding", &binding.concat());
        let files = Files::new(&format!(
            "{HEAD}{binding}<sp:SignedParts><sp:Body/></sp:SignedParts></wsp:Policy>"
        ));
        let client: Client = files.endpoint(ALICE, "");
        assert!(client.http_authorization().is_some() && client.needs_tls());
        let problems = files.problems::<soapstone::endpoint::Calling>("", "");
        assert!(
            problems.contains("messages that begin conversations"),
            "{problems}"
        );
        let problems = files.problems::<soapstone::endpoint::Serving>(ALICE, "");
        assert!(problems.contains("which is not checked here"), "{problems}");
    }
    let _: Service = files.endpoint(ALICE, "");
}
