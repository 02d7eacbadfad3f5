//! Policies that no preset has, measured in memory: signatures of Suite B, parts of messages,
//! contexts without derived keys.
//!
//! The rule kept here: arms of a point differ in the one thing that is asked about.

use soapstone::crypto::{Curve, DigestAlgorithm, KeyKind, SignatureAlgorithm};
use soapstone::wss::names::SOAP11;
use soapstone::wss::{
    Binding, DerivedKeyForm, ElementPath, EncryptedPart, Extent, Mechanism, Part, Policy, Suite,
};

use super::SUITE;
use crate::studies::in_memory::{Messages, Workbench};
use crate::study::{Line, Operation, Point, Scope};

/// Names of what is encrypted, and the fields of employees: none of them is the whole body.
pub(super) const PARTS: [(&str, &[&str]); 4] = [
    ("nothing", &[]),
    ("ssn", &["ssn"]),
    (
        "four-fields",
        &["ssn", "dateOfBirth", "homeAddress", "phoneNumber"],
    ),
    ("body", &["*"]),
];

/// `data-encryption` etc. of the study's suite.
fn suite() -> Suite {
    Suite::named(SUITE).expect("a suite that there is")
}

/// The echo of the point.
fn echo(point: &Point) -> Messages {
    let characters = point.at.get("characters").and_then(|it| it.parse().ok());
    Messages::of(Operation::Echo {
        characters: characters.unwrap_or(12),
    })
}

/// The element of each employee that has this name.
fn field(name: &str) -> Part {
    let path = format!("//e:employee/e:{name}");
    let namespace = soapstone_services::Service::Employees.namespace();
    let path = ElementPath::parse(&path, |_| Some(namespace.to_owned()));
    Part::Path(path.expect("a path of child steps"))
}

/// The content of each field, so that its tags stay.
fn contents(fields: &[&str]) -> Vec<EncryptedPart> {
    let part = |name: &&str| EncryptedPart {
        part: field(name),
        extent: Extent::Content,
    };
    fields.iter().map(part).collect()
}

/// Many parts are more than a message of a preset may have.
fn allow_many(policy: &mut Policy) {
    policy.limits.references = 1_000;
}

/// RSA beside ECDSA, signed only.
pub(super) fn suite_b(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let messages = echo(point);
    let rsa = KeyKind::Rsa { bits: 2048 };
    for (arm, kind, signature, digest) in [
        (
            "sign/RSA-2048-SHA-256",
            rsa,
            SignatureAlgorithm::RsaSha256,
            DigestAlgorithm::Sha256,
        ),
        (
            "sign/ECDSA-P-256-SHA-256",
            KeyKind::Ec(Curve::P256),
            SignatureAlgorithm::EcdsaSha256,
            DigestAlgorithm::Sha256,
        ),
        (
            "sign/ECDSA-P-384-SHA-384",
            KeyKind::Ec(Curve::P384),
            SignatureAlgorithm::EcdsaSha384,
            DigestAlgorithm::Sha384,
        ),
    ] {
        let suite = Suite {
            name: arm.to_owned(),
            signature: vec![signature],
            digest: vec![digest],
            ..suite()
        };
        Workbench::with_keys(kind)
            .processing(Mechanism::Sign, &suite, |_| ())
            .measure(&messages, scope.scale, arm, emit);
    }
}

/// Signed, and with so many fields encrypted.
pub(super) fn partial(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let encrypted = point.at.get("encrypted").map_or("", String::as_str);
    let Some((_, fields)) = PARTS.into_iter().find(|(name, _)| *name == encrypted) else {
        return;
    };
    let messages = Messages::of(Operation::Employees);
    let workbench = Workbench::new();
    for (mechanism, arm) in [
        (Mechanism::Encrypt, "encrypt/Basic256"),
        (Mechanism::SignEncrypt, "sign-encrypt/Basic256"),
    ] {
        let (mechanism, arm) = match (fields, mechanism) {
            ([], Mechanism::Encrypt) => (Mechanism::None, "encrypt/Basic256"),
            ([], _) => (Mechanism::Sign, arm),
            _ => (mechanism, arm),
        };
        workbench
            .processing(mechanism, &suite(), |policy| {
                allow_many(policy);
                if policy.binding.encrypts() && fields != ["*"] {
                    policy.parts.encrypted = contents(fields);
                }
            })
            .measure(&messages, scope.scale, arm, emit);
    }
}

/// What is encrypted twice: names of calls, and the calls.
pub(super) const TWICE: [(&str, Operation); 3] = [
    ("Echo", Operation::Echo { characters: 12 }),
    ("Echo-12-kB", Operation::Echo { characters: 12_000 }),
    ("EmployeeDetails-25", Operation::Employees),
];

/// The content of the element in the Body: what is encrypted first.
fn payload() -> EncryptedPart {
    let soap = |_: &str| Some(SOAP11.to_owned());
    let path = ElementPath::parse("/s:Envelope/s:Body/*", soap);
    EncryptedPart {
        part: Part::Path(path.expect("a path of child steps")),
        extent: Extent::Content,
    }
}

/// Encrypted once, and twice in one message: the content of the payload, and the content of the
/// Body with that cipher text in it. XML Encryption calls the second one super-encryption (XML-Enc
/// 1.0, 2.1.5).
pub(super) fn twice(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let called = point.at.get("operation").map_or("", String::as_str);
    let Some((_, operation)) = TWICE.into_iter().find(|(name, _)| *name == called) else {
        return;
    };
    let messages = Messages::of(operation);
    let workbench = Workbench::new();
    for mechanism in [Mechanism::Encrypt, Mechanism::SignEncrypt] {
        for (times, twice) in [("", false), ("-twice", true)] {
            let arm = format!("{mechanism}{times}/{SUITE}");
            workbench
                .processing(mechanism, &suite(), |policy| {
                    if twice {
                        policy.parts.encrypted.insert(0, payload());
                    }
                })
                .measure(&messages, scope.scale, &arm, emit);
        }
    }
}

/// A conversation's keys derived for many messages or for each, said in tokens or in references, or
/// its key as it is; beside keys of certificates.
pub(super) fn context(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    let messages = echo(point);
    let workbench = Workbench::new();
    let conversation = Mechanism::SecureConversation;
    let mut measure = |mechanism, arm, change: fn(&mut Policy)| {
        workbench.processing(mechanism, &suite(), change).measure(
            &messages,
            scope.scale,
            arm,
            &mut *emit,
        );
    };
    measure(Mechanism::SignEncrypt, "sign-encrypt/Basic256", |_| ());
    measure(conversation, "context/derived-key-tokens", |_| ());
    measure(conversation, "context/new-derived-keys", |policy| {
        policy.tuning.derived_keys = None;
    });
    measure(conversation, "context/implied-derived-keys", |policy| {
        if let Binding::Symmetric(binding) = &mut policy.binding
            && let Some(derived) = &mut binding.derived_keys
        {
            derived.form = DerivedKeyForm::Implied;
        }
    });
    measure(conversation, "context/its-own-key", |policy| {
        if let Binding::Symmetric(binding) = &mut policy.binding {
            binding.derived_keys = None;
        }
    });
}
