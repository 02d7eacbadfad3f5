//! `sp:IssuedToken` (WS-SecurityPolicy 1.3, 5.4.2): an assertion that another service makes, in the
//! places where `sp:SamlToken` may stand.

use soapstone_policy::{IssuedKey, ProblemKind};
use soapstone_wss::{ConversationVersion, HolderUse, KeyBinding, Part, SamlVersion};

use crate::refusals::not_supported;
use crate::support::*;

const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
const SAML: &str = "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#";

/// A token assertion with a template, whose prefix `t` is that of WS-Trust 1.3.
fn issued(template: &str, inner: &str) -> String {
    let issuer = "<sp:Issuer><a:Address xmlns:a='http://www.w3.org/2005/08/addressing'> https://sts.example/issue </a:Address></sp:Issuer>";
    let template = format!(
        "<sp:RequestSecurityTokenTemplate xmlns:t='{WST}'>{template}</sp:RequestSecurityTokenTemplate>"
    );
    let token = token("IssuedToken", "AlwaysToRecipient", inner);
    let (start, rest) = token.split_once('>').expect("a start tag");
    format!("{start}>{issuer}{template}{rest}")
}

fn key(name: &str) -> String {
    format!("<t:KeyType>{WST}/{name}</t:KeyType>")
}

#[test]
fn a_bearers_token_supports_and_its_template_is_kept_for_the_request() {
    let claims = "<t:Claims Dialect='urn:d'><c:Type xmlns:c='urn:c' Uri='a&amp;b' c:x='1'>role</c:Type></t:Claims>";
    let kinds = [
        ("SupportingTokens", false),
        ("SignedSupportingTokens", true),
    ];
    for (kind, signed) in kinds {
        let template = format!(
            "<t:TokenType>{SAML}SAMLV1.1</t:TokenType>{}{claims}",
            key("Bearer")
        );
        let supporting = nest(kind, &issued(&template, "<sp:RequireInternalReference/>"));
        let binding = asymmetric(&suite("Basic256"));
        let found = agreement(&format!("{binding}{SIGNED_BODY}{supporting}"));
        let wanted = found.request.assertion().expect("an assertion");
        assert_eq!(wanted.versions, [SamlVersion::V11]);
        assert_eq!(wanted.holder, HolderUse::Beside);
        assert_eq!(found.request.signs(&Part::Assertion), signed, "{kind}");
        assert_eq!(found.response.assertion(), None);
        let said = found.issued.expect("what the policy says of it");
        assert_eq!(said.issuer.as_deref(), Some("https://sts.example/issue"));
        assert_eq!(said.trust, Some(ConversationVersion::V13));
        assert_eq!(said.key_type, Some(IssuedKey::Bearer));
        assert_eq!(
            said.other,
            format!(
                "<Claims xmlns=\"{WST}\" Dialect=\"urn:d\"><Type xmlns=\"urn:c\" Uri=\"a&amp;b\" \
                 xmlns:a1=\"urn:c\" a1:x=\"1\">role</Type></Claims>"
            )
        );
    }
}

#[test]
fn the_holder_of_an_issued_token_signs_or_endorses() {
    let template = format!(
        "<t:TokenType>{SAML}SAMLV2.0</t:TokenType>{}",
        key("PublicKey")
    );
    let token = issued(&template, "");
    let binding = asymmetric(&suite("Basic256"));
    let endorsing = nest("EndorsingSupportingTokens", &token);
    let found = agreement(&format!("{binding}{SIGNED_BODY}{endorsing}")).request;
    let wanted = found.assertion().expect("an assertion");
    assert_eq!(wanted.holder, HolderUse::Endorses);
    assert_eq!(wanted.versions, [SamlVersion::V20]);
    let connection = transport("<sp:IncludeTimestamp/>");
    let found = agreement(&format!("{connection}{endorsing}")).request;
    assert_eq!(
        found.assertion().map(|it| it.holder),
        Some(HolderUse::Endorses)
    );
}

#[test]
fn issued_tokens_that_are_no_such_assertion_are_refused_by_name() {
    let cases = [
        (
            "SupportingTokens",
            issued("<t:TokenType>urn:other</t:TokenType>", ""),
            "issued tokens are assertions of SAML",
        ),
        (
            "EndorsingSupportingTokens",
            issued(&key("SymmetricKey"), ""),
            "the symmetric key of an issued token protects messages in a symmetric binding, and does nothing else",
        ),
        (
            "EndorsingSupportingTokens",
            issued("<t:KeyType>urn:other</t:KeyType>", ""),
            "the key of an issued token is none, a symmetric one, or the public key of its holder",
        ),
        (
            "EndorsingSupportingTokens",
            issued(&key("Bearer"), ""),
            "the token of a bearer has no key that could sign",
        ),
        (
            "SupportingTokens",
            issued("", "<sp:RequireExternalReference/>"),
            "messages refer to an assertion that they carry",
        ),
    ];
    for (kind, token, expected) in cases {
        let binding = asymmetric(&suite("Basic256"));
        let supporting = nest(kind, &token);
        let (refused, reason) = not_supported(&format!("{binding}{SIGNED_BODY}{supporting}"));
        assert_eq!((refused.as_str(), reason), ("IssuedToken", expected));
    }
    let cases = [
        (
            "PublicKey",
            "the key of a token that protects messages in a symmetric binding is symmetric",
        ),
        ("Bearer", "the token of a bearer has no key that could sign"),
    ];
    for (kind, expected) in cases {
        let binding = symmetric(&issued(&key(kind), ""), &suite("Basic256"));
        let (refused, reason) = not_supported(&format!("{binding}{SIGNED_BODY}"));
        assert_eq!((refused.as_str(), reason), ("IssuedToken", expected));
    }
}

/// WS-SecurityPolicy 1.3, 7.4; WS-Trust 1.4, 4.4.
#[test]
fn the_symmetric_key_of_an_issued_token_protects_messages() {
    let template = format!(
        "{}<t:KeySize>256</t:KeySize><t:ComputedKeyAlgorithm>{WST}/CK/PSHA1</t:ComputedKeyAlgorithm>",
        key("SymmetricKey")
    );
    for template in [template.as_str(), ""] {
        let binding = symmetric(&issued(template, ""), &suite("Basic256"));
        let found = agreement(&format!("{binding}{SIGNED_BODY}"));
        assert!(found.request.uses(KeyBinding::Assertion));
        assert!(found.response.uses(KeyBinding::Assertion));
        let wanted = found.request.assertion().expect("an assertion");
        assert_eq!(wanted.holder, HolderUse::Signs);
        let issued = found.issued.expect("what the policy says of it");
        let (key_type, key_size) = (Some(IssuedKey::SymmetricKey), Some(256));
        match template {
            "" => assert_eq!((issued.key_type, issued.key_size), (None, None)),
            _ => assert_eq!((issued.key_type, issued.key_size), (key_type, key_size)),
        }
        assert_eq!(issued.other, "");
    }
    for other in [
        "<t:KeySize>many</t:KeySize>",
        "<t:KeySize>64</t:KeySize>",
        "<t:KeySize>1024</t:KeySize>",
        "<t:KeySize>260</t:KeySize>",
        "<t:ComputedKeyAlgorithm>urn:other</t:ComputedKeyAlgorithm>",
    ] {
        let template = key("SymmetricKey") + other;
        let binding = symmetric(&issued(&template, ""), &suite("Basic256"));
        let found = problems(&format!("{binding}{SIGNED_BODY}"));
        let reason =
            "a symmetric key has 128 to 512 bits in whole bytes, and is computed by P_SHA1";
        assert_eq!(
            found[0].kind,
            ProblemKind::NotSupported { reason },
            "{other}"
        );
    }
}

/// A WSDL may be a stranger's. What its template says would be asked for with our rights.
#[test]
fn a_template_asks_for_nobody_and_for_no_other_service() {
    let address =
        "<a:Address xmlns:a='http://www.w3.org/2005/08/addressing'>https://pay.example</a:Address>";
    let wst14 = "xmlns:w='http://docs.oasis-open.org/ws-sx/ws-trust/200802'";
    let wsp = "xmlns:p='http://www.w3.org/ns/ws-policy'";
    let cases = [
        (
            "OnBehalfOf",
            "<t:OnBehalfOf>admin</t:OnBehalfOf>".to_owned(),
        ),
        ("ActAs", format!("<w:ActAs {wst14}>admin</w:ActAs>")),
        ("DelegateTo", "<t:DelegateTo/>".to_owned()),
        ("Participants", "<t:Participants/>".to_owned()),
        (
            "AppliesTo",
            format!("<p:AppliesTo {wsp}>{address}</p:AppliesTo>"),
        ),
        ("Lifetime", "<t:Lifetime/>".to_owned()),
        ("UseKey", "<t:UseKey/>".to_owned()),
        ("Entropy", "<t:Entropy/>".to_owned()),
        ("ProofEncryption", "<t:ProofEncryption/>".to_owned()),
        ("SecondaryParameters", "<t:SecondaryParameters/>".to_owned()),
        ("Claims", "<c:Claims xmlns:c='urn:other'/>".to_owned()),
        (
            "EncryptWith",
            "<t:EncryptWith><t:OnBehalfOf/></t:EncryptWith>".to_owned(),
        ),
    ];
    for (name, element) in cases {
        let template = format!("{}\n{element}", key("Bearer"));
        let supporting = nest("SupportingTokens", &issued(&template, ""));
        let binding = asymmetric(&suite("Basic256"));
        let found = problems(&format!("{binding}{SIGNED_BODY}{supporting}"));
        let [problem] = found.as_slice() else {
            panic!("{name}: {found:?}")
        };
        assert_eq!(&*problem.assertion.local, name);
        assert_eq!((problem.place.line, problem.place.column), (2, 1), "{name}");
        let reason = "a template says of what kind a token is and which claims it has, and nothing else of the request";
        assert_eq!(problem.kind, ProblemKind::NotSupported { reason }, "{name}");
    }
}

/// Namespaces in XML 1.0, 3: no other prefix may be bound to the namespace of `xml`.
#[test]
fn the_language_of_a_claim_keeps_its_prefix() {
    let claims = "<t:Claims Dialect='urn:d'><c:Type xmlns:c='urn:c' xml:lang='de'/></t:Claims>";
    let supporting = nest("SupportingTokens", &issued(claims, ""));
    let binding = asymmetric(&suite("Basic256"));
    let found = agreement(&format!("{binding}{SIGNED_BODY}{supporting}"));
    assert_eq!(
        found.issued.expect("what the policy says of it").other,
        format!(
            "<Claims xmlns=\"{WST}\" Dialect=\"urn:d\"><Type xmlns=\"urn:c\" xml:lang=\"de\"></Type></Claims>"
        )
    );
}
