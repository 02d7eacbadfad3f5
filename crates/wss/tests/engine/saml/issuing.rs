//! An issuer of assertions, for tests: of right ones, and of those that nobody should accept.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use soapstone_crypto::{
    Certificate, DigestAlgorithm, Identity, SignatureAlgorithm, TrustRules, TrustStore, digest,
};
use soapstone_testkit::keys;
use soapstone_wss::{
    AssertionIssuer, AssertionPolicy, AssertionProtection, ConfirmationMethod, Envelope, Facts,
    Keys, Mechanism, Policy, Rejected, SamlVersion, SupportingToken, Verified, names,
};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};
use soapstone_xmlsec::write::{self, ReferenceParts, SignedInfoWriter, TransformParts};

use crate::support::{PARTIES, now, open_with, policy, service_keys};

pub(crate) const ISSUER: &str = "https://idp.example";
pub(crate) const OTHER_ISSUER: &str = "https://other.example";
pub(crate) const AUDIENCE: &str = "https://service.example";
pub(crate) const ID: &str = "_assertion";

pub(crate) static IDP: LazyLock<Arc<Identity>> =
    LazyLock::new(|| keys::identity("CN=idp", keys::RSA));
pub(crate) static OTHER_IDP: LazyLock<Arc<Identity>> =
    LazyLock::new(|| keys::identity("CN=other idp", keys::P256));

/// The moment at which assertions are made and messages opened. It stands still, so that two
/// assertions that say the same are the same.
pub(crate) fn moment() -> Timestamp {
    static MOMENT: LazyLock<Timestamp> = LazyLock::new(now);
    *MOMENT
}

/// A moment some seconds from then, as assertions have it.
pub(crate) fn in_seconds(seconds: i64) -> String {
    let moment = Timestamp::from_second(moment().as_second() + seconds).unwrap();
    moment.to_string()
}

/// What an assertion says.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) version: SamlVersion,
    pub(crate) id: String,
    pub(crate) issuer: String,
    pub(crate) issued: String,
    pub(crate) subject: String,
    pub(crate) confirmation: String,
    pub(crate) conditions: String,
    pub(crate) statements: String,
}

/// The confirmation of a method, with this content.
pub(crate) fn confirmation(version: SamlVersion, method: &str, content: &str) -> String {
    match version {
        SamlVersion::V20 => format!(
            "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:{method}\">{content}</saml:SubjectConfirmation>"
        ),
        SamlVersion::V11 => format!(
            "<saml:SubjectConfirmation><saml:ConfirmationMethod>urn:oasis:names:tc:SAML:1.0:cm:{method}</saml:ConfirmationMethod>{content}</saml:SubjectConfirmation>"
        ),
    }
}

/// The conditions of an assertion that holds for ten minutes, for us.
pub(crate) fn conditions(version: SamlVersion, content: &str) -> String {
    let (begin, end) = (in_seconds(-30), in_seconds(600));
    let restriction = match version {
        SamlVersion::V20 => "AudienceRestriction",
        SamlVersion::V11 => "AudienceRestrictionCondition",
    };
    format!(
        "<saml:Conditions NotBefore=\"{begin}\" NotOnOrAfter=\"{end}\"><saml:{restriction}><saml:Audience>{AUDIENCE}</saml:Audience></saml:{restriction}>{content}</saml:Conditions>"
    )
}

/// A `ds:KeyInfo` with a certificate.
pub(crate) fn key_info(certificate: &Certificate) -> String {
    let mut out = Vec::new();
    write::x509_certificates(std::slice::from_ref(certificate), &mut out);
    let data = String::from_utf8(out).unwrap();
    format!("<ds:KeyInfo xmlns:ds=\"{}\">{data}</ds:KeyInfo>", names::DS)
}

impl Draft {
    /// An assertion about Alice, whoever has it.
    pub(crate) fn bearer(version: SamlVersion) -> Self {
        Self {
            version,
            id: ID.to_owned(),
            issuer: ISSUER.to_owned(),
            issued: in_seconds(-30),
            subject: "alice".to_owned(),
            confirmation: confirmation(version, "bearer", ""),
            conditions: conditions(version, ""),
            statements: match version {
                SamlVersion::V20 => "<saml:AttributeStatement><saml:Attribute Name=\"role\"><saml:AttributeValue>reader</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>",
                SamlVersion::V11 => "<saml:Attribute AttributeName=\"role\" AttributeNamespace=\"urn:names\"><saml:AttributeValue>reader</saml:AttributeValue></saml:Attribute>",
            }
            .to_owned(),
        }
    }

    /// An assertion about Alice, who has the key of a certificate.
    pub(crate) fn holder(version: SamlVersion, certificate: &Certificate) -> Self {
        let info = key_info(certificate);
        let content = match version {
            SamlVersion::V20 => {
                format!("<saml:SubjectConfirmationData>{info}</saml:SubjectConfirmationData>")
            }
            SamlVersion::V11 => info,
        };
        Self {
            confirmation: confirmation(version, "holder-of-key", &content),
            ..Self::bearer(version)
        }
    }

    /// An assertion about Alice, for whom somebody vouches.
    pub(crate) fn vouched(version: SamlVersion) -> Self {
        Self {
            confirmation: confirmation(version, "sender-vouches", ""),
            ..Self::bearer(version)
        }
    }

    /// The assertion without a signature.
    pub(crate) fn unsigned(&self) -> String {
        let Self {
            id,
            issuer,
            issued,
            subject,
            confirmation,
            conditions,
            statements,
            ..
        } = self;
        let namespace = self.version.namespace();
        match self.version {
            SamlVersion::V20 => format!(
                "<saml:Assertion xmlns:saml=\"{namespace}\" ID=\"{id}\" IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer>{issuer}</saml:Issuer><saml:Subject><saml:NameID>{subject}</saml:NameID>{confirmation}</saml:Subject>{conditions}{statements}</saml:Assertion>"
            ),
            SamlVersion::V11 => format!(
                "<saml:Assertion xmlns:saml=\"{namespace}\" AssertionID=\"{id}\" IssueInstant=\"{issued}\" Issuer=\"{issuer}\" MajorVersion=\"1\" MinorVersion=\"1\">{conditions}<saml:AttributeStatement><saml:Subject><saml:NameIdentifier>{subject}</saml:NameIdentifier>{confirmation}</saml:Subject>{statements}</saml:AttributeStatement></saml:Assertion>"
            ),
        }
    }

    /// The assertion, signed by its issuer as issuers do.
    pub(crate) fn signed(&self) -> String {
        let unsigned = self.unsigned();
        sign(&unsigned, &SignatureForm::of(&self.id), &IDP)
    }
}

/// How an assertion is signed.
#[derive(Clone)]
pub(crate) struct SignatureForm {
    pub(crate) uri: String,
    pub(crate) enveloped: bool,
    pub(crate) canonicalization: Canonicalization,
    pub(crate) method: Option<SignatureAlgorithm>,
    pub(crate) digest: DigestAlgorithm,
    pub(crate) with_certificate: bool,
}

impl SignatureForm {
    pub(crate) fn of(id: &str) -> Self {
        Self {
            uri: format!("#{id}"),
            enveloped: true,
            canonicalization: Canonicalization::Exclusive,
            method: None,
            digest: DigestAlgorithm::Sha256,
            with_certificate: true,
        }
    }
}

/// Signs an assertion, and puts the signature where its schema has it.
pub(crate) fn sign(unsigned: &str, form: &SignatureForm, signer: &Identity) -> String {
    let document = Document::parse(
        unsigned.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    )
    .unwrap();
    let mut canonical = Vec::new();
    canonicalize(
        &document,
        Apex::Element(document.root().id()),
        &C14nOptions::new(form.canonicalization),
        &mut C14nScratch::default(),
        &mut canonical,
    )
    .unwrap();
    let signature = signature_over(&canonical, form, signer);
    insert_signature(unsigned, &signature)
}

/// A signature whose one reference has the digest of these bytes.
pub(crate) fn signature_over(bytes: &[u8], form: &SignatureForm, signer: &Identity) -> String {
    let kind = signer.key().kind();
    let mut all = SignatureAlgorithm::ALL.iter().copied();
    let usual = || all.find(|one| one.fits(kind) && one.short_name().ends_with("sha256"));
    let method = form.method.or_else(usual).unwrap();
    let canonicalization = TransformParts::Canonicalization(form.canonicalization, &[]);
    let transforms = match form.enveloped {
        true => vec![TransformParts::Enveloped, canonicalization],
        false => vec![canonicalization],
    };
    let mut info = SignedInfoWriter::new(
        Vec::new(),
        write::Apex::PLAIN,
        Canonicalization::Exclusive,
        method,
        None,
    );
    info.reference(&ReferenceParts {
        id: None,
        uri: Some(&form.uri),
        kind: None,
        transforms: &transforms,
        digest_method: form.digest,
        digest: digest(form.digest, bytes).unwrap().as_ref(),
    });
    let info = info.finish();
    let value = signer.key().sign(method, info.octets()).unwrap();
    let mut data = Vec::new();
    write::x509_certificates(std::slice::from_ref(signer.certificate()), &mut data);
    let key_info = form.with_certificate.then_some(data.as_slice());
    let mut out = Vec::new();
    write::signature(None, &info, &value, key_info, &mut out);
    String::from_utf8(out).unwrap()
}

/// The assertion with a signature where its schema has it.
pub(crate) fn insert_signature(unsigned: &str, signature: &str) -> String {
    let behind_issuer = "</saml:Issuer>";
    match unsigned.contains(behind_issuer) {
        true => unsigned.replacen(behind_issuer, &format!("{behind_issuer}{signature}"), 1),
        false => unsigned.replacen(
            "</saml:Assertion>",
            &format!("{signature}</saml:Assertion>"),
            1,
        ),
    }
}

/// The issuers that the service knows: each with a certificate of its own.
pub(crate) fn issuers() -> Arc<[AssertionIssuer]> {
    let issuer = |name: &str, identity: &Identity| {
        let mut rules = TrustRules::default();
        rules.pinned.push(identity.certificate().clone());
        AssertionIssuer {
            name: name.to_owned(),
            trust: Some(TrustStore::new(rules).unwrap()),
        }
    };
    Arc::new([issuer(ISSUER, &IDP), issuer(OTHER_ISSUER, &OTHER_IDP)])
}

/// The keys of a service that knows issuers.
pub(crate) fn knowing_issuers() -> Keys {
    Keys {
        issuers: issuers(),
        ..service_keys()
    }
}

/// What the service accepts of assertions: all methods, and both versions.
pub(crate) fn accepting() -> AssertionPolicy {
    AssertionPolicy {
        versions: SamlVersion::ALL.to_vec(),
        methods: ConfirmationMethod::ALL.to_vec(),
        audiences: vec![AUDIENCE.to_owned()],
        attesters: vec!["CN=client".to_owned()],
        ..AssertionPolicy::default()
    }
}

/// The policy of messages whose assertion is all that they have: the connection protects them.
pub(crate) fn by_connection() -> Policy {
    with_assertion(
        policy(Mechanism::None, "Basic256GCM"),
        AssertionPolicy {
            protection: AssertionProtection::Connection,
            ..accepting()
        },
    )
}

/// The policy of signed messages with an assertion.
pub(crate) fn by_signature() -> Policy {
    with_assertion(policy(Mechanism::Sign, "Basic256GCM"), accepting())
}

pub(crate) fn with_assertion(mut policy: Policy, assertion: AssertionPolicy) -> Policy {
    policy
        .supporting
        .push(SupportingToken::Assertion(assertion));
    policy
}

/// A change of what a policy accepts of assertions.
pub(crate) fn adjusted(policy: &Policy, change: impl Fn(&mut AssertionPolicy)) -> Policy {
    let mut policy = policy.clone();
    for token in &mut policy.supporting {
        if let SupportingToken::Assertion(assertion) = token {
            change(assertion);
        }
    }
    policy
}

/// A message with these items in its security header, and nothing else.
pub(crate) fn message(items: &str) -> String {
    message_with(items, "", "")
}

/// The same, with other header blocks, and more in the Body.
pub(crate) fn message_with(items: &str, blocks: &str, body: &str) -> String {
    format!(
        "<soap:Envelope xmlns:soap=\"{}\"><soap:Header><wsse:Security xmlns:wsse=\"{}\">{items}</wsse:Security>{blocks}</soap:Header><soap:Body><e:echo xmlns:e=\"urn:echo\">{body}</e:echo></soap:Body></soap:Envelope>",
        names::SOAP11,
        names::WSSE
    )
}

/// Opens a message over a connection that protects it.
pub(crate) fn open_over_tls(message: &str) -> Result<Verified<Envelope>, Rejected> {
    open_as(&by_connection(), message, &Facts::default())
}

/// Opens a message of a policy at the service that knows issuers.
pub(crate) fn open_as(
    policy: &Policy,
    message: &str,
    facts: &Facts,
) -> Result<Verified<Envelope>, Rejected> {
    open_with(policy, knowing_issuers(), facts, message, moment())
}

/// The certificate of the client, proven by the connection.
pub(crate) fn shown(identity: &Identity) -> Facts {
    Facts {
        client_certificate: Some(identity.certificate().clone()),
        ..Facts::default()
    }
}

/// The client of all tests.
pub(crate) fn client() -> Arc<Identity> {
    Arc::clone(&PARTIES.client)
}
