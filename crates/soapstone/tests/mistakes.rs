//! What is said of mistakes in endpoint files: with the key that they are made in, and what to
//! write in its place.

#[path = "support/endpoints.rs"]
mod endpoints;

use soapstone::config::EndpointConfig;
use soapstone::crypto::issue;
use soapstone::endpoint::{Calling, Serving};
use soapstone::{Client, Service};
use soapstone_testkit::Folder as Temporary;
use soapstone_testkit::keys::{AUTHORITY, P256, RSA, authority, identity, template};

/// A folder with an authority, the key pair of `CN=me`, and the same in a keystore with a password.
struct Folder(Temporary);

const PASSWORD: &str = "opens it";

impl Folder {
    fn new() -> Self {
        let folder = Temporary::with_keys(RSA, &["me"]);
        let identity = identity("CN=me", RSA);
        let closed = identity.key_to_pem(Some(PASSWORD)).expect("a key");
        folder.write("closed.key.pem", closed.expose());
        folder.write(
            "me.p12",
            identity.to_pkcs12(PASSWORD, "me").expect("a keystore"),
        );
        Self(folder)
    }

    /// What is wrong with an endpoint file, without the folder.
    fn problems(&self, text: &str) -> String {
        endpoints::problems::<Serving>(&self.0, text)
    }

    /// The same of a file whose only mistakes are in its `security`, on the third line.
    fn problems_of_security(&self, security: &str) -> String {
        self.problems(&format!("{IDENTITY}{TRUST}security = {{ {security} }}\n"))
    }
}

const IDENTITY: &str = "identity = { key = \"me.key.pem\", certificate = \"me.cert.pem\" }\n";
const TRUST: &str = "trust = { anchors = [\"ca.cert.pem\"] }\n";

/// The suite that an operator never wrote is for RSA.
#[test]
fn a_key_that_no_algorithm_of_the_suite_fits_has_a_remedy() {
    let folder = Folder(Temporary::with_keys(P256, &["me"]));
    for (security, hint) in [
        (
            "mechanism = \"sign\"",
            "name a suite that fits the key: suite = \"Basic256GCMEcdhEs\" for P-256, \"Basic256GCMX25519\" for Ed25519; without `suite` it is Basic256GCM, for RSA",
        ),
        (
            "mechanism = \"sign\", algorithms = { signature = [\"rsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"] }",
            "name an algorithm that fits the key in `algorithms.signature`, such as ecdsa-sha256 or ed25519; or take an RSA key",
        ),
    ] {
        let found = folder.problems_of_security(security);
        assert!(
            found.contains("names no signature algorithm for a key of kind EC on P-256\n")
                && found.ends_with(&format!("\n    hint: {hint}")),
            "{found}"
        );
    }
    let fitting = "mechanism = \"sign\", suite = \"Basic256GCMEcdhEs\"";
    assert_eq!(folder.problems_of_security(fitting), "");
}

#[test]
fn a_keystore_or_key_without_its_password_is_said_to_have_none() {
    let folder = Folder::new();
    let rest = format!("{TRUST}security = {{ mechanism = \"sign\" }}\n");
    let hint = "    hint: give `password_env`, `password_file` or `password` beside it";
    for (identity, expected) in [
        (
            "keystore = \"me.p12\"".to_owned(),
            format!(
                "endpoint.toml:1:25: `me.p12`: the keystore is encrypted and no password was given\n{hint}"
            ),
        ),
        (
            "key = \"closed.key.pem\", certificate = \"me.cert.pem\"".to_owned(),
            format!(
                "endpoint.toml:1:20: `closed.key.pem`: the key is encrypted and no password was given\n{hint}"
            ),
        ),
        (
            "keystore = \"me.p12\", password = \"\"".to_owned(),
            "endpoint.toml:1:25: `me.p12`: the password does not open the key".to_owned(),
        ),
        (
            format!("keystore = \"me.p12\", password = \"{PASSWORD}\""),
            String::new(),
        ),
    ] {
        let text = format!("identity = {{ {identity} }}\n{rest}");
        assert_eq!(folder.problems(&text), expected, "{identity}");
    }
}

/// Keystores with the password `storepass`, whose key has the password `keypass`: made by
/// `keytool`, and by `KeyStore.setKeyEntry` of Java, since `keytool` makes no such PKCS#12.
const KEYS_WITH_PASSWORDS: [(&str, &[u8]); 2] = [
    (
        "own.jks",
        include_bytes!("keystores/key-with-password-of-its-own.jks"),
    ),
    (
        "own.p12",
        include_bytes!("keystores/key-with-password-of-its-own.p12"),
    ),
];

#[test]
fn the_key_of_a_keystore_can_have_a_password_of_its_own() {
    let folder = Folder::new();
    let rest = format!("{TRUST}security = {{ mechanism = \"sign\" }}\n");
    let problems =
        |identity: &str| folder.problems(&format!("identity = {{ {identity} }}\n{rest}"));
    for (name, bytes) in KEYS_WITH_PASSWORDS {
        folder.0.write(name, bytes);
        let keystore = format!("keystore = \"{name}\", password = \"storepass\"");
        assert_eq!(
            problems(&format!("{keystore}, key_password = \"keypass\"")),
            "",
            "{name}"
        );
        let locked = format!(
            "endpoint.toml:1:25: `{name}`: the keystore is opened, and its private key is not: the password is another one\n    \
             hint: give the key's own as `key_password_env`, `key_password_file` or `key_password`"
        );
        assert_eq!(problems(&keystore), locked);
        assert_eq!(
            problems(&format!("{keystore}, key_password = \"storepass\"")),
            locked
        );
        assert_eq!(
            problems(&format!(
                "keystore = \"{name}\", password = \"keypass\", key_password = \"keypass\""
            )),
            format!("endpoint.toml:1:25: `{name}`: the password does not open the key")
        );
    }
    assert_eq!(
        problems(&format!(
            "key = \"closed.key.pem\", certificate = \"me.cert.pem\", key_password = \"{PASSWORD}\""
        )),
        "endpoint.toml:1:82: a password of the key's own is for the key of a `keystore`\n    \
         hint: name what opens `key` as `password_env`, `password_file` or `password`"
    );
}

#[test]
fn a_keystore_that_is_named_as_key_or_certificate_is_told_how_to_be_named() {
    let folder = Folder::new();
    let rest = format!("{TRUST}security = {{ mechanism = \"sign\" }}\n");
    let hint =
        "    hint: a keystore is named with `keystore`, in the place of `key` and `certificate`";
    for (identity, expected) in [
        (
            "key = \"me.p12\", certificate = \"me.cert.pem\"",
            "endpoint.toml:1:20: `me.p12`: expected a private key, found bytes that are not its DER",
        ),
        (
            "key = \"me.p12\", certificate = \"me.cert.pem\", password = \"opens it\"",
            "endpoint.toml:1:20: `me.p12`: expected an encrypted private key, found bytes that are not its DER",
        ),
        (
            "key = \"me.key.pem\", certificate = \"me.p12\"",
            "endpoint.toml:1:48: `me.p12`: expected an X.509 certificate, found bytes that are not its DER",
        ),
    ] {
        let text = format!("identity = {{ {identity} }}\n{rest}");
        assert_eq!(folder.problems(&text), format!("{expected}\n{hint}"));
    }
}

/// Some mistakes are found while a file is read, others while plans are made of it.
#[test]
fn all_mistakes_of_a_table_are_told_at_once() {
    let folder = Folder::new();
    let file = folder.0.path("endpoint.toml");
    let text = format!(
        "{IDENTITY}trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"me\"], min_rsa_bits = 1 }}\n[security]\nmechanism = \"sign\"\n\
         suite = \"Basic256GMC\"\nsute = \"Basic256GCM\"\nsigned = [\"Bodi\"]\n"
    );
    std::fs::write(&file, &text).expect("it is written");
    let problems = Service::from_file(&file, &|_| None).expect_err("mistakes");
    let told: Vec<(u32, &str)> = problems
        .0
        .iter()
        .map(|problem| (problem.line, problem.message.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (
                2,
                "`subjects` must hold distinguished names, found another text"
            ),
            (
                2,
                "`min_rsa_bits` must be a whole number from 512 to 16384, found a smaller number"
            ),
            (
                5,
                "`suite` must name an algorithm suite, found \"Basic256GMC\""
            ),
            (6, "unknown key `sute` in [security]"),
            (
                7,
                "`signed` must name parts of the envelope, found \"Bodi\""
            ),
        ]
    );
    std::fs::write(&file, text + "[users\n").expect("it is written");
    let problems = Service::from_file(&file, &|_| None).expect_err("no TOML");
    assert_eq!(problems.0.last().map(|problem| problem.line), Some(8));
}

#[test]
fn a_profile_is_named_alone_and_decides_its_keys() {
    let folder = Folder::new();
    let told = folder.problems_of_security("profile = \"x\"");
    let start = "endpoint.toml:3:24: `profile` must be ";
    assert!(told.starts_with(start), "{told}");
    let told = folder.problems_of_security("profile = \"face\", mechanism = \"sign\"");
    let both = "both `profile` and `mechanism` are given";
    assert!(told.contains(both), "{told}");
    let told = folder.problems_of_security("profile = \"face\", signed = [\"Body\"]");
    let decided =
        "endpoint.toml:3:32: `signed` is given beside the profile `face`, which decides it";
    assert!(told.contains(decided), "{told}");
    let unknown = folder.problems_of_security("mechanism = \"sign\", frobnicate = 1");
    assert!(unknown.contains("known here: "), "{unknown}");
}

#[test]
fn a_key_that_is_a_flag_or_a_table_is_known_and_shown() {
    let folder = Folder::new();
    assert_eq!(
        folder.problems_of_security("mechanism = \"sign\", timestmp = true"),
        "endpoint.toml:3:34: unknown key `timestmp` in [security]\n    hint: did you mean `timestamp`?"
    );
    assert_eq!(
        folder.problems_of_security("mechanism = \"sign\", timestamp = \"5m\""),
        "endpoint.toml:3:46: `timestamp` must be a table such as { ttl = \"5m\", skew = \"60s\" }, true or false, found a string"
    );
    let unknown = folder.problems_of_security("mechanism = \"sign\", frobnicate = 1");
    assert!(unknown.contains(", timestamp"), "{unknown}");
}

#[test]
fn the_file_or_subject_that_no_trust_can_be_made_of_is_named() {
    let folder = Folder::new();
    let problems = |trust: &str| {
        let text =
            format!("{IDENTITY}trust = {{ {trust} }}\nsecurity = {{ mechanism = \"sign\" }}\n");
        folder.problems(&text)
    };
    let wrong_list = "`ca.cert.pem`: expected a PEM block `X509 CRL`, found none";
    assert_eq!(
        problems("anchors = [\"ca.cert.pem\"], crls = [\"ca.cert.pem\"]"),
        format!("endpoint.toml:2:46: {wrong_list}")
    );
    assert_eq!(
        problems(
            "anchors = [\"ca.cert.pem\"], subjects = [\"CN=me\", \"me\", \"O\"], crls = \"ca.cert.pem\""
        ),
        format!(
            "endpoint.toml:2:59: `subjects` must hold distinguished names, found another text\n    \
             hint: for example subjects = [\"CN=client\"]\n\
             endpoint.toml:2:65: `subjects` must hold distinguished names, found another text\n    \
             hint: for example subjects = [\"CN=client\"]\n\
             endpoint.toml:2:78: {wrong_list}"
        )
    );
}

#[test]
fn what_is_demanded_of_certificates_is_understood_or_told() {
    let folder = Folder::new();
    let problems = |trust: &str| {
        let text = format!(
            "{IDENTITY}trust = {{ anchors = [\"ca.cert.pem\"], {trust} }}\nsecurity = {{ mechanism = \"sign\" }}\n"
        );
        folder.problems(&text)
    };
    assert_eq!(
        problems("subjects = [\"CN=me\"], subject_match = \"part\""),
        "endpoint.toml:2:76: `subject_match` must be one of whole, contains, found another text"
    );
    assert_eq!(
        problems("subject_match = \"contains\""),
        "endpoint.toml:2:54: `subject_match` without `subjects`\n    \
         hint: say who may sign: subjects = [\"CN=client,O=Example\"]"
    );
    assert_eq!(
        problems("extended_key_usage = [\"clientAuth\", \"signing\"]"),
        "endpoint.toml:2:74: expected an extended key usage, such as `clientAuth` or `1.3.6.1.5.5.7.3.2`, found `signing`"
    );
    assert_eq!(
        problems("extended_key_usage = []"),
        "endpoint.toml:2:9: `extended_key_usage` names no purpose\n    \
         hint: leave it out where none is asked for"
    );
}

#[test]
fn a_key_reference_is_told_by_the_name_that_it_has_in_the_file() {
    let folder = Folder::new();
    assert_eq!(
        folder.problems_of_security("mechanism = \"sign\", key_reference = \"encrypted-key-sha1\""),
        "endpoint.toml:3:50: key reference `encrypted-key-sha1` names a symmetric key, and signatures are made with a certificate"
    );
}

#[test]
fn a_name_that_no_algorithm_has_is_all_that_is_wrong() {
    let folder = Folder::new();
    let hint = "\n    hint: name it by its URI or by its short name, for example \"rsa-sha256\", \"sha256\", \"aes256-gcm\", \
                \"exc-c14n\", \"x25519\", \"hkdf\", \"kw-aes128\"";
    for (list, what, name) in [
        ("data", "data encryption algorithm", "aes-256-gcm"),
        ("signature", "signature algorithm", "rsa"),
        ("digest", "digest algorithm", "sha-256"),
        ("canonicalization", "canonicalization", "c14n-exc"),
        ("key_transport", "key transport algorithm", "rsa15"),
        ("key_agreement", "key agreement algorithm", "ecdh"),
    ] {
        let security =
            format!("mechanism = \"sign-encrypt\", algorithms = {{ {list} = [\"{name}\"] }}");
        let problems = folder.problems_of_security(&security);
        assert!(
            problems.ends_with(&format!(
                ": expected the name of a {what}, found another text{hint}"
            )),
            "{problems}"
        );
        assert_eq!(problems.lines().count(), 2, "{problems}");
    }
    let weak = "mechanism = \"sign\", allow_weak_until = { rsa1_5 = \"2027-01-01\" }";
    let expected = format!("endpoint.toml:3:55: no algorithm is called \"rsa1_5\"{hint}");
    assert_eq!(folder.problems_of_security(weak), expected);
}

#[test]
fn an_algorithm_that_derives_nothing_here_is_told_where_it_stands() {
    let folder = Folder::new();
    let security = "mechanism = \"encrypt\", algorithms = { key_agreement = [\"x25519\"], \
        key_derivation = [\"kdf\", \"pbkdf2\"], derivation_digest = [\"md\", \"sha1\"] }";
    let problems = folder.problems_of_security(security);
    let told: Vec<&str> = problems
        .lines()
        .filter(|line| !line.starts_with(' '))
        .collect();
    let place = |name: &str| {
        let before = security.find(name).expect("it is there") + "security = { ".len();
        format!("endpoint.toml:3:{}: ", before + 1)
    };
    for (name, message) in [
        ("\"pbkdf2\"", "`pbkdf2` derives keys from passwords"),
        ("\"sha1\"", "no key is derived with \"sha1\""),
    ] {
        let expected = place(name) + message;
        assert!(
            told.iter().any(|line| line.starts_with(&expected)),
            "{expected}: {problems}"
        );
    }
}

#[test]
fn what_is_there_twice_is_told_once_and_by_its_name() {
    let folder = Folder::new();
    let rest = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256GCM\"\n";
    assert_eq!(
        folder.problems(&format!(
            "{IDENTITY}{TRUST}{rest}  {rest}timestamp = true\n"
        )),
        "endpoint.toml:6:4: not valid TOML: the table `security` is there twice"
    );
    let nested = rest.replace("[security]", "[identity.decryption]");
    let other = "[trust]\nanchors = [\"ca.cert.pem\"]\nanchors = [\"me.cert.pem\"]\n";
    assert_eq!(
        folder.problems(&format!("{nested}{nested}{other}")),
        "endpoint.toml:4:11: not valid TOML: the table `identity.decryption` is there twice\n\
         endpoint.toml:9:1: not valid TOML: duplicate key `anchors`"
    );
}

#[test]
fn what_only_a_policy_has_a_use_for_is_refused_beside_a_preset() {
    let folder = Folder::new();
    for (key, value) in [
        ("policy_subject", "{ operation = \"Pay\" }"),
        ("sha256_suites", "\"sha256\""),
        ("same_endorser", "true"),
    ] {
        let said = folder.problems_of_security(&format!("mechanism = \"sign\", {key} = {value}"));
        let expected = format!(
            ": `{key}` is given without `policy`, of which it speaks\n    hint: leave it out, or name a policy = \"service.wsdl\" in the place of the mechanism"
        );
        assert!(said.contains(&expected), "{said}");
        assert!(said.starts_with("endpoint.toml:3:"), "{said}");
    }
    let endorsing = "identity = { key = \"me.key.pem\", certificate = \"me.cert.pem\", endorsing = { key = \"me.key.pem\", certificate = \"me.cert.pem\" } }\n";
    let said = folder.problems(&format!(
        "{endorsing}{TRUST}security = {{ mechanism = \"sign\" }}\n"
    ));
    assert!(
        said.starts_with("endpoint.toml:1:") && said.contains("`endorsing` is given"),
        "{said}"
    );
}

#[test]
fn what_is_wrong_with_the_place_of_a_key_in_a_token_is_told_where_it_stands() {
    let folder = Folder::new();
    let rest = format!("{TRUST}security = {{ mechanism = \"sign\" }}\n");
    for (key, expected) in [
        (
            "pkcs11 = {}",
            "endpoint.toml:1:23: `module` is missing in [identity.pkcs11]\n    \
             hint: name the shared library of the token's maker: module = \"/usr/lib/….so\"\n\
             endpoint.toml:1:23: `token` is missing in [identity.pkcs11]\n    \
             hint: say which token: token = \"LABEL\" or slot = 0\n\
             endpoint.toml:1:23: `key` is missing in [identity.pkcs11]\n    \
             hint: say which key: key = \"LABEL\" or id = \"0a1b\"",
        ),
        (
            "pkcs11 = { module = \"m.so\", token = \"t\", slot = 0, key = \"k\" }",
            "endpoint.toml:1:62: both `token` and `slot` are given\n    hint: keep one of them",
        ),
        (
            "pkcs11 = { module = \"m.so\", token = \"t\", id = \"xyz\" }",
            "endpoint.toml:1:60: `id` must be pairs of hexadecimal digits, found something else",
        ),
        (
            "key = \"me.key.pem\", pkcs11 = { module = \"m.so\", token = \"t\", key = \"k\" }",
            "endpoint.toml:1:43: both `pkcs11` and `key`, `keystore` or `password` are given\n    \
             hint: keep pkcs11 and certificate; the PIN belongs into the table pkcs11",
        ),
    ] {
        let text = format!("identity = {{ {key}, certificate = \"me.cert.pem\" }}\n{rest}");
        assert_eq!(folder.problems(&text), expected, "{key}");
    }
}

/// A key in a token never gives way to another one.
#[test]
fn a_module_that_cannot_be_used_is_told_with_what_it_is_for() {
    let folder = Folder::new();
    let text = format!(
        "identity = {{ pkcs11 = {{ module = \"none.so\", token = \"t\", key = \"k\" }}, certificate = \"me.cert.pem\" }}\n\
         {TRUST}security = {{ mechanism = \"sign\" }}\n"
    );
    let expected = match cfg!(feature = "pkcs11") {
        true => {
            "endpoint.toml:1:23: key `k` in token `t` of `none.so`: the module does not start: none.so: cannot open shared object file"
        }
        false => {
            "endpoint.toml:1:23: this build cannot use keys in tokens: it is built without PKCS#11\n    \
             hint: build it with the feature `pkcs11`, or name a key in a file"
        }
    };
    let told = folder.problems(&text);
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn a_list_of_prefixes_has_prefixes() {
    let folder = Folder::new();
    let told = |listed: &str| {
        let security =
            format!("mechanism = \"sign\", signature = {{ inclusive_prefixes = {listed} }}");
        folder.problems_of_security(&security)
    };
    for right in ["true", "false", "[\"soap\", \"#default\", \"_a-b.c\"]"] {
        assert_eq!(told(right), "");
    }
    assert_eq!(
        told("[]"),
        "endpoint.toml:3:69: `inclusive_prefixes` names no prefix\n    \
         hint: say true for those in scope, or false for none"
    );
    for wrong in ["soap:", "", "a b", "1a", "#other"] {
        assert_eq!(
            told(&format!("[\"{wrong}\"]")),
            "endpoint.toml:3:70: `inclusive_prefixes` must name prefixes, found another text\n    \
             hint: a prefix stands without its colon; \"#default\" is the default namespace"
        );
    }
    let user = "users = [{ name = \"alice\", password = \"secret\" }]\n";
    let text = |password: &str| {
        format!(
            "{user}security = {{ mechanism = \"username\", password = \"{password}\", username_token = {{ implied_text = true }} }}\n"
        )
    };
    assert_eq!(folder.problems(&text("text")), "");
    let problems = folder.problems(&text("digest"));
    let expected = "`implied_text` is given, and passwords are digests, whose type is always said";
    assert!(problems.contains(expected), "{problems}");
}

#[test]
fn an_order_of_header_items_that_no_receiver_can_process_is_refused_where_it_stands() {
    let folder = Folder::new();
    let told = |security: &str| folder.problems_of_security(security);
    assert_eq!(
        told("mechanism = \"sign\", header_order = [\"signature\", \"timestamp\"]"),
        ""
    );
    assert_eq!(
        told("mechanism = \"sign\", header_order = [\"signature\", \"token\", \"signature\"]"),
        "endpoint.toml:3:49: `header_order` must name an item once, found `signature` twice"
    );
    let wrong = "header_order = [\"signature\", \"key\"]";
    let peer = "peer = { certificate = \"me.cert.pem\" }\n";
    let text = |mechanism: &str| {
        format!("{IDENTITY}{TRUST}{peer}security = {{ mechanism = \"{mechanism}\", {wrong} }}\n")
    };
    assert_eq!(folder.problems(&text("encrypt-sign")), "");
    let problems = folder.problems(&text("sign-encrypt"));
    let expected = "endpoint.toml:4:57: `header_order` must have `key` before `signature`, found `signature` before `key`: \
         the message is signed first, and what was done last stands first";
    assert!(problems.starts_with(expected), "{problems}");
    let unknown = told("mechanism = \"sign\", header_order = [\"body\"]");
    let names = "timestamp, token, key-token, username, assertion, key, signature";
    assert!(
        unknown.starts_with(&format!(
            "endpoint.toml:3:50: `header_order` must be one of {names}, found"
        )),
        "{unknown}"
    );
}

#[test]
fn an_order_that_messages_cannot_have_is_refused_where_it_stands() {
    let folder = Folder::new();
    let order = "header_order = [\"signature\", \"timestamp\"]";
    let text = format!(
        "{TRUST}users = [{{ name = \"alice\", password = \"secret\" }}]\n\
         security = {{ mechanism = \"sign\", password_keys = {{}}, {order} }}\n"
    );
    assert_eq!(
        folder.problems(&text),
        "endpoint.toml:3:69: `header_order` is for signatures and session keys by certificates and shared keys: other keys have their own order"
    );
}

/// Answers under the key of the request have an order that the file does not say, and the client
/// makes none.
#[test]
fn an_order_is_no_demand_of_messages_that_arrive() {
    let folder = Folder::new();
    let text = "peer = { certificate = \"me.cert.pem\" }\n\
                security = { mechanism = \"encrypt\", header_order = [\"key\", \"timestamp\"] }\n";
    assert_eq!(endpoints::problems::<Calling>(&folder.0, text), "");
}

#[test]
fn an_item_that_neither_requests_nor_answers_have_is_refused() {
    let folder = Folder::new();
    let told = |security: &str| folder.problems_of_security(security);
    assert_eq!(
        told("mechanism = \"sign\", header_order = [\"signature\", \"key\", \"token\"]"),
        "endpoint.toml:3:49: `header_order` must name items that messages have, found `key`: messages have timestamp, token, signature\n    \
         hint: leave it out"
    );
    let user = "users = [{ name = \"alice\", password = \"secret\" }]\n";
    let text = |order: &str| {
        format!("{user}security = {{ mechanism = \"username\", header_order = [{order}] }}\n")
    };
    // Answers have no user.
    assert_eq!(folder.problems(&text("\"username\", \"timestamp\"")), "");
    let problems = folder.problems(&text("\"signature\""));
    let expected = "endpoint.toml:2:53: `header_order` must name items that messages have, found `signature`: messages have timestamp, username";
    assert!(problems.starts_with(expected), "{problems}");
}

#[test]
fn answers_with_a_protection_of_their_own_have_the_usual_order() {
    let folder = Folder::new();
    let text = format!(
        "{IDENTITY}{TRUST}security = {{ mechanism = \"encrypt-sign\", header_order = [\"signature\", \"key\"] }}\n\
         peer = {{ certificate = \"me.cert.pem\" }}\nanswers = {{ mechanism = \"sign-encrypt\" }}\n"
    );
    assert_eq!(folder.problems(&text), "");
}

/// Nothing is refused for it: peers may be less strict. The operator hears of it.
#[test]
fn a_certificate_whose_key_usage_speaks_against_its_use_is_warned_of() {
    let folder = Temporary::with_keys(RSA, &[]);
    for (name, sign, encrypt) in [("me", false, true), ("peer", true, false)] {
        let template = template(&format!("CN={name}")).limited_to(sign, encrypt);
        let identity = issue::identity(&authority(AUTHORITY), RSA, &template);
        folder.write_identity(name, &identity.expect("it is issued"));
    }
    let told = |mechanism: &str| {
        let text = format!(
            "{IDENTITY}{TRUST}peer = {{ certificate = \"peer.cert.pem\" }}\nsecurity = {{ mechanism = \"{mechanism}\" }}\n"
        );
        let config = EndpointConfig::from_text(&text, &folder.path("endpoint.toml"), &|_| None);
        let config = config.expect("it is read");
        let client = Client::from_config(&config).expect("it is compiled");
        let risks = client.risks(&config, true).into_iter();
        let risks = risks.filter(|risk| risk.name == "key-usage");
        let told = risks.map(|risk| format!("{}: {}", risk.problem.line, risk.problem.message));
        told.collect::<Vec<_>>()
    };
    let signs = "1: messages are signed with the key of `CN=me`, whose key usage is `keyEncipherment`, `dataEncipherment`: peers may refuse them";
    let encrypts = "3: messages are encrypted to the key of `CN=peer`, whose key usage is `digitalSignature`, `nonRepudiation`: the peer may refuse them";
    assert_eq!(told("sign"), [signs]);
    assert_eq!(told("encrypt"), [encrypts]);
    assert_eq!(told("sign-encrypt"), [signs, encrypts]);
}
