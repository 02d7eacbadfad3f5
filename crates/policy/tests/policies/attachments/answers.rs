//! Policies that are attached to answers, and what they may say beside those of requests.

use soapstone_policy::{CompileOptions, ExchangePolicyError, ProblemKind, TransportRequirement};

use super::{Wsdl, inline, operation};
use crate::support::*;

/// WS-SecurityPolicy 1.3, 8: tokens that support the answer alone are not what requests have.
#[test]
fn supporting_tokens_of_answers_are_refused() {
    let binding = inline(&format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256"))));
    let endorsing = nest("EndorsingSupportingTokens", &x509("AlwaysToInitiator", ""));
    let wsdl = Wsdl {
        binding: &binding,
        output: &inline(&endorsing),
        ..Wsdl::default()
    };
    let error = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
        .unwrap_err();
    let ExchangePolicyError::NotSupported(problems) = error else {
        panic!("{error}")
    };
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}")
    };
    assert_eq!(&*problem.assertion.local, "EndorsingSupportingTokens");
    assert_eq!(
        problem.kind,
        ProblemKind::NotSupported {
            reason: "supporting tokens are those of requests"
        }
    );
}

/// WS-SecurityPolicy 1.3, 7.3: an answer that the connection is to protect travels on that of its
/// request.
#[test]
fn a_transport_binding_of_answers_alone_demands_tls() {
    let wsdl = Wsdl {
        output: &inline(&transport("")),
        ..Wsdl::default()
    };
    let agreement = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
        .unwrap();
    assert_eq!(
        agreement.transport,
        Some(TransportRequirement {
            client_certificate: false
        })
    );
}

/// WS-SecurityPolicy 1.3, 3: bindings are for both messages. What the policy of an answer says of
/// another conversation, or of how it begins, was left out.
#[test]
fn an_answer_in_another_conversation_than_its_request_is_refused() {
    let conversation = |bootstrap: &str| {
        let bootstrap = symmetric(
            &x509("Never", ""),
            &format!("{}{bootstrap}", suite("Basic128")),
        );
        let context = token(
            "SecureConversationToken",
            "AlwaysToRecipient",
            &nest("BootstrapPolicy", &bootstrap),
        );
        let binding = symmetric(&context, &suite("Basic128"));
        inline(&format!("{binding}{SIGNED_BODY}"))
    };
    let plain = conversation("");
    let agreement = |input: &str| {
        Wsdl {
            input,
            output: &plain,
            ..Wsdl::default()
        }
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
    };
    assert!(agreement(&plain).unwrap().conversation.is_some());
    for input in [conversation("<sp:EncryptSignature/>"), String::new()] {
        let Err(ExchangePolicyError::NotSupported(problems)) = agreement(&input) else {
            panic!("{input}")
        };
        let [problem] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert_eq!(&*problem.assertion.local, "SecureConversationToken");
        assert_eq!(
            problem.kind,
            ProblemKind::Conflict {
                with: "the binding of its requests"
            }
        );
    }
}

/// WS-SecurityPolicy 1.3, 7.4: answers are protected with the key that came with the request. Where
/// none comes, they cannot be made.
#[test]
fn an_answer_with_the_key_of_a_request_that_brings_none_is_refused() {
    let binding = inline(&symmetric(&x509("Never", ""), &suite("Basic256")));
    let wsdl = Wsdl {
        binding: &binding,
        output: &inline(SIGNED_BODY),
        ..Wsdl::default()
    };
    let found = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default());
    let Err(ExchangePolicyError::NotSupported(problems)) = found else {
        panic!("{found:?}")
    };
    assert_eq!(
        problems[0].to_string(),
        "`sp:SymmetricBinding` needs `signed or encrypted parts of requests, whose key protects answers`, found none \
         (at line 8 column 57, service S, port P, operation a)"
    );
}

/// WS-SecurityPolicy 1.3, 7.3: requests alone carry the issued token of a transport.
#[test]
fn the_issued_token_of_a_transport_is_that_of_requests() {
    let binding = |token: &str| {
        let token = nest("TransportToken", token);
        inline(&nest("TransportBinding", &(token + &suite("Basic256"))))
    };
    let issued = |key: &str| {
        let wst = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
        let template = format!(
            "<sp:RequestSecurityTokenTemplate xmlns:t='{wst}'><t:KeyType>{wst}/{key}</t:KeyType></sp:RequestSecurityTokenTemplate><wsp:Policy>"
        );
        let token = token("IssuedToken", "AlwaysToRecipient", "");
        binding(&token.replacen("<wsp:Policy>", &template, 1))
    };
    let https = binding("<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>");
    let agreed = |input: &str, output: &str| {
        let wsdl = Wsdl {
            input,
            output,
            ..Wsdl::default()
        };
        let document = wsdl.document();
        document.agreement(&operation("a"), &CompileOptions::default())
    };
    let (held, borne) = (issued("PublicKey"), issued("Bearer"));
    for (input, output) in [(&https, &held), (&borne, &held)] {
        let error = agreed(input, output).unwrap_err();
        let ExchangePolicyError::NotSupported(problems) = error else {
            panic!("{error}")
        };
        let reason =
            "the issued token of a transport is that of requests: write it for both messages";
        assert_eq!(problems[0].kind, ProblemKind::NotSupported { reason });
    }
    for (input, output) in [(&held, &held), (&held, &https)] {
        agreed(input, output).unwrap();
    }
}
