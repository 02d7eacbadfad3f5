//! Who acts for others with their assertions, and who must not.

use soapstone_testkit::assertion::{ISSUER as PARTNER, Made};
use soapstone_testkit::keys;
use soapstone_trust::{
    ACTOR_CLAIM, Delegation, ForeignSubjects, Parties, Refusal, TRANSIENT_NAMES, TrustFaultCode,
};
use soapstone_wss::{AssertionIssuer, ContextOwner};

use super::{
    BOOKS, FRONT, ISSUER, Sts, assertion_of, by_password, by_signature, certificate, claim,
    is_valid, issue, issuer, request,
};
use crate::support::WST;

/// An assertion about alice for the front.
pub(super) fn presented(sts: &Sts) -> String {
    sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"))
}

pub(super) fn acting(element: &str, token: &str) -> String {
    issue(
        BOOKS,
        "PublicKey",
        &format!("<{element}>{token}</{element}>"),
    )
}

const FORMS: [(&str, &str); 2] = [
    ("wst:OnBehalfOf", "on-behalf-of"),
    ("wst14:ActAs", "act-as"),
];

fn not_allowed(actor: &str, form: &'static str) -> Refusal {
    Refusal::DelegationNotAllowed {
        actor: actor.to_owned(),
        form,
    }
}

/// Why a token in a request is not believed.
fn rejected(refusal: Refusal) -> String {
    match refusal {
        Refusal::TokenRejected { problem } => problem,
        other => panic!("{other:?}"),
    }
}

/// A requestor's own words about who he is are no proof, wherever they stand.
#[test]
fn nobody_asks_for_another_subject() {
    let sts = Sts::new();
    let token = "<wsse:UsernameToken><wsse:Username>alice</wsse:Username></wsse:UsernameToken>";
    for (element, form) in FORMS {
        let refusal = sts.refusal(&acting(element, token), &by_signature("CN=client"));
        assert_eq!(refusal, not_allowed("certificate CN=client", form));
        // An actor with a right for alice needs her assertion, too.
        let problem = rejected(sts.refusal(&acting(element, token), &by_signature("CN=front")));
        assert!(problem.contains("expected an assertion"), "{problem}");
    }
    let value = format!(
        "<wst:Claims Dialect='{}'><ic:ClaimType Uri='{}'><ic:Value>admin</ic:Value></ic:ClaimType></wst:Claims>",
        super::IDENTITY,
        claim("role")
    );
    let refusal = sts.refusal(&issue(BOOKS, "Bearer", &value), &by_password("alice"));
    assert_eq!(refusal.code(), TrustFaultCode::InvalidRequest);
    let other = "<wst:Claims Dialect='urn:other'><a>admin</a></wst:Claims>";
    let refusal = sts.refusal(&issue(BOOKS, "Bearer", other), &by_password("alice"));
    let element = format!("{{{WST}}}Claims");
    assert_eq!(refusal, Refusal::NotUnderstood { element });
}

/// A user may have any name. The subject of a certificate is another party.
#[test]
fn a_user_with_the_name_of_a_service_is_not_that_service() {
    let sts = Sts::new();
    let token = presented(&sts);
    for (element, form) in FORMS {
        let mut impostor = by_signature("CN=other");
        impostor.owner = ContextOwner::User("CN=front".to_owned());
        let refusal = sts.refusal(&acting(element, &token), &impostor);
        assert_eq!(refusal, not_allowed("user CN=front", form));
    }
    let answer = sts.issued(&issue(BOOKS, "Bearer", ""), &by_password("CN=client"));
    assert!(!answer.contains("writer"), "{answer}");
}

#[test]
fn nobody_acts_for_others_without_a_right() {
    let sts = Sts::new();
    let token = presented(&sts);
    for (element, form) in FORMS {
        let body = acting(element, &token);
        let refused = |sts: &Sts, who: &str, body: &str| {
            assert_eq!(
                sts.refusal(body, &by_signature(who)),
                not_allowed(&format!("certificate {who}"), form)
            );
        };
        // Another actor, another subject, another service, another form.
        refused(&sts, "CN=client", &body);
        let bob = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("bob"));
        refused(&sts, "CN=front", &acting(element, &bob));
        let elsewhere = issue(
            FRONT,
            "PublicKey",
            &format!("<{element}>{token}</{element}>"),
        );
        refused(&sts, "CN=front", &elsewhere);
        let other_form =
            Sts::with(|rules| rules.delegations[0].forms.retain(|it| it.name() != form));
        refused(&other_form, "CN=front", &body);
        let nobody = Sts::with(|rules| rules.delegations.clear());
        refused(&nobody, "CN=front", &body);
    }
    // The subject itself has no right to have others act, nor to lengthen what it has.
    let mut alice = by_signature("CN=client");
    alice.owner = ContextOwner::User("alice".to_owned());
    let refusal = sts.refusal(&acting("wst:OnBehalfOf", &token), &alice);
    assert_eq!(refusal, not_allowed("user alice", "on-behalf-of"));
}

/// The confused deputy: a service presents what was issued for it, not what it found elsewhere.
#[test]
fn an_assertion_for_another_service_lets_nobody_act() {
    let sts = Sts::new();
    let for_books = sts.issued(&issue(BOOKS, "Bearer", ""), &by_password("alice"));
    for (element, form) in FORMS {
        let refusal = sts.refusal(&acting(element, &for_books), &by_signature("CN=front"));
        assert_eq!(refusal, not_allowed("certificate CN=front", form));
    }
}

#[test]
fn an_assertion_of_another_service_lets_nobody_act() {
    let sts = Sts::new();
    // Its issuer has our name, and not our key.
    let forged = presented(&Sts::signing("CN=evil", |_| ()));
    let of_other = presented(&Sts::signing("CN=idp", |rules| {
        rules.issuer = "https://idp.example".to_owned();
    }));
    for (element, form) in FORMS {
        let front = by_signature("CN=front");
        rejected(sts.refusal(&acting(element, &forged), &front));
        let problem = rejected(sts.refusal(&acting(element, &of_other), &front));
        assert!(problem.contains("https://idp.example"), "{problem}");
        // Trusted for its own subjects, it says nothing of ours.
        let trusting = Sts::with(|rules| {
            rules.issuers = std::sync::Arc::new([
                issuer(ISSUER, certificate("CN=sts")),
                issuer("https://idp.example", certificate("CN=idp")),
            ]);
        });
        let refusal = trusting.refusal(&acting(element, &of_other), &front);
        assert_eq!(refusal, not_allowed("certificate CN=front", form));
        // Nor does its key sign in our name.
        let in_our_name = presented(&Sts::signing("CN=idp", |_| ()));
        rejected(trusting.refusal(&acting(element, &in_our_name), &front));
    }
}

/// The subject of an issuer that is trusted is a name in that issuer's domain.
#[test]
fn the_subject_of_another_issuer_gets_nothing_of_ours_with_that_name() {
    let of_other = presented(&Sts::signing("CN=idp", |rules| {
        rules.issuer = "https://idp.example".to_owned();
    }));
    let sts = Sts::with(|rules| {
        rules.issuers = std::sync::Arc::new([
            issuer(ISSUER, certificate("CN=sts")),
            issuer("https://idp.example", certificate("CN=idp")),
        ]);
        trusting(&mut rules.delegations[0], "https://idp.example");
    });
    let answer = sts.answer(&acting("wst14:ActAs", &of_other), &by_signature("CN=front"));
    let answer = answer.expect("an answer");
    let domain = answer.issued[0].domain.as_deref();
    assert_eq!(domain, Some("https://idp.example"));
    let written = assertion_of(&answer);
    let said = super::read(&written, "CN=sts", sts.now);
    assert_eq!(said.subject.value, "alice");
    assert_eq!(
        said.subject.qualifier.as_deref(),
        Some("https://idp.example")
    );
    assert!(!written.contains("reader"), "{written}");
    // And it does not become alice of ours in a second step.
    let sts = Sts::with(|rules| {
        rules.delegations[0].audiences = vec!["https://books.example".to_owned()];
    });
    let refusal = sts.refusal(
        &acting("wst:OnBehalfOf", &written),
        &by_signature("CN=front"),
    );
    assert_eq!(refusal, not_allowed("certificate CN=front", "on-behalf-of"));
}

/// SAML Core 2.0, 2.2.2: a name is unique in its `NameQualifier`. A partner that tells of a subject
/// of a third party does not make it its own subject, which our rule is about.
#[test]
fn the_subject_of_a_third_party_is_no_subject_of_the_partner_who_names_it() {
    let evil = presented(&Sts::signing("CN=evil", |rules| {
        rules.issuer = "https://evil-idp.example".to_owned();
    }));
    let partner = Sts::signing("CN=idp", |rules| {
        rules.issuer = "https://idp.example".to_owned();
        rules.issuers = std::sync::Arc::new([
            issuer("https://idp.example", certificate("CN=idp")),
            issuer("https://evil-idp.example", certificate("CN=evil")),
        ]);
        trusting(&mut rules.delegations[0], "https://evil-idp.example");
        rules.delegations[0].services = vec![FRONT.to_owned()];
    });
    let on_behalf = format!("<wst:OnBehalfOf>{evil}</wst:OnBehalfOf>");
    let of_partner = partner.issued(
        &issue(FRONT, "PublicKey", &on_behalf),
        &by_signature("CN=front"),
    );
    let domain = "NameQualifier=\"https://evil-idp.example\"";
    assert!(of_partner.contains(domain), "{of_partner}");
    let sts = Sts::with(|rules| {
        rules.issuers = std::sync::Arc::new([
            issuer(ISSUER, certificate("CN=sts")),
            issuer("https://idp.example", certificate("CN=idp")),
        ]);
        trusting(&mut rules.delegations[0], "https://idp.example");
    });
    for (element, form) in FORMS {
        let refusal = sts.refusal(&acting(element, &of_partner), &by_signature("CN=front"));
        assert_eq!(refusal, not_allowed("certificate CN=front", form));
    }
}

/// The service signs who acts. Another issuer does not choose names in that claim.
#[test]
fn another_issuer_names_no_actors() {
    let of_other = presented(&Sts::signing("CN=idp", |rules| {
        rules.issuer = "https://idp.example".to_owned();
        rules.attributes[0].claim = ACTOR_CLAIM.to_owned();
        rules.attributes[0].values = vec!["CN=auditor".to_owned()];
    }));
    assert!(of_other.contains("CN=auditor"), "{of_other}");
    let sts = Sts::with(|rules| {
        rules.issuers = std::sync::Arc::new([
            issuer(ISSUER, certificate("CN=sts")),
            issuer("https://idp.example", certificate("CN=idp")),
        ]);
        trusting(&mut rules.delegations[0], "https://idp.example");
    });
    for (element, ours) in [
        ("wst:OnBehalfOf", None),
        ("wst14:ActAs", Some("certificate CN=front")),
    ] {
        let issued = sts.issued(&acting(element, &of_other), &by_signature("CN=front"));
        let said = super::read(&issued, "CN=sts", sts.now);
        let mut attributes = said.attributes.iter();
        let named = attributes.find(|attribute| attribute.name == ACTOR_CLAIM);
        let named = named.map(|attribute| attribute.values.clone());
        assert_eq!(named, ours.map(|name| vec![name.to_owned()]));
    }
}

/// The service itself, and the partner.
fn partners() -> std::sync::Arc<[AssertionIssuer]> {
    std::sync::Arc::new([
        issuer(ISSUER, certificate("CN=sts")),
        issuer(PARTNER, certificate("CN=idp")),
    ])
}

/// Has a right be for the issuer's alice, by a name of the unspecified format.
fn trusting(rule: &mut Delegation, issuer: &str) {
    rule.issuer = Some(issuer.to_owned());
    rule.subjects = Parties {
        foreign: vec![ForeignSubjects {
            issuer: issuer.to_owned(),
            format: None,
            names: vec!["alice".to_owned()],
        }],
        ..Parties::default()
    };
}

/// SAML Core 2.0, 8.3: an issuer can give one name in two formats to two subjects.
#[test]
fn a_right_for_a_subject_of_another_issuer_is_for_a_name_of_its_format() {
    let persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
    let formats = [
        "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
        "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
        persistent,
        TRANSIENT_NAMES,
    ];
    for (at, format) in formats.into_iter().enumerate() {
        let qualifiers = format!(" Format=\"{format}\"");
        let made = Made {
            qualifiers: &qualifiers,
            ..Made::default()
        };
        let (_, token) = of_partner(&made);
        let is_granted = |change: fn(&mut Delegation), expected: bool| {
            let sts = Sts::with(|rules| {
                rules.issuers = partners();
                trusting(&mut rules.delegations[0], PARTNER);
                change(&mut rules.delegations[0]);
            });
            for (element, form) in FORMS {
                let answer = sts.answer(&acting(element, &token), &by_signature("CN=front"));
                let refusal = answer.err().map(|fault| fault.refusal);
                let refused = (!expected).then(|| not_allowed("certificate CN=front", form));
                assert_eq!(refusal, refused, "{format}");
            }
        };
        is_granted(|_| {}, at == 0);
        let by_persistent: fn(&mut Delegation) = |rule| {
            let format = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
            rule.subjects.foreign[0].format = Some(format.to_owned());
        };
        is_granted(by_persistent, format == persistent);
        let by_transient: fn(&mut Delegation) = |rule| {
            rule.subjects.foreign[0].format = Some(TRANSIENT_NAMES.to_owned());
        };
        is_granted(by_transient, false);
        // A name among users is one of ours. Everybody has names of every format.
        let ours: fn(&mut Delegation) = |rule| {
            rule.subjects.foreign.clear();
            rule.subjects.users = vec!["alice".to_owned()];
        };
        is_granted(ours, false);
        is_granted(|rule| rule.subjects.anybody = true, true);
    }
}

/// An assertion of a partner about alice for the front, and a service that believes it.
fn of_partner(made: &Made<'_>) -> (Sts, String) {
    let assertion = soapstone_testkit::assertion::Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some("https://front.example"),
        attributes: &[("role", "reader")],
    };
    let partner = keys::identity("CN=idp", keys::RSA);
    let sts = Sts::with(|rules| {
        rules.issuers = partners();
        trusting(&mut rules.delegations[0], PARTNER);
    });
    (sts, assertion.made("alice", &partner, made))
}

/// SAML Core 2.0, 2.2.2: `SPNameQualifier` says that the name is one for a single service.
#[test]
fn a_name_for_one_service_is_told_to_no_other() {
    for (qualifiers, is_granted) in [
        ("", true),
        (" NameQualifier=\"https://idp.example\"", true),
        (" NameQualifier=\"https://evil-idp.example\"", false),
        (" SPNameQualifier=\"https://front.example\"", false),
    ] {
        let (sts, token) = of_partner(&Made {
            qualifiers,
            ..Made::default()
        });
        for (element, form) in FORMS {
            let answer = sts.answer(&acting(element, &token), &by_signature("CN=front"));
            let refusal = answer.err().map(|fault| fault.refusal);
            let expected = (!is_granted).then(|| not_allowed("certificate CN=front", form));
            assert_eq!(refusal, expected, "{qualifiers}");
        }
    }
}

/// SAML Core 2.0, 2.5.1.6: a new assertion is made from the presented one. How far the issuer
/// allows that is not counted here.
#[test]
fn an_assertion_that_restricts_proxies_lets_nobody_act() {
    let for_one = "<saml:ProxyRestriction Count=\"1\"></saml:ProxyRestriction>";
    let for_nobody = "<saml:ProxyRestriction Count=\"0\"></saml:ProxyRestriction>";
    let for_books = "<saml:ProxyRestriction><saml:Audience>https://books.example</saml:Audience></saml:ProxyRestriction>";
    for conditions in [for_one, for_nobody, for_books] {
        let (sts, token) = of_partner(&Made {
            conditions,
            ..Made::default()
        });
        for (element, _) in FORMS {
            let refusal = sts.refusal(&acting(element, &token), &by_signature("CN=front"));
            let problem = "its issuer restricts the assertions that are made from it";
            assert_eq!(rejected(refusal), problem, "{conditions}");
        }
        // It is as good as any other one where nothing is made from it.
        let target = format!("<wst:ValidateTarget>{token}</wst:ValidateTarget>");
        let answer = sts.answer(&request("Validate", &target), &by_signature("CN=books"));
        assert!(is_valid(&answer.expect("an answer")));
    }
}

/// SAML Core 2.0, 2.4.1.2: nobody is the subject any more when the confirmation is over.
#[test]
fn an_assertion_lets_nobody_act_when_its_confirmation_has_ended() {
    let confirmed = |seconds| {
        of_partner(&Made {
            begin: -600,
            confirmed: Some(seconds),
            ..Made::default()
        })
    };
    let (sts, token) = confirmed(120);
    let issued = sts.issued(&acting("wst:OnBehalfOf", &token), &by_signature("CN=front"));
    let policy = super::rules(&keys::identity("CN=sts", keys::RSA)).policy;
    let end = super::read(&issued, "CN=sts", sts.now).expires(&policy);
    let (_, data) = token.split_once("Data NotOnOrAfter=\"").expect("an end");
    assert_eq!(data.split('"').next(), Some(&*end.to_string()));
    let (sts, token) = confirmed(-400);
    let refusal = sts.refusal(&acting("wst:OnBehalfOf", &token), &by_signature("CN=front"));
    let problem = rejected(refusal);
    assert!(
        problem.contains("its confirmation ended 400 s ago"),
        "{problem}"
    );
}

/// Signature wrapping (Somorovsky and others, "On Breaking SAML", 2012): what is read is what was
/// signed, wherever the signed element is moved.
#[test]
fn an_assertion_that_wraps_another_one_lets_nobody_act() {
    let sts = Sts::new();
    let bob = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("bob"));
    let (start, end) = (
        bob.find("<ds:Signature").unwrap(),
        bob.find("</ds:Signature>").unwrap(),
    );
    let signature = &bob[start..end + "</ds:Signature>".len()];
    let unsigned = bob.replace(signature, "");
    let forged = |id: &str| {
        let begins = unsigned.find("ID=\"").unwrap() + 4;
        let own = &unsigned[begins..begins + unsigned[begins..].find('"').unwrap()];
        unsigned.replace(">bob<", ">alice<").replace(own, id)
    };
    let with = |forged: String, inside: &str| {
        let at = "</saml2:Issuer>";
        forged.replacen(at, &format!("{at}{inside}"), 1)
    };
    let object = |content: &str| format!("<ds:Object>{content}</ds:Object></ds:Signature>");
    let hiding = signature.replace("</ds:Signature>", &object(&bob.replace(signature, "")));
    let variants = [
        // Changed under its signature.
        bob.replace(">bob<", ">alice<"),
        // XSW1, 2: the signature is taken along, the signed one stands inside or beside it.
        with(
            forged("_evil"),
            &signature.replace("</ds:Signature>", &object(&unsigned)),
        ),
        with(forged("_evil"), &hiding),
        // XSW3, 4: the signed one is a child of the forged one.
        forged("_evil").replace("</saml2:Conditions>", &format!("</saml2:Conditions>{bob}")),
        forged("_evil").replace("<saml2:Subject>", &format!("{bob}<saml2:Subject>")),
        // XSW7, 8: in a place for anything.
        forged("_evil").replace(
            "</saml2:Conditions>",
            &format!("</saml2:Conditions><saml2:Advice>{bob}</saml2:Advice>"),
        ),
        // Two in one place, and one in a wrapper.
        format!("<wrapper>{}{bob}</wrapper>", forged("_evil")),
        // The value is cut by a comment (CVE-2017-11427), or nobody signed at all.
        bob.replace(">bob<", "><!---->alice<"),
        forged("_evil"),
    ];
    for (number, variant) in variants.iter().enumerate() {
        for (element, _) in FORMS {
            let refused = sts.answer(&acting(element, variant), &by_signature("CN=front"));
            let fault = refused.expect_err(&format!("variant {number} of {element}"));
            assert_eq!(
                fault.code(),
                TrustFaultCode::FailedAuthentication,
                "{number}: {fault}"
            );
            rejected(fault.refusal);
        }
    }
    // Elsewhere in the request, where the forged one's signature finds it by its id.
    let beside = format!(
        "<wst:OnBehalfOf>{}</wst:OnBehalfOf><wst14:ActAs>{unsigned}</wst14:ActAs>",
        with(forged("_evil"), signature)
    );
    let refusal = sts.refusal(
        &issue(BOOKS, "PublicKey", &beside),
        &by_signature("CN=front"),
    );
    let element = "`OnBehalfOf` beside `ActAs`".to_owned();
    assert_eq!(refusal, Refusal::NotUnderstood { element });
    let claims = format!("<wst:Claims Dialect='urn:a'>{unsigned}</wst:Claims>");
    let hidden = format!(
        "{claims}<wst:OnBehalfOf>{}</wst:OnBehalfOf>",
        with(forged("_evil"), signature)
    );
    rejected(sts.refusal(
        &issue(BOOKS, "PublicKey", &hidden),
        &by_signature("CN=front"),
    ));
}

/// What is delegated ends with what it rests on, so that no chain of requests lengthens it.
#[test]
fn a_delegated_assertion_does_not_outlive_the_presented_one() {
    let sts = Sts::new();
    let token = presented(&sts);
    let policy = super::rules(&keys::identity("CN=sts", keys::RSA)).policy;
    let end = super::read(&token, "CN=sts", sts.now).expires(&policy);
    let sts = sts.later(500);
    let issued = sts.issued(&acting("wst:OnBehalfOf", &token), &by_signature("CN=front"));
    assert_eq!(
        super::read(&issued, "CN=sts", sts.now).expires(&policy),
        end
    );
    let over = sts.later(300);
    rejected(over.refusal(&acting("wst:OnBehalfOf", &token), &by_signature("CN=front")));
}
