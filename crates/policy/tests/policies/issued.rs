//! `sp:IssuedToken` (WS-SecurityPolicy 1.3, 5.4.2): an assertion that another service makes, in the
//! places where `sp:SamlToken` may stand.

use soapstone_policy::{IssuedKey, NoticeKind, ProblemKind};
use soapstone_wss::{
    AssertionProtection, ConfirmationMethod, ConversationVersion, EndorsingKey, HolderUse,
    KeyBinding, Part, SamlVersion,
};

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
            "SupportingTokens",
            issued(&key("SymmetricKey"), ""),
            "a symmetric key that signs nothing proves nobody: let it endorse",
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
    let initiator = nest("InitiatorToken", &issued(&key("SymmetricKey"), ""));
    let recipient = nest("RecipientToken", &x509("Never", ""));
    let binding = nest(
        "AsymmetricBinding",
        &format!("{initiator}{recipient}{}", suite("Basic256")),
    );
    let (_, reason) = not_supported(&format!("{binding}{SIGNED_BODY}"));
    let expected = "the key of an initiator in an asymmetric binding is no symmetric one";
    assert_eq!(reason, expected);
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

/// WS-SecurityPolicy 1.3, 8.3 and 8.7: the message is under other keys, or comes over a connection.
#[test]
fn the_symmetric_key_of_an_issued_token_endorses() {
    let symmetric = symmetric(&x509("Never", ""), &suite("Basic256"));
    let derive = "<sp:RequireDerivedKeys/>";
    for (binding, protection) in [
        (
            transport("<sp:IncludeTimestamp/>"),
            AssertionProtection::Connection,
        ),
        (
            asymmetric(&suite("Basic256")) + SIGNED_BODY,
            AssertionProtection::Signature,
        ),
        (
            symmetric.clone() + SIGNED_BODY,
            AssertionProtection::Signature,
        ),
    ] {
        for (inner, derives) in [("", false), (derive, true)] {
            let token = issued(&key("SymmetricKey"), inner);
            let endorsing = nest("EndorsingSupportingTokens", &token);
            let found = agreement(&format!("{binding}{endorsing}"));
            let wanted = found.request.assertion().expect("an assertion");
            assert_eq!(wanted.holder, HolderUse::Endorses);
            assert_eq!(wanted.methods, [ConfirmationMethod::HolderOfKey]);
            assert_eq!(wanted.protection, protection);
            let mut endorsing = found.request.endorsing();
            let key = endorsing.next().expect("a token that endorses").key;
            let EndorsingKey::Assertion {
                by_place,
                derived_keys,
            } = key
            else {
                panic!("{key:?}")
            };
            // Messages name the assertion by its id (SAML Token Profile 1.1.1, 3.4).
            assert_eq!((by_place, derived_keys.is_some()), (false, derives));
            assert!(!found.response.uses_proof_key());
            assert_eq!(
                found.issued.and_then(|it| it.key_type),
                Some(IssuedKey::SymmetricKey)
            );
        }
    }
    // As part of the message, the assertion is signed and encrypted with it.
    let token = issued(&key("SymmetricKey"), "");
    let endorsing = nest("SignedEndorsingEncryptedSupportingTokens", &token);
    let found = agreement(&format!("{symmetric}{SIGNED_BODY}{endorsing}")).request;
    assert!(found.signs(&Part::Assertion) && found.encrypts(&Part::Assertion));
    let late = symmetric.replace(
        "</wsp:Policy></sp:SymmetricBinding>",
        "<sp:EncryptBeforeSigning/></wsp:Policy></sp:SymmetricBinding>",
    );
    assert_ne!(late, symmetric);
    let (_, reason) = not_supported(&format!("{late}{SIGNED_BODY}{endorsing}"));
    assert_eq!(
        reason,
        "an assertion whose holder endorses is deciphered before his signature is verified: leave sp:EncryptBeforeSigning out"
    );
}

/// A private key that endorses is the holder's own: nothing is derived from it. WCF demands it all
/// the same, and signs with that key.
#[test]
fn no_key_is_derived_from_a_public_key_that_endorses() {
    let endorsing = |template: &str| {
        let token = issued(template, "<sp:RequireDerivedKeys/>");
        let endorsing = nest("EndorsingSupportingTokens", &token);
        format!("{}{SIGNED_BODY}{endorsing}", asymmetric(&suite("Basic256")))
    };
    let found = agreement(&endorsing(&key("PublicKey")));
    let wanted = found.request.assertion().expect("an assertion");
    assert_eq!(wanted.holder, HolderUse::Endorses);
    let mut tokens = found.request.endorsing();
    let token = tokens.next().expect("a token that endorses");
    assert!(token.key.derived_keys().is_none(), "{token:?}");
    let (name, reason) = not_supported(&endorsing(""));
    let expected = "keys are derived from a symmetric key alone: that of an assertion which protects messages in a symmetric binding, or endorses them";
    assert_eq!((name.as_str(), reason), ("IssuedToken", expected));
}

/// A template says that the token has a key: then no bearer's will do.
#[test]
fn the_holder_of_a_supporting_token_with_a_public_key_shows_it() {
    let supporting = nest("SupportingTokens", &issued(&key("PublicKey"), ""));
    let endorsing = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
    let connection = transport("<sp:IncludeTimestamp/>");
    let session = symmetric(&x509("Never", ""), &suite("Basic256")) + SIGNED_BODY;
    for policy in [
        asymmetric(&suite("Basic256")) + SIGNED_BODY + &supporting,
        format!("{connection}{supporting}{endorsing}"),
        format!("{connection}{supporting}"),
        format!("{session}{supporting}{endorsing}"),
    ] {
        let found = agreement(&policy);
        let wanted = found.request.assertion().expect("an assertion");
        assert_eq!(wanted.methods, [ConfirmationMethod::HolderOfKey]);
        assert_eq!(wanted.holder, HolderUse::Beside);
        let shown = found.transport.map(|it| it.client_certificate);
        let unsigned = found.request.signature().is_none();
        assert_eq!(shown.unwrap_or_default(), unsigned);
    }
    let (_, reason) = not_supported(&format!("{session}{supporting}"));
    let expected =
        "nothing shows the key of its holder: let it endorse, or a certificate beside it";
    assert_eq!(reason, expected);
}

#[test]
fn what_a_template_says_twice_is_refused() {
    for (name, again) in [
        ("KeyType", key("Bearer")),
        (
            "TokenType",
            format!("<t:TokenType>{SAML}SAMLV1.1</t:TokenType>"),
        ),
    ] {
        let token_type = format!("<t:TokenType>{SAML}SAMLV2.0</t:TokenType>");
        let token = issued(&format!("{token_type}{}{again}", key("PublicKey")), "");
        let endorsing = nest("EndorsingSupportingTokens", &token);
        let binding = asymmetric(&suite("Basic256"));
        let found = problems(&format!("{binding}{SIGNED_BODY}{endorsing}"));
        assert_eq!(found[0].kind, ProblemKind::Repeated);
        assert_eq!(&*found[0].assertion.local, name);
    }
}

/// WS-SecurityPolicy 1.3, 7.3: requests carry the token, and the connection shows whose it is.
#[test]
fn an_issued_token_is_that_of_a_transport() {
    let of_transport = |template: &str| {
        let token = nest("TransportToken", &issued(template, ""));
        nest("TransportBinding", &format!("{token}{}", suite("Basic256")))
    };
    for (template, method, client_certificate) in [
        (key("PublicKey"), ConfirmationMethod::HolderOfKey, true),
        // Nothing weaker, where nothing is said.
        (String::new(), ConfirmationMethod::HolderOfKey, true),
        (key("Bearer"), ConfirmationMethod::Bearer, false),
    ] {
        let found = agreement(&of_transport(&template));
        let transport = found.transport.expect("a connection");
        assert_eq!(transport.client_certificate, client_certificate);
        let wanted = found.request.assertion().expect("an assertion");
        assert_eq!(wanted.methods, [method]);
        let holder = match client_certificate {
            true => HolderUse::Connects,
            false => HolderUse::Beside,
        };
        assert_eq!(wanted.holder, holder);
        assert_eq!(wanted.protection, AssertionProtection::Connection);
        assert_eq!(found.response.assertion(), None);
        assert!(found.issued.is_some());
    }
    let (name, reason) = not_supported(&of_transport(&key("SymmetricKey")));
    let expected = "a symmetric key that signs nothing proves nobody: let it endorse";
    assert_eq!((name.as_str(), reason), ("IssuedToken", expected));
}

/// WS-SecurityPolicy 1.3, 5.4.2: claims stand beside the template, or in it; both are asked for.
#[test]
fn claims_beside_a_template_are_asked_for() {
    let claims = format!("<t:Claims xmlns:t='{WST}' Dialect='urn:d'/>");
    let in_template = issued(&format!("{}{claims}", key("Bearer")), "");
    let beside =
        issued(&key("Bearer"), "").replace("<wsp:Policy>", &(claims.clone() + "<wsp:Policy>"));
    let binding = asymmetric(&suite("Basic256")) + SIGNED_BODY;
    let of = |token: &str| {
        let found = agreement(&format!("{binding}{}", nest("SupportingTokens", token)));
        let told = found.notices.iter().any(|it| it.kind == NoticeKind::Claims);
        assert!(told, "{:?}", found.notices);
        found.issued.expect("what the policy says of it")
    };
    assert_eq!(of(&beside), of(&in_template));
    assert!(of(&beside).other.starts_with("<Claims "));
    let twice = in_template.replace("<wsp:Policy>", &(claims + "<wsp:Policy>"));
    let found = problems(&format!("{binding}{}", nest("SupportingTokens", &twice)));
    assert_eq!(found[0].kind, ProblemKind::Repeated);
}

/// WS-SecurityPolicy 1.3, 5: what a token is for, the assertion around it says.
#[test]
fn a_token_that_stands_alone_is_refused_by_name() {
    for name in ["IssuedToken", "SamlToken", "KerberosToken", "X509Token"] {
        let (found, reason) = not_supported(&token(name, "AlwaysToRecipient", ""));
        let expected = "a token has its use from the assertion around it, a binding or supporting tokens, and here is none (WS-SecurityPolicy 1.3, 7 and 8)";
        assert_eq!((found.as_str(), reason), (name, expected));
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
