//! Which problems of a policy are told: those to mend, and not what follows from them.

use crate::support::*;

/// What cannot be read or done is told, and not that it seems to be missing: the first problem is
/// the one to mend.
#[test]
fn what_is_missing_because_of_another_problem_is_not_told() {
    let users = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    let rights = token("RelToken", "Once", "");
    let bootstrap = |protection: &str| {
        let binding = symmetric(protection, &suite("Basic128"));
        let context = token(
            "SecureConversationToken",
            "AlwaysToRecipient",
            &nest(
                "BootstrapPolicy",
                &format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"),
            ),
        );
        symmetric(&context, &suite("Basic128"))
    };
    let foreign = "<f:SslTransportSecurity xmlns:f='http://schemas.microsoft.com/ws/2006/05/framing/policy'/>";
    let framed = nest("TransportToken", foreign);
    for (policy, name) in [
        (asymmetric(&suite("Basic600")), "Basic600"),
        (symmetric("<sp:OddToken/>", &suite("Basic256")), "OddToken"),
        (symmetric(&rights, &suite("Basic256")) + &users, "RelToken"),
        (bootstrap(&rights), "RelToken"),
        (bootstrap("<sp:OddToken/>"), "OddToken"),
        (
            nest(
                "TransportBinding",
                &format!("{framed}{}", suite("Basic256")),
            ),
            "SslTransportSecurity",
        ),
    ] {
        let found = refused(&format!("{policy}{SIGNED_BODY}"));
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [name], "{found:?}");
    }
}
