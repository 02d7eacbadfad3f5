//! What is not supported, by name and place.

use soapstone_policy::{CompileOptions, ProblemKind};
use soapstone_wss::PathError;

use crate::support::*;

pub(crate) fn not_supported(assertions: &str) -> (String, &'static str) {
    match refused(assertions).as_slice() {
        [(name, ProblemKind::NotSupported { reason })] => (name.clone(), *reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_problem_names_the_assertion_with_line_and_column() {
    let binding = symmetric(
        &format!("\n  {}", token("RelToken", "Once", "")),
        &suite("Basic128"),
    );
    let problems = problems(&format!("{binding}{SIGNED_BODY}"));
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}")
    };
    assert_eq!((problem.place.line, problem.place.column), (2, 3));
    assert_eq!(
        problem.to_string(),
        "`sp:RelToken` is not supported: rights expressions are not supported (at line 2 column 3)"
    );
}

#[test]
fn every_problem_is_reported_not_only_the_first() {
    let found = refused(&format!(
        "{}{SIGNED_BODY}<sp:Unheard/><x xmlns='urn:x'/>",
        asymmetric(&format!(
            "{}{}",
            suite("Basic600"),
            "<sp:ProtectTokens/><sp:Protect/>"
        ))
    ));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["Basic600", "Protect", "Unheard", "x"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(
        found.iter().all(|(_, kind)| *kind == ProblemKind::Unknown),
        "{found:?}"
    );
}

#[test]
fn tokens_that_messages_cannot_carry_are_refused_each_by_name() {
    for name in ["RelToken", "SpnegoContextToken"] {
        let supporting = nest("SupportingTokens", &token(name, "AlwaysToRecipient", ""));
        let binding = asymmetric(&suite("Basic256"));
        let (refused, _) = not_supported(&format!("{binding}{SIGNED_BODY}{supporting}"));
        assert_eq!(refused, name);
        let binding = symmetric(&token(name, "AlwaysToRecipient", ""), &suite("Basic256"));
        let (refused, _) = not_supported(&format!("{binding}{SIGNED_BODY}"));
        assert_eq!(refused, name);
    }
}

#[test]
fn a_stronger_alternative_that_cannot_be_done_is_not_replaced_by_none() {
    let rights = symmetric(&token("RelToken", "Once", ""), &suite("Basic128")).replacen(
        "<sp:SymmetricBinding>",
        "<sp:SymmetricBinding wsp:Optional='true'>",
        1,
    );
    let (refused, _) = not_supported(&rights);
    assert_eq!(refused, "RelToken");
}

#[test]
fn a_policy_without_alternatives_allows_no_messages() {
    let nothing = "\n<wsp:All>\n <wsp:ExactlyOne/></wsp:All>";
    let error = agreement_with(nothing, &CompileOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy allows no messages: it has no alternative (nothing to choose from at line 3 column 2)"
    );
}

#[test]
fn parts_without_a_binding_are_refused() {
    assert_eq!(
        refused(ENCRYPTED_BODY),
        [(
            "EncryptedParts".to_owned(),
            ProblemKind::Missing { what: "a binding" }
        )]
    );
}

#[test]
fn two_bindings_that_differ_are_refused_and_two_that_agree_are_one() {
    let one = asymmetric(&suite("Basic256"));
    let other = asymmetric(&suite("Basic128"));
    assert_eq!(
        refused(&format!("{one}{other}{SIGNED_BODY}")),
        [("AsymmetricBinding".to_owned(), ProblemKind::Repeated)]
    );
    agreement(&format!("{one}{one}{SIGNED_BODY}"));
}

#[test]
fn a_bootstrap_whose_body_is_not_protected_is_refused() {
    let bootstrap = symmetric(
        &x509("Never", ""),
        &format!("{}<sp:IncludeTimestamp/>", suite("Basic128")),
    );
    let header = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let conversation = token(
        "SecureConversationToken",
        "AlwaysToRecipient",
        &nest("BootstrapPolicy", &format!("{bootstrap}{header}")),
    );
    let found = refused(&format!(
        "{}{SIGNED_BODY}",
        symmetric(&conversation, &suite("Basic128"))
    ));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().all(|(name, kind)| name == "SymmetricBinding"
            && matches!(kind, ProblemKind::Missing { .. }))
    );
}

#[test]
fn a_conversation_needs_a_bootstrap_and_the_bootstrap_is_no_conversation() {
    let bare = token("SecureConversationToken", "AlwaysToRecipient", "");
    assert_eq!(
        refused(&format!(
            "{}{SIGNED_BODY}",
            symmetric(&bare, &suite("Basic128"))
        )),
        [(
            "SecureConversationToken".to_owned(),
            ProblemKind::Missing {
                what: "sp:BootstrapPolicy"
            }
        )]
    );
    let inner = format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        symmetric(
            &token(
                "SecureConversationToken",
                "AlwaysToRecipient",
                &nest("BootstrapPolicy", ""),
            ),
            &suite("Basic128"),
        )
    );
    let outer = token(
        "SecureConversationToken",
        "AlwaysToRecipient",
        &nest("BootstrapPolicy", &inner),
    );
    let (name, reason) = not_supported(&format!(
        "{}{SIGNED_BODY}",
        symmetric(&outer, &suite("Basic128"))
    ));
    assert_eq!(
        (name.as_str(), reason),
        (
            "SecureConversationToken",
            "a conversation is made by messages outside of conversations"
        )
    );
}

#[test]
fn paths_that_are_not_understood_are_refused_with_the_expression() {
    let binding = asymmetric(&suite("Basic256"));
    let found = refused(&format!(
        "{binding}<sp:SignedElements><sp:XPath>//q:x</sp:XPath></sp:SignedElements>"
    ));
    assert_eq!(
        found,
        [(
            "XPath".to_owned(),
            ProblemKind::Path {
                expression: "//q:x".to_owned(),
                error: PathError::UnknownPrefix {
                    prefix: "q".to_owned()
                }
            }
        )]
    );
    let found = refused(&format!(
        "{binding}<sp:SignedElements XPathVersion='2.0'><sp:XPath>//x</sp:XPath></sp:SignedElements>"
    ));
    assert!(matches!(
        found.as_slice(),
        [(name, ProblemKind::Value { attribute: "XPathVersion", .. })] if name == "SignedElements"
    ));
}

#[test]
fn users_that_nothing_proves_are_refused() {
    for (inner, reason) in [
        (
            "<sp:NoPassword/>",
            "a user without a password proves nothing; `password = \"none\"` accepts it",
        ),
        (
            "<sp:RequireDerivedKeys/>",
            "a user whose token signs nothing has no use for derived keys: let it endorse",
        ),
    ] {
        let users = nest(
            "SupportingTokens",
            &token("UsernameToken", "AlwaysToRecipient", inner),
        );
        assert_eq!(
            not_supported(&format!("{}{users}", transport(""))),
            ("UsernameToken".to_owned(), reason)
        );
    }
}

/// WS-SecurityPolicy 1.3, 5.3: nothing is derived from a private key. Some derive what signs from a
/// key that they wrap for the receiver, as anybody can.
#[test]
fn keys_that_are_derived_of_a_token_that_signs_alone_are_refused() {
    let reason = "nothing is derived from the private key that signs, and other keys prove nobody: demand derived keys of the token that encrypts";
    for (derived, _) in DERIVED_KEYS {
        for (initiator, recipient) in [(derived, ""), ("", derived)] {
            let tokens = [
                ("InitiatorSignatureToken", initiator),
                ("InitiatorEncryptionToken", ""),
                ("RecipientSignatureToken", recipient),
                ("RecipientEncryptionToken", ""),
            ]
            .map(|(role, inner)| nest(role, &x509("Never", inner)));
            let binding = nest(
                "AsymmetricBinding",
                &format!("{}{}", tokens.concat(), suite("Basic256")),
            );
            assert_eq!(
                not_supported(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}")),
                ("X509Token".to_owned(), reason)
            );
        }
    }
}

/// WS-SecurityPolicy 1.3, 8.5 and 8.6: who is to read what is encrypted has to have a key. Without
/// one, the password would go in the clear.
#[test]
fn a_user_who_is_to_be_encrypted_for_nobody_is_refused() {
    let initiator = nest("InitiatorToken", &x509("AlwaysToRecipient", ""));
    let recipient = nest("RecipientSignatureToken", &x509("Never", ""));
    let binding = nest(
        "AsymmetricBinding",
        &format!("{initiator}{recipient}{}", suite("Basic256")),
    );
    let user = token("UsernameToken", "AlwaysToRecipient", "");
    let endorsing = x509("AlwaysToRecipient", "");
    for supporting in [
        nest("SignedEncryptedSupportingTokens", &user),
        nest("SignedSupportingTokens", &user),
        nest("EndorsingEncryptedSupportingTokens", &endorsing),
    ] {
        assert_eq!(
            refused(&format!("{binding}{SIGNED_BODY}{supporting}")),
            [(
                "AsymmetricBinding".to_owned(),
                ProblemKind::Missing {
                    what: "sp:RecipientToken"
                }
            )]
        );
    }
}

#[test]
fn other_canonical_forms_than_the_exclusive_one_are_refused() {
    let suite = nest("AlgorithmSuite", "<sp:Basic256/><sp:InclusiveC14N/>");
    let (name, reason) = not_supported(&format!("{}{SIGNED_BODY}", asymmetric(&suite)));
    assert_eq!(
        (name.as_str(), reason),
        (
            "InclusiveC14N",
            "signatures are made in exclusive canonical form"
        )
    );
}

#[test]
fn an_inclusion_that_no_version_knows_is_refused() {
    let token = x509("Sometimes", "");
    let found = refused(&format!(
        "{}{SIGNED_BODY}",
        symmetric(&token, &suite("Basic256"))
    ));
    assert!(found.iter().any(|(name, kind)| name == "X509Token"
        && matches!(
            kind,
            ProblemKind::Value {
                attribute: "sp:IncludeToken",
                ..
            }
        )));
}

#[test]
fn a_suite_whose_algorithms_are_not_in_the_policy_is_refused() {
    let custom = "<c:CustomAlgorithmSuite xmlns:c='http://cxf.apache.org/custom/security-policy'/>";
    let binding = asymmetric(&nest("AlgorithmSuite", custom));
    let (name, reason) = refused(&format!("{binding}{SIGNED_BODY}"))
        .into_iter()
        .find_map(|(name, kind)| match kind {
            ProblemKind::NotSupported { reason } => Some((name, reason)),
            _ => None,
        })
        .unwrap();
    assert_eq!(name, "CustomAlgorithmSuite");
    assert_eq!(
        reason,
        "its algorithms are in the configuration of CXF, and not in the policy: `algorithms` beside `policy` says them"
    );
}

/// WS-SecurityPolicy 1.3, 8.2 and 8.5: signed and encrypted supporting tokens are what a binding
/// signs and encrypts. Without one, a password in the clear would do.
#[test]
fn supporting_tokens_that_are_to_be_protected_need_a_binding() {
    let user = token("UsernameToken", "AlwaysToRecipient", "");
    for kind in [
        "SignedSupportingTokens",
        "EncryptedSupportingTokens",
        "SignedEncryptedSupportingTokens",
    ] {
        assert_eq!(
            refused(&nest(kind, &user)),
            [(kind.to_owned(), ProblemKind::Missing { what: "a binding" })]
        );
    }
    let plain = agreement(&nest("SupportingTokens", &user));
    assert!(plain.request.username().is_some());
}

/// WS-SecurityPolicy 1.3, 5.4.7: without a binding, both sides' parts of the context's key would
/// travel in the clear.
#[test]
fn a_bootstrap_without_a_binding_is_refused() {
    let user = nest(
        "SupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    for bootstrap in [
        "",
        user.as_str(),
        "<wsp:ExactlyOne><wsp:All/></wsp:ExactlyOne>",
    ] {
        let context = token(
            "SecureConversationToken",
            "AlwaysToRecipient",
            &nest("BootstrapPolicy", bootstrap),
        );
        let policy = format!("{}{SIGNED_BODY}", symmetric(&context, &suite("Basic256")));
        assert_eq!(
            refused(&policy),
            [(
                "SecureConversationToken".to_owned(),
                ProblemKind::Missing {
                    what: "a binding in sp:BootstrapPolicy"
                }
            )],
            "{bootstrap}"
        );
    }
}

/// WS-SecurityPolicy 1.3, 7.4 and 7.5: each purpose has one token. The first one alone would leave
/// the other's demand out.
#[test]
fn two_tokens_for_one_purpose_are_refused() {
    let one = nest("InitiatorToken", &x509("AlwaysToRecipient", ""));
    let recipient = nest("RecipientToken", &x509("Never", ""));
    let suite = suite("Basic256");
    for (second, name) in [
        (
            nest(
                "InitiatorToken",
                &token("SamlToken", "AlwaysToRecipient", ""),
            ),
            "InitiatorToken",
        ),
        (
            nest(
                "InitiatorSignatureToken",
                &token("SamlToken", "AlwaysToRecipient", ""),
            ),
            "InitiatorSignatureToken",
        ),
        (
            nest("RecipientEncryptionToken", &token("RelToken", "Once", "")),
            "RecipientEncryptionToken",
        ),
    ] {
        let binding = nest(
            "AsymmetricBinding",
            &format!("{one}{recipient}{second}{suite}"),
        );
        assert_eq!(
            refused(&format!("{binding}{SIGNED_BODY}")),
            [(
                name.to_owned(),
                ProblemKind::Conflict {
                    with: "another token for the same purpose"
                }
            )]
        );
    }
    let binding = symmetric(
        &x509("Never", ""),
        &format!(
            "{suite}{}",
            nest("SignatureToken", &token("RelToken", "Once", ""))
        ),
    );
    assert_eq!(
        refused(&format!("{binding}{SIGNED_BODY}")),
        [(
            "SignatureToken".to_owned(),
            ProblemKind::Conflict {
                with: "another token for the same purpose"
            }
        )]
    );
}

/// WS-SecurityPolicy 1.3, 6.7: a header has one layout, and the last one that is said is not it.
#[test]
fn two_layouts_are_refused() {
    let layouts = format!(
        "{}{}",
        nest("Layout", "<sp:Strict/>"),
        nest("Layout", "<sp:Lax/>")
    );
    let binding = asymmetric(&format!("{layouts}{}", suite("Basic256")));
    assert_eq!(
        refused(&format!("{binding}{SIGNED_BODY}")),
        [("Layout".to_owned(), ProblemKind::Repeated)]
    );
}

/// WS-SecurityPolicy 1.1, 4.3.10: the attribute is an `xs:boolean`. Whoever writes another word
/// does not mean that no certificate is needed.
#[test]
fn a_demand_for_client_certificates_that_is_no_truth_value_is_refused() {
    let https = "<sp:HttpsToken RequireClientCertificate='TRUE'/>";
    let binding = nest(
        "TransportBinding",
        &format!("{}{}", nest("TransportToken", https), suite("Basic256")),
    );
    assert_eq!(
        refused(&binding),
        [(
            "HttpsToken".to_owned(),
            ProblemKind::Value {
                attribute: "RequireClientCertificate",
                expected: "`true` or `false`",
                found: "TRUE".to_owned()
            }
        )]
    );
}

/// SOAP Message Security 1.1.1, 8.5: under a transport binding the connection protects
/// confirmations.
#[test]
fn confirmations_in_answers_are_demanded_under_a_transport_binding() {
    let wss = nest("Wss11", "<sp:RequireSignatureConfirmation/>");
    let endorsing = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
    let agreed = agreement(&format!(
        "{}{endorsing}{wss}",
        transport("<sp:IncludeTimestamp/>")
    ));
    assert!(agreed.response.header.signature_confirmation);
    assert!(!agreed.request.header.signature_confirmation);
}

/// SOAP Message Security 1.1.1, 8.5: in an answer that nobody signs, a confirmation is what anybody
/// on the way likes to write.
#[test]
fn confirmations_in_answers_that_nobody_signs_are_refused() {
    let wss = nest("Wss11", "<sp:RequireSignatureConfirmation/>");
    let binding = asymmetric(&suite("Basic256"));
    assert_eq!(
        refused(&format!("{binding}{ENCRYPTED_BODY}{wss}")),
        [(
            "Wss11".to_owned(),
            ProblemKind::Missing {
                what: "sp:SignedParts or sp:IncludeTimestamp"
            }
        )]
    );
}

/// WS-SecurityPolicy 1.3, 10.2: a demand on requests for tokens that is not obeyed is not passed
/// over.
#[test]
fn a_demand_for_collections_of_requests_for_tokens_is_refused() {
    let trust = nest("Trust13", "<sp:RequireRequestSecurityTokenCollection/>");
    let (name, _) = not_supported(&format!(
        "{}{SIGNED_BODY}{trust}",
        asymmetric(&suite("Basic256"))
    ));
    assert_eq!(name, "RequireRequestSecurityTokenCollection");
}

/// WS-SecurityPolicy 1.3, 2 and WS-Policy 1.5, 4.3.2: what an assertion demands in particular
/// stands in its nested policy. Beside that, nobody would obey it.
#[test]
fn assertions_beside_a_nested_policy_are_not_passed_over() {
    let binding = asymmetric(&suite("Basic256"));
    let plain = format!("{binding}{SIGNED_BODY}");
    let encrypting = binding.replace(
        "</sp:AsymmetricBinding>",
        "<sp:EncryptSignature/></sp:AsymmetricBinding>",
    );
    let strict = asymmetric(&format!(
        "{}<sp:Layout><sp:Strict/></sp:Layout>",
        suite("Basic256")
    ));
    let flag = asymmetric(&format!(
        "{}<sp:IncludeTimestamp><sp:ProtectTokens/></sp:IncludeTimestamp>",
        suite("Basic256")
    ));
    let user = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    let more = user.replace("</sp:Signed", "<sp:SignedElements/></sp:Signed");
    for (policy, name) in [
        (format!("{encrypting}{SIGNED_BODY}"), "EncryptSignature"),
        (format!("{strict}{SIGNED_BODY}"), "Strict"),
        (format!("{flag}{SIGNED_BODY}"), "ProtectTokens"),
        (format!("{plain}{more}"), "SignedElements"),
        (
            format!("{plain}<sp:Wss11><sp:RequireSignatureConfirmation/></sp:Wss11>"),
            "RequireSignatureConfirmation",
        ),
        (
            format!("{plain}<sp:Trust13><sp:RequireClientEntropy/></sp:Trust13>"),
            "RequireClientEntropy",
        ),
    ] {
        assert_eq!(
            refused(&policy),
            [(
                name.to_owned(),
                ProblemKind::Missing {
                    what: "a wsp:Policy around it"
                }
            )]
        );
    }
}

/// WS-SecurityPolicy 1.3, 6.7: where the Timestamp has a place, there is one.
#[test]
fn a_place_for_a_timestamp_that_no_message_has_is_refused() {
    for layout in ["<sp:LaxTsFirst/>", "<sp:LaxTsLast/>"] {
        let layout = nest("Layout", layout);
        let binding = |more: &str| asymmetric(&format!("{}{layout}{more}", suite("Basic256")));
        let what = "sp:IncludeTimestamp";
        assert_eq!(
            refused(&format!("{}{SIGNED_BODY}", binding(""))),
            [("Layout".to_owned(), ProblemKind::Missing { what })]
        );
        let policy = format!("{}{SIGNED_BODY}", binding("<sp:IncludeTimestamp/>"));
        agreement(&policy);
    }
}
