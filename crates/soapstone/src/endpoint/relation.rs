//! Which request an answer is to: its `wsa:RelatesTo` names the `wsa:MessageID` of the request
//! (WS-Addressing 1.0 Core, 3.4).
//!
//! Whoever is on the way can hold back the answer to one request and give it to another one. The
//! signature, the Timestamp and the signer of such an answer are right.
//!
//! The one rule: only blocks that are passed on are compared. Where signatures prove parts of a
//! message, these are the signed ones.

use soapstone_trust::addressing::{AddressingVersion, message_ids, reply_relation};
use soapstone_wss::{Envelope, InboundPlan, Part, Policy, Rejected, Relation};
use soapstone_xml::NodeId;

use super::addressing_parts::selects;

const RELATES_TO: &str = "RelatesTo";

/// What the answer to a request has to say of it; `None` of a request without `wsa:MessageID`.
pub(super) fn of_request(request: &Envelope, is_demanded: bool) -> Option<Relation> {
    let message_ids = message_ids(request.header()?);
    (!message_ids.is_empty()).then_some(Relation {
        message_ids,
        is_demanded,
    })
}

/// Refuses an answer that says of itself that it is to another request, or, where the policy
/// demands the relation, that proves none. `blocks` are the header blocks that are passed on, and
/// `policy` is that of answers.
pub(super) fn confirm(
    answer: &Envelope,
    blocks: &[NodeId],
    relation: &Relation,
    policy: &Policy,
) -> Result<(), Rejected> {
    let mut is_related = false;
    let refused = |found: Option<String>| Rejected::AnotherRequestAnswered {
        expected: relation.message_ids.join("` or `"),
        is_of_other_version: found.is_none() && is_of_other_version(answer, policy),
        found,
    };
    for block in blocks {
        match reply_relation(answer.document().element(*block)) {
            None => {}
            Some(Ok(id)) if relation.message_ids.contains(&id) => is_related = true,
            // A second relation to another request makes an answer of it, too.
            Some(Ok(id)) => return Err(refused(Some(id))),
            Some(Err(error)) => return Err(refused(Some(error.to_string()))),
        }
    }
    if relation.is_demanded && !is_related {
        return Err(refused(None));
    }
    Ok(())
}

/// Whether answers under a plan have to prove their relation: it is among the parts that must be
/// there, or its signature is demanded. Where a policy speaks of all headers of WS-Addressing, it
/// demands their signature if they are there; `wsam:Addressing` demands that they are.
pub(super) fn is_demanded(plan: Option<&InboundPlan>, addressing: bool) -> bool {
    let Some(policy) = plan.map(InboundPlan::policy) else {
        return false;
    };
    policy.parts.required.iter().any(names_relation) || signs_relation(policy, addressing)
}

fn signs_relation(policy: &Policy, addressing: bool) -> bool {
    // There, signatures do not say what is sent.
    if policy.is_by_connection() {
        return false;
    }
    let parts = policy.signed_parts();
    parts.iter().any(names_relation) || addressing && parts.iter().any(selects_relation)
}

/// Whether a part is the `wsa:RelatesTo` by its name.
fn names_relation(part: &Part) -> bool {
    matches!(part, Part::Header { .. }) && selects_relation(part)
}

/// Whether a part is the `wsa:RelatesTo` of a message, or a path that selects it, among others
/// perhaps.
fn selects_relation(part: &Part) -> bool {
    let mut versions = AddressingVersion::ALL.into_iter();
    versions.any(|version| selects(part, version, &[RELATES_TO]))
}

/// Whether an answer has a `wsa:RelatesTo`, and only of another version than that in which the
/// policy has it proven.
fn is_of_other_version(answer: &Envelope, policy: &Policy) -> bool {
    let parts = policy.signed_parts();
    let parts = || parts.iter().chain(&policy.parts.required);
    let is_proven =
        |version: AddressingVersion| parts().any(|part| selects(part, version, &[RELATES_TO]));
    let blocks = answer.header().into_iter().flat_map(|it| it.children());
    let mut there = blocks
        .filter(|block| block.local() == RELATES_TO)
        .filter_map(|block| AddressingVersion::from_namespace(block.namespace()))
        .peekable();
    AddressingVersion::ALL.into_iter().any(is_proven)
        && there.peek().is_some()
        && there.all(|version| !is_proven(version))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use soapstone_wss::{Mechanism, SoapVersion, Suite};
    use soapstone_xml::{Buffers, Limits};

    use super::*;

    const V10: &str = "http://www.w3.org/2005/08/addressing";
    const AUGUST: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";

    fn envelope(blocks: &str) -> Envelope {
        let soap = SoapVersion::V11.namespace();
        let text = format!(
            "<s:Envelope xmlns:s='{soap}' xmlns:a='{V10}' xmlns:o='{AUGUST}'>\
             <s:Header>{blocks}</s:Header><s:Body/></s:Envelope>"
        );
        Envelope::parse(
            text.into_bytes(),
            &Limits::default(),
            &mut Buffers::default(),
        )
        .expect("an envelope")
    }

    /// The verdict on an answer whose header blocks are all proven.
    fn verdict(request: &str, is_demanded: bool, answer: &str) -> Result<(), Rejected> {
        let relation = of_request(&envelope(request), is_demanded).expect("a message id");
        let answer = envelope(answer);
        let header = answer.header().expect("a header");
        let blocks: Vec<NodeId> = header.children().map(|block| block.id()).collect();
        confirm(&answer, &blocks, &relation, &nothing())
    }

    /// A policy that has nothing signed.
    fn nothing() -> Policy {
        Mechanism::None.policy(Suite::named("Basic256GCM").expect("a suite"))
    }

    fn refused(found: Option<&str>) -> Result<(), Rejected> {
        Err(Rejected::AnotherRequestAnswered {
            expected: "urn:two".to_owned(),
            found: found.map(str::to_owned),
            is_of_other_version: false,
        })
    }

    #[test]
    fn an_answer_to_another_request_is_refused_in_every_version() {
        for prefix in ["a", "o"] {
            let request = format!("<{prefix}:MessageID>urn:two</{prefix}:MessageID>");
            let answer = |id: &str| format!("<{prefix}:RelatesTo>{id}</{prefix}:RelatesTo>");
            for demanded in [true, false] {
                let verdict = |id| verdict(&request, demanded, &answer(id));
                assert_eq!(verdict("urn:one"), refused(Some("urn:one")));
                assert_eq!(verdict(" urn:two\n"), Ok(()));
                assert_eq!(verdict("URN:TWO"), refused(Some("URN:TWO")));
            }
        }
    }

    #[test]
    fn an_answer_without_a_relation_is_refused_where_it_is_demanded() {
        let request = "<a:MessageID>urn:two</a:MessageID>";
        assert_eq!(verdict(request, true, ""), refused(None));
        assert_eq!(verdict(request, false, ""), Ok(()));
    }

    /// A client that writes headers of one version under a policy that signs those of another.
    #[test]
    fn a_relation_of_a_version_that_the_policy_leaves_unsigned_is_told() {
        let mut policy = Mechanism::Sign.policy(Suite::named("Basic256GCM").expect("a suite"));
        policy.parts.signed.push(Part::Header {
            namespace: AUGUST.to_owned(),
            local: RELATES_TO.to_owned(),
        });
        let request = envelope("<a:MessageID>urn:two</a:MessageID>");
        let relation = of_request(&request, true).expect("a message id");
        for (answer, is_of_other_version) in [
            ("<a:RelatesTo>urn:two</a:RelatesTo>", true),
            ("<o:RelatesTo>urn:two</o:RelatesTo>", false),
            (
                "<a:RelatesTo>urn:two</a:RelatesTo><o:RelatesTo>urn:two</o:RelatesTo>",
                false,
            ),
            ("", false),
        ] {
            let refused = confirm(&envelope(answer), &[], &relation, &policy);
            let expected = Rejected::AnotherRequestAnswered {
                expected: "urn:two".to_owned(),
                found: None,
                is_of_other_version,
            };
            assert_eq!(refused, Err(expected.clone()), "{answer}");
            let hint = expected.hint().expect("a hint");
            assert_eq!(
                hint.contains("`version` in `addressing`"),
                is_of_other_version
            );
        }
    }

    /// WS-Addressing 1.0 Core, 3.1 and 3.2.
    #[test]
    fn a_relationship_that_is_no_reply_does_not_count() {
        let request = "<a:MessageID>urn:two</a:MessageID>";
        for kind in [
            "urn:other",
            "http://www.w3.org/2005/08/addressing/unspecified",
            "",
        ] {
            let answer =
                |id: &str| format!("<a:RelatesTo RelationshipType='{kind}'>{id}</a:RelatesTo>");
            assert_eq!(verdict(request, true, &answer("urn:two")), refused(None));
            assert_eq!(verdict(request, false, &answer("urn:one")), Ok(()));
        }
        let reply = "http://www.w3.org/2005/08/addressing/reply";
        let answer = format!("<a:RelatesTo RelationshipType='{reply}'>urn:two</a:RelatesTo>");
        assert_eq!(verdict(request, true, &answer), Ok(()));
        let answer = "<o:RelatesTo RelationshipType='o:Reply'>urn:one</o:RelatesTo>";
        assert_eq!(verdict(request, true, answer), refused(Some("urn:one")));
    }

    #[test]
    fn of_several_relations_every_reply_is_to_the_request() {
        let request = "<a:MessageID>urn:two</a:MessageID>";
        let (right, wrong) = (
            "<a:RelatesTo>urn:two</a:RelatesTo>",
            "<a:RelatesTo>urn:one</a:RelatesTo>",
        );
        for answer in [format!("{right}{wrong}"), format!("{wrong}{right}")] {
            assert_eq!(verdict(request, true, &answer), refused(Some("urn:one")));
        }
        let other = "<a:RelatesTo RelationshipType='urn:other'>urn:one</a:RelatesTo>";
        assert_eq!(verdict(request, true, &format!("{other}{right}")), Ok(()));
        let twice = format!("{right}{right}");
        assert_eq!(verdict(request, true, &twice), Ok(()));
    }

    #[test]
    fn a_block_that_is_not_proven_relates_an_answer_to_nothing() {
        let relation = of_request(&envelope("<a:MessageID>urn:two</a:MessageID>"), true);
        let relation = relation.expect("a message id");
        for id in ["urn:one", "urn:two"] {
            let answer = envelope(&format!("<a:RelatesTo>{id}</a:RelatesTo>"));
            assert_eq!(confirm(&answer, &[], &relation, &nothing()), refused(None));
        }
    }

    /// Answers of Apache CXF, Metro and Mono's WCF, with those of their handshakes.
    #[test]
    fn every_recorded_answer_is_to_its_request() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded");
        let read = |file: &Path| {
            let bytes = std::fs::read(file).expect("it was recorded");
            Envelope::parse(bytes, &Limits::default(), &mut Buffers::default())
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        };
        let mut related = 0;
        for peer in ["cxf", "metro", "wcf"] {
            let cells = std::fs::read_dir(root.join(peer)).expect("it was recorded");
            for cell in cells {
                let cell = cell.expect("it can be read").path();
                for exchange in 1.. {
                    let request = cell.join(format!("{exchange}.request.xml"));
                    let answer = cell.join(format!("{exchange}.response.xml"));
                    if !request.exists() || !answer.exists() {
                        break;
                    }
                    let Some(relation) = of_request(&read(&request), true) else {
                        continue;
                    };
                    let answer = read(&answer);
                    let header = answer.header().expect("a header");
                    let blocks: Vec<NodeId> = header.children().map(|block| block.id()).collect();
                    let verdict = confirm(&answer, &blocks, &relation, &nothing());
                    assert_eq!(verdict, Ok(()), "{}", cell.display());
                    related += 1;
                }
            }
        }
        assert!(related >= 250, "{related}");
    }

    #[test]
    fn a_request_without_a_message_id_asks_for_nothing() {
        assert_eq!(
            of_request(&envelope("<a:Action>urn:a</a:Action>"), true),
            None
        );
        assert_eq!(of_request(&envelope("<a:MessageID/>"), true), None);
    }
}
