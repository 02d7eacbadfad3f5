//! Who may ask for what: contexts of somebody else, of nobody, without their key.

use std::time::Duration;

use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::{KeyKind, PrivateKey};
use soapstone_trust::{
    ContextsUnavailable, Effect, Records, Refusal, Requester, RequesterToken, SecurityTokenService,
    TrustFaultCode, TrustVersion,
};
use soapstone_wss::{ContextOwner, SecurityContext};

use super::{about, host_of, not_proven, not_understood};
use crate::support::{
    Host, WSC, WST, WST_2005, after, alice, context, entropy, envelope, holder, lifetime, now,
    request, requester, user,
};

/// WS-SecureConversation 1.4, 5 and 6: possession of the key MUST be proven. Alice herself did not,
/// nor did who only knows the name.
#[test]
fn a_forged_name_of_a_context_moves_nothing() {
    let (theirs, host) = (context("urn:uuid:theirs"), Host::default());
    host.contexts.borrow_mut().push(theirs.clone());
    for operation in ["Renew", "Cancel"] {
        let body = about(operation, &theirs.identifier, "");
        for requester in [alice(), requester(user("mallory"))] {
            assert_eq!(host.refusal(&body, &requester), not_proven(&theirs));
        }
    }
}

/// A context of somebody else is not told apart from one that does not exist.
#[test]
fn the_holder_of_one_context_cannot_renew_or_cancel_another() {
    let mine = SecurityContext {
        owner: user("mallory"),
        ..context("urn:uuid:mine")
    };
    let theirs = context("urn:uuid:theirs");
    let host = host_of(&[mine.clone(), theirs.clone()]);
    let mallory = holder(user("mallory"), &mine);
    for operation in ["Renew", "Cancel"] {
        for other in [&theirs, &context("urn:uuid:none")] {
            let refusal = host.refusal(&about(operation, &other.identifier, ""), &mallory);
            assert_eq!(refusal, not_proven(other));
            assert_eq!(refusal.code(), TrustFaultCode::BadContextToken);
        }
    }
}

/// A stolen context key in a message that somebody else authenticates.
#[test]
fn a_context_is_not_renewed_cancelled_or_amended_by_somebody_else_than_its_owner() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let mallory = holder(user("mallory"), &theirs);
    let name = theirs.name();
    for operation in ["Renew", "Cancel"] {
        assert_eq!(
            host.refusal(&about(operation, &theirs.identifier, ""), &mallory),
            Refusal::ContextNotYours { name: name.clone() }
        );
    }
    let amend = format!("{WST}/RST/SCT/Amend");
    let body = request("Issue", "");
    let fault = host
        .answer(body.as_bytes(), Some(&amend), &mallory, now())
        .unwrap_err();
    assert_eq!(fault.refusal, Refusal::ContextNotYours { name });
    assert_eq!(
        host.find(&theirs.name()).unwrap().owner.to_string(),
        "alice"
    );
}

/// WS-SecureConversation 1.4, 4.
#[test]
fn nothing_is_amended_without_proof_of_key_and_identity_or_with_new_entropy() {
    let theirs = context("urn:uuid:theirs");
    let expired = SecurityContext {
        expires: now(),
        ..theirs.clone()
    };
    let host = host_of(std::slice::from_ref(&theirs));
    let amend = format!("{WST}/RST/SCT/Amend");
    for (elements, requester, refusal) in [
        (
            String::new(),
            alice(),
            Refusal::ContextNotProven { name: None },
        ),
        (
            String::new(),
            holder(ContextOwner::Anonymous, &theirs),
            Refusal::NotAuthenticated,
        ),
        (
            entropy(32),
            holder(user("alice"), &theirs),
            not_understood("Entropy"),
        ),
        (
            String::new(),
            holder(user("alice"), &expired),
            Refusal::ContextExpired {
                name: expired.name(),
                expired: expired.expires,
            },
        ),
    ] {
        let body = request("Issue", &elements);
        let fault = host.answer(body.as_bytes(), Some(&amend), &requester, now());
        assert_eq!(fault.unwrap_err().refusal, refusal);
    }
}

/// Who may not begin another context, since his certificate has ended, does not go on with the one
/// that he has (RFC 5280, 6.1.3 (a) (2)).
#[test]
fn a_context_does_not_outlive_the_certificate_of_its_owner() {
    let end = after(300);
    let template = Template::new(
        "CN=alice",
        Validity {
            not_before: after(-300),
            not_after: end,
        },
    );
    let key = PrivateKey::generate(KeyKind::Ed25519).unwrap();
    let identity = issue::self_signed(key, &template.unwrap()).unwrap();
    let owner = ContextOwner::Certificate(identity.certificate().clone());
    let anonymous = SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context("urn:uuid:anonymous")
    };
    let owned = SecurityContext {
        owner: owner.clone(),
        expires: end,
        ..context("urn:uuid:owned")
    };
    let host = host_of(&[anonymous.clone(), owned.clone()]);
    let issue = format!("{}{}", entropy(32), lifetime(0, 3600));
    let amend = format!("{WST}/RST/SCT/Amend");
    for (body, action, requester) in [
        (request("Issue", &issue), None, requester(owner.clone())),
        (
            about("Renew", &owned.identifier, &issue),
            None,
            holder(owner.clone(), &owned),
        ),
        (
            request("Issue", ""),
            Some(amend.as_str()),
            holder(owner, &anonymous),
        ),
    ] {
        let answer = host.answer(body.as_bytes(), action, &requester, now());
        let ends = match &answer.unwrap().effects[..] {
            [
                Effect::Store(made)
                | Effect::Replace { context: made, .. }
                | Effect::Amend { after: made, .. },
            ] => made.expires,
            other => panic!("{other:?}"),
        };
        assert_eq!(ends, end);
    }
}

/// Fixation: the attacker lets the victim use a context whose name or key it knows beforehand.
#[test]
fn a_request_cannot_fix_the_name_of_a_context() {
    let host = Host::default();
    let fixed = "urn:uuid:11111111-1111-4111-8111-111111111111";
    let token = format!(
        "<wsc:SecurityContextToken><wsc:Identifier>{fixed}</wsc:Identifier></wsc:SecurityContextToken>"
    );
    let refusal = host.refusal(&request("Issue", &token), &alice());
    let element = format!("{{{WSC}}}SecurityContextToken");
    assert_eq!(refusal, Refusal::NotUnderstood { element });
    let inside = format!("<wst:RequestedSecurityToken>{token}</wst:RequestedSecurityToken>");
    let refusal = host.refusal(&request("Issue", &inside), &alice());
    assert_eq!(refusal, not_understood("RequestedSecurityToken"));
    let target = format!("<wst:RenewTarget>{token}</wst:RenewTarget>");
    let refusal = host.refusal(&request("Issue", &target), &alice());
    assert_eq!(refusal, not_understood("RenewTarget"));

    let body = request("Issue", &entropy(32)).replace(
        "RequestSecurityToken xmlns",
        &format!("RequestSecurityToken Context='{fixed}' xmlns"),
    );
    let answer = host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains(&format!("Context=\"{fixed}\"")));
    let context = host.contexts.borrow_mut().pop().unwrap();
    assert_ne!(context.identifier, fixed);
    assert!(context.identifier.starts_with("urn:uuid:"));
}

/// The service contributes as much as the key has: equal requests give different keys.
#[test]
fn a_request_cannot_fix_the_key_of_a_context() {
    let host = Host::default();
    for _ in 0..2 {
        let body = request("Issue", &entropy(32));
        host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
    }
    let contexts = host.contexts.borrow();
    assert_ne!(contexts[0].secret.expose(), contexts[1].secret.expose());
    assert_ne!(contexts[0].identifier, contexts[1].identifier);
}

/// STS asked without authority: nobody, or somebody who only holds a context.
#[test]
fn a_context_is_issued_to_somebody_who_is_known_only() {
    let host = Host::default();
    let theirs = context("urn:uuid:theirs");
    for requester in [
        requester(ContextOwner::Anonymous),
        holder(ContextOwner::Anonymous, &theirs),
    ] {
        let refusal = host.refusal(&request("Issue", &entropy(32)), &requester);
        assert_eq!(refusal, Refusal::NotAuthenticated);
        assert_eq!(refusal.code(), TrustFaultCode::FailedAuthentication);
    }
}

/// WS-SecureConversation 1.4, 5: the original claims MUST be authenticated anew.
#[test]
fn a_renewal_by_the_key_alone_is_refused_unless_a_rule_allows_it_for_a_while() {
    let theirs = context("urn:uuid:theirs");
    let body = about("Renew", &theirs.identifier, &entropy(32));
    let key_alone = holder(ContextOwner::Anonymous, &theirs);
    let host = host_of(std::slice::from_ref(&theirs));
    assert_eq!(host.refusal(&body, &key_alone), Refusal::NotAuthenticated);

    let limit = Duration::from_secs(1000);
    let host = Host::new(|rules| rules.renewal_by_key_alone = Some(limit));
    host.answer(body.as_bytes(), None, &key_alone, after(400))
        .unwrap();
    let renewed = host.contexts.borrow_mut().pop().unwrap();
    assert_eq!(renewed.expires, after(1000));
    assert_eq!(renewed.created, theirs.created);
    let living = SecurityContext {
        expires: after(2000),
        ..renewed
    };
    let again = holder(ContextOwner::Anonymous, &living);
    let fault = host
        .answer(body.as_bytes(), None, &again, after(1000))
        .unwrap_err();
    let name = living.name();
    assert_eq!(fault.code(), TrustFaultCode::ContextUnableToRenew);
    assert_eq!(fault.refusal, Refusal::RenewalsExhausted { name, limit });
}

fn ticket(client: &str, ends: i64) -> ContextOwner {
    ContextOwner::Kerberos {
        client: client.to_owned(),
        ends: after(ends),
    }
}

/// What is asked for, granted and renewed, whatever life the rules would give.
#[test]
fn a_context_never_outlives_the_ticket_that_began_it() {
    let host = Host::new(|rules| {
        rules.owner_alone = true;
        rules.renewal_by_key_alone = Some(Duration::from_secs(100_000));
    });
    let first = requester(ticket("alice@EXAMPLE.COM", 300));
    let issue = request("Issue", &entropy(32));
    host.answer(issue.as_bytes(), None, &first, now()).unwrap();
    let begun = host.contexts.borrow().last().unwrap().clone();
    assert_eq!(begun.expires, after(300));

    // The key alone shows no other ticket.
    let renew = about("Renew", &begun.identifier, &entropy(32));
    let key_alone = holder(ContextOwner::Anonymous, &begun);
    host.answer(renew.as_bytes(), None, &key_alone, after(200))
        .unwrap();
    let renewed = host.contexts.borrow().last().unwrap().clone();
    assert_eq!(renewed.expires, after(300));

    // A ticket that ends sooner takes life, and a later one gives life.
    for ends in [250, 900] {
        let again = requester(ticket("alice@EXAMPLE.COM", ends));
        host.answer(renew.as_bytes(), None, &again, after(210))
            .unwrap();
        let renewed = host.contexts.borrow().last().unwrap().clone();
        assert_eq!(renewed.expires, after(ends));
        let ContextOwner::Kerberos { ends: kept, .. } = &renewed.owner else {
            panic!("{:?}", renewed.owner);
        };
        assert_eq!(*kept, after(ends));
    }
}

#[test]
fn a_ticket_that_is_over_begins_and_renews_nothing() {
    let theirs = SecurityContext {
        owner: ticket("alice@EXAMPLE.COM", 900),
        ..context("urn:uuid:theirs")
    };
    let host = Host::new(|rules| rules.owner_alone = true);
    host.contexts.borrow_mut().push(theirs.clone());
    let over = requester(ticket("alice@EXAMPLE.COM", 10));
    for body in [
        request("Issue", &entropy(32)),
        about("Renew", &theirs.identifier, &entropy(32)),
    ] {
        let fault = host
            .answer(body.as_bytes(), None, &over, after(10))
            .unwrap_err();
        assert_eq!(fault.refusal, Refusal::NotAuthenticated);
    }
    let nobodys = SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context("urn:uuid:nobodys")
    };
    let over = holder(ticket("alice@EXAMPLE.COM", 10), &nobodys);
    let amend = format!("{WST}/RST/SCT/Amend");
    let body = request("Issue", "");
    let fault = host
        .answer(body.as_bytes(), Some(&amend), &over, after(10))
        .unwrap_err();
    assert_eq!(fault.refusal, Refusal::NotAuthenticated);
}

/// A user may have any name, also that of a principal.
#[test]
fn a_user_with_the_name_of_a_principal_is_not_the_client_of_its_ticket() {
    let theirs = SecurityContext {
        owner: ticket("alice@EXAMPLE.COM", 900),
        ..context("urn:uuid:theirs")
    };
    let host = Host::new(|rules| rules.owner_alone = true);
    host.contexts.borrow_mut().push(theirs.clone());
    for operation in ["Renew", "Cancel"] {
        let body = about(operation, &theirs.identifier, "");
        for other in [
            user("alice@EXAMPLE.COM"),
            ticket("alice@OTHER.EXAMPLE", 900),
            ticket("mallory@EXAMPLE.COM", 900),
        ] {
            let alone = host.refusal(&body, &requester(other.clone()));
            assert_eq!(alone, not_proven(&theirs));
            let name = theirs.name();
            let with_key = host.refusal(&body, &holder(other, &theirs));
            assert_eq!(with_key, Refusal::ContextNotYours { name });
        }
    }
}

/// Whose ticket it is is not known: the other name may be the one who sends.
#[test]
fn a_ticket_beside_another_name_begins_no_context_of_nobody() {
    let host = Host::new(|rules| rules.anonymous = true);
    let beside = Requester {
        token: Some(RequesterToken::Kerberos {
            client: "alice@EXAMPLE.COM".to_owned(),
            ends: after(900),
        }),
        ..requester(ContextOwner::Anonymous)
    };
    let refusal = host.refusal(&request("Issue", &entropy(32)), &beside);
    assert_eq!(refusal, Refusal::NotAuthenticated);
}

#[test]
fn an_expired_context_is_not_renewed() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let body = about("Renew", &theirs.identifier, &entropy(32));
    let fault = host
        .answer(
            body.as_bytes(),
            None,
            &holder(user("alice"), &theirs),
            theirs.expires,
        )
        .unwrap_err();
    assert_eq!(fault.code(), TrustFaultCode::ContextRenewNeeded);
    let (name, expired) = (theirs.name(), theirs.expires);
    assert_eq!(fault.refusal, Refusal::ContextExpired { name, expired });
}

/// A context of one version, named in a request of the other, or by the instance of another key.
#[test]
fn version_and_instance_of_a_named_context_must_be_those_of_the_proven_one() {
    let theirs = SecurityContext {
        instance: Some("urn:uuid:two".to_owned()),
        ..context("urn:uuid:theirs")
    };
    let host = host_of(std::slice::from_ref(&theirs));
    let signed = holder(user("alice"), &theirs);
    let old = about("Cancel", &theirs.identifier, "").replace(
        "</wsc:Identifier>",
        "</wsc:Identifier><wsc:Instance>urn:uuid:one</wsc:Instance>",
    );
    let mut name = theirs.name();
    name.instance = Some("urn:uuid:one".to_owned());
    let refusal = Refusal::ContextNotProven { name: Some(name) };
    assert_eq!(host.refusal(&old, &signed), refusal);

    let other = about("Cancel", &theirs.identifier, "").replace(WST, WST_2005);
    let fault = host
        .answer(other.as_bytes(), None, &signed, now())
        .unwrap_err();
    assert_eq!(fault.version, TrustVersion::February2005);
    let mut name = theirs.name();
    name.instance = None;
    let refusal = Refusal::ContextNotProven { name: Some(name) };
    assert_eq!(fault.refusal, refusal);
}

/// WS-Trust 1.4, 7: validating must not be an oracle for the existence of contexts.
#[test]
fn a_strangers_context_is_as_invalid_as_none() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let status = |identifier: &str, requester| {
        let body = about("Validate", identifier, "");
        let answer = host.answer(body.as_bytes(), None, &requester, now());
        String::from_utf8(answer.unwrap().body).unwrap()
    };
    let mallory = || requester(user("mallory"));
    let foreign = status(&theirs.identifier, mallory());
    assert!(foreign.contains("status/invalid"), "{foreign}");
    assert_eq!(foreign, status("urn:uuid:none", mallory()));
    assert!(status(&theirs.identifier, alice()).contains("status/valid"));
    let nobody = requester(ContextOwner::Anonymous);
    let body = about("Validate", &theirs.identifier, "");
    assert_eq!(host.refusal(&body, &nobody), Refusal::NotAuthenticated);
}

/// An anonymous context belongs to whoever has its key, not to everybody who is nobody.
#[test]
fn nobody_does_not_own_the_contexts_of_nobody() {
    let theirs = SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context("urn:uuid:theirs")
    };
    let host = host_of(std::slice::from_ref(&theirs));
    let other = holder(ContextOwner::Anonymous, &context("urn:uuid:other"));
    let body = about("Validate", &theirs.identifier, "");
    let answer = host.answer(body.as_bytes(), None, &other, now()).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains("status/invalid"), "{text}");
}

#[test]
fn a_store_that_is_away_is_no_answer() {
    let service = SecurityTokenService::default();
    let problem = "connection refused".to_owned();
    let away = |_: &_| {
        Err(ContextsUnavailable {
            problem: problem.clone(),
        })
    };
    let body = envelope(about("Validate", "urn:uuid:theirs", "").as_bytes());
    let records = Records::of_contexts(&away);
    let fault = service.answer(body.body(), None, &alice(), records, now());
    let fault = fault.unwrap_err();
    assert_eq!(fault.code(), TrustFaultCode::RequestFailed);
    assert_eq!(fault.refusal, Refusal::ContextsUnavailable { problem });
}

/// WS-SecureConversation 1.4, 5 wants the key's signature as well; CXF's client shows only who it
/// is.
#[test]
fn an_owner_without_the_key_renews_and_cancels_only_where_a_rule_allows_it() {
    let theirs = context("urn:uuid:theirs");
    let nobodys = SecurityContext {
        owner: ContextOwner::Anonymous,
        ..context("urn:uuid:nobodys")
    };
    let body = about("Renew", &theirs.identifier, &entropy(32));
    let host = host_of(std::slice::from_ref(&theirs));
    assert_eq!(host.refusal(&body, &alice()), not_proven(&theirs));

    let host = Host::new(|rules| rules.owner_alone = true);
    host.contexts
        .borrow_mut()
        .extend([theirs.clone(), nobodys.clone()]);
    for stranger in [
        requester(user("mallory")),
        requester(ContextOwner::Anonymous),
    ] {
        assert_eq!(host.refusal(&body, &stranger), not_proven(&theirs));
    }
    let body_of_nobody = about("Renew", &nobodys.identifier, &entropy(32));
    assert_eq!(
        host.refusal(&body_of_nobody, &alice()),
        not_proven(&nobodys)
    );
    host.answer(body.as_bytes(), None, &alice(), after(60))
        .unwrap();
    let cancel = about("Cancel", &theirs.identifier, "");
    assert_eq!(
        host.refusal(&cancel, &requester(user("mallory"))),
        not_proven(&theirs)
    );
    host.answer(cancel.as_bytes(), None, &alice(), after(60))
        .unwrap();
}
