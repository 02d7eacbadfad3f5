//! Conversations and the messages that begin them.

use super::*;

fn weaker_than(agreed: &ExchangePolicy, described: ExchangePolicy) -> Option<String> {
    let (request, answer) = judged(agreed);
    let begins = agreed.conversation.as_ref();
    let begins = begins.and_then(|it| it.bootstrap.as_deref());
    let agreed = Agreed {
        requests: vec![request],
        answers: vec![answer],
        begins: begins.map(|it| (&it.request, &it.response)),
    };
    agreed.weakness(&[described])
}

/// Whoever may begin a conversation has its key.
#[test]
fn a_conversation_proves_no_more_than_what_begins_it() {
    let kerberos = under(&token("KerberosToken", "<s:WssGssKerberosV5ApReqToken11/>"));
    let user = token("UsernameToken", "<s:WssUsernameToken11/>");
    let user = supporting("SignedEncryptedSupportingTokens", &user);
    let endorsed = supporting("EndorsingSupportingTokens", &certificate());
    for (begun_by, expected) in [
        (
            "",
            Some(
                "requests: signed by the key of a conversation that anybody begins, agreed the key of a Kerberos token",
            ),
        ),
        (
            &*user,
            Some(
                "requests: signed by the key of a conversation that a password begins, agreed the key of a Kerberos token",
            ),
        ),
        (&*endorsed, None),
    ] {
        let described = conversing(&beginning("Basic256", begun_by));
        let found = weaker_than(&kerberos, described);
        assert_eq!(found.as_deref(), expected, "{begun_by}");
    }
    // One that begins as agreed, or proves more, is no weaker.
    for (agreed, described, is_weaker) in [
        ("", "", false),
        ("", &*user, false),
        (&*user, &*user, false),
        (&*user, "", true),
        (&*endorsed, &*user, true),
    ] {
        let agreed = conversing(&beginning("Basic256", agreed));
        let described = conversing(&beginning("Basic256", described));
        assert_eq!(weaker_than(&agreed, described).is_some(), is_weaker);
    }
    // Nobody knows who has the key of a context that comes from elsewhere.
    let context = under(&token("SecurityContextToken", ""));
    assert!(weaker_than(&kerberos, context).is_some());
}

/// Whoever reads the beginning reads the conversation.
#[test]
fn a_conversation_is_no_stronger_than_the_messages_that_begin_it() {
    let anonymous = under(&certificate().replace("AlwaysToRecipient", "Never"));
    let begins = "the beginning of conversations: requests: ";
    for (suite, expected) in [
        ("Basic256", None),
        ("Basic128", Some("encryption of 128 bits, agreed 256")),
        (
            "Basic256Rsa15",
            Some("session keys are encrypted by rsa-1_5"),
        ),
        ("Basic256Sha256", None),
    ] {
        let found = weaker_than(&anonymous, conversing(&beginning(suite, "")));
        let expected = expected.map(|why| format!("{begins}{why}"));
        assert_eq!(found, expected, "{suite}");
    }
    // More than nothing is not weaker.
    let none = nothing();
    let found = weaker_than(&none, conversing(&beginning("Basic128Rsa15", "")));
    assert_eq!(found, None);
    // What messages have beside their Body is not in those that begin a conversation.
    let mut more = anonymous.clone();
    more.request.header.timestamp = None;
    assert_eq!(
        weaker_than(&more, conversing(&beginning("Basic256", ""))),
        None
    );
}
