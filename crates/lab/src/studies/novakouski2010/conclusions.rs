//! What Novakouski, Simanta, Peterson, Morris and Lewis conclude, as questions to the lab's
//! figures.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use crate::study::{Asks, Conclusion, Estimate, Grows, Measure, Of, Quantity};

/// Mean times of calls.
const MEAN: Measure = Measure::Itself(Quantity::Time, Estimate::Mean);
/// Their deviation.
const DEVIATION: Measure = Measure::Itself(Quantity::Time, Estimate::Deviation);
/// Mean times of first calls after deployment.
const FIRST: Measure = Measure::Itself(Quantity::First, Estimate::Mean);
/// Mean times of first calls of later clients.
const NEWCOMER: Measure = Measure::Itself(Quantity::Newcomer, Estimate::Mean);
/// Mean times of all calls together.
const TOTAL: Measure = Measure::Itself(Quantity::Total, Estimate::Mean);
/// Bytes of both messages.
const SECURED: Measure = Measure::Itself(Quantity::Secured, Estimate::Mean);
/// Calls in a second.
const RATE: Measure = Measure::Itself(Quantity::Rate, Estimate::Mean);

/// Each mechanism, and none.
const EVERY_ARM: &[&str] = &[
    "none",
    "username",
    "sign",
    "encrypt",
    "sign-encrypt",
    "encrypt-sign",
    "secure-conversation",
];
/// Each mechanism.
const WITH_SECURITY: &[&str] = EVERY_ARM.split_at(1).1;

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of("no security takes less than any mechanism", "sections 4.1 and 5, pages 9 and 21", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["none"]),
            Of::arms(WITH_SECURITY),
        )),
    Conclusion::of("a password takes less than every other mechanism", "section 4.1.1, page 11", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["username"]),
            Of::arms(&[
                "sign",
                "encrypt",
                "sign-encrypt",
                "encrypt-sign",
                "secure-conversation",
            ]),
        )),
    Conclusion::of("security makes calls of Echo take up to 20 times as long", "section 4.1, page 9", (1, "tables-1-2"), Measure::Shown, Asks::value(
            Of::arms(WITH_SECURITY).at(&[("operation", "Echo")]),
            [0.0, 2050.0],
        )).but("table 1 has 65/3 = 21.7"),
    Conclusion::of("with a simple payload signing takes less than encrypting", "section 4.1.1, page 11", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["sign"]).at(&[("operation", "Echo")]),
            Of::arms(&["encrypt"]).at(&[("operation", "Echo")]),
        )).but("table 1 has 38 ms for Sign Only and 36 ms for Encrypt Only"),
    Conclusion::of("with a complex payload encrypting takes less than signing", "section 4.1.1, page 11", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["encrypt"]).at(&[("operation", "EmployeeDetails")]),
            Of::arms(&["sign"]).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("with a simple payload both ways to sign and encrypt take the same (within 2 % here)", "section 4.1.1, page 11", (1, "tables-1-2"), MEAN, Asks::ratio(
            Of::arms(&["sign-encrypt"]).at(&[("operation", "Echo")]),
            Of::arms(&["encrypt-sign"]).at(&[("operation", "Echo")]),
            [0.98, 1.02],
        )),
    Conclusion::of("with a complex payload encrypting before signing takes less than the other way round", "section 4.1.1, page 11", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["encrypt-sign"]).at(&[("operation", "EmployeeDetails")]),
            Of::arms(&["sign-encrypt"]).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("with a complex payload encrypting before signing is steadier than the other way round", "section 4.1.1, page 11", (1, "tables-1-2"), DEVIATION, Asks::order(
            Of::arms(&["encrypt-sign"]).at(&[("operation", "EmployeeDetails")]),
            Of::arms(&["sign-encrypt"]).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("with a simple payload a conversation takes less than every mechanism that encrypts", "section 4.1.1, pages 11 and 12", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["secure-conversation"]).at(&[("operation", "Echo")]),
            Of::arms(&["encrypt", "sign-encrypt", "encrypt-sign"]).at(&[("operation", "Echo")]),
        )).but("table 1 has 36 ms for Encrypt Only and 39 ms for Secure Conversation"),
    Conclusion::of("with a complex payload a conversation takes longest", "section 4.1.1, page 11", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&[
                "none",
                "username",
                "sign",
                "encrypt",
                "sign-encrypt",
                "encrypt-sign",
            ])
            .at(&[("operation", "EmployeeDetails")]),
            Of::arms(&["secure-conversation"]).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("with a complex payload a conversation is the least steady", "section 4.1.1, page 11", (1, "tables-1-2"), DEVIATION, Asks::order(
            Of::arms(&[
                "none",
                "username",
                "sign",
                "encrypt",
                "sign-encrypt",
                "encrypt-sign",
            ])
            .at(&[("operation", "EmployeeDetails")]),
            Of::arms(&["secure-conversation"]).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("signing and encrypting takes longer than signing", "section 4.1, tables 1 and 2", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["sign"]),
            Of::arms(&["sign-encrypt", "encrypt-sign"]),
        )),
    Conclusion::of("signing and encrypting takes longer than encrypting", "section 4.1, tables 1 and 2", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(&["encrypt"]),
            Of::arms(&["sign-encrypt", "encrypt-sign"]),
        )),
    Conclusion::of("a complex payload takes longer than a simple one under every mechanism", "section 4.1.1, page 10", (1, "tables-1-2"), MEAN, Asks::order(
            Of::arms(EVERY_ARM).at(&[("operation", "Echo")]),
            Of::arms(EVERY_ARM).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("up to 7 kB encrypting takes no more than signing, then signing takes less", "section 4.1.1, page 11", (2, "figure-3"), MEAN, Asks::Crossover {
            first: Of::arms(&["encrypt"]),
            second: Of::arms(&["sign"]),
            along: "characters",
            within: [6500.0, 7500.0],
        }),
    Conclusion::of("beyond 7 kB signing takes less than encrypting", "section 4.1.1, page 11", (2, "figure-3"), MEAN, Asks::order(
            Of::arms(&["sign"]).at(&[("characters", ">7500")]),
            Of::arms(&["encrypt"]).at(&[("characters", ">7500")]),
        )),
    Conclusion::of("the time of signing grows most slowly of all mechanisms but the password", "section 4.1.3, page 15", (2, "table-3-increase"), Measure::Shown, Asks::order(
            Of::arms(&["sign"]).at(&[("operation", "Echo")]),
            Of::arms(&[
                "encrypt",
                "sign-encrypt",
                "encrypt-sign",
                "secure-conversation",
            ])
            .at(&[("operation", "Echo")]),
        )),
    Conclusion::of("the time of encrypting grows fastest of all that encrypt", "section 4.1.3, page 15", (2, "table-3-increase"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt", "encrypt-sign", "secure-conversation"])
                .at(&[("operation", "Echo")]),
            Of::arms(&["encrypt"]).at(&[("operation", "Echo")]),
        )),
    Conclusion::of("the more complex a mechanism, the faster its time grows (asked of none and of signing with encrypting)", "section 4.1.3, page 15", (2, "table-3-increase"), Measure::Shown, Asks::order(
            Of::arms(&["none"]).at(&[("operation", "Echo")]),
            Of::arms(&["sign-encrypt", "encrypt-sign"]).at(&[("operation", "Echo")]),
        )).but("table 3 has 884.85 % without security, more than with any mechanism"),
    Conclusion::of("with growing payload a conversation takes less than the mechanisms that sign and encrypt", "section 4.1.3, page 16", (2, "figures-2-3-table-3"), MEAN, Asks::order(
            Of::arms(&["secure-conversation"]),
            Of::arms(&["sign-encrypt", "encrypt-sign"]),
        )),
    Conclusion::of("the first call after deployment takes twice as long as that of a later client (1.5 to 2.5 times here)", "section 4.1.2, pages 12 and 15", (3, "figures-4-5"), Measure::Beside(Quantity::First, "figure-4-later", Quantity::Newcomer), Asks::ratio(
            Of::arms(EVERY_ARM),
            Of::arms(EVERY_ARM),
            [1.5, 2.5],
        )),
    Conclusion::of("first calls with encryption take longer than those without", "section 4.1.2, page 15", (3, "figures-4-5"), FIRST, Asks::order(
            Of::arms(&["username", "sign"]),
            Of::arms(&[
                "encrypt",
                "sign-encrypt",
                "encrypt-sign",
                "secure-conversation",
            ]),
        )),
    Conclusion::of("the first call after deployment takes 59 % longer in a conversation than with encrypting before signing", "section 4.1.2, page 13", (3, "figures-4-5"), FIRST, Asks::ratio(
            Of::arms(&["secure-conversation"]),
            Of::arms(&["encrypt-sign"]),
            [1.585, 1.595],
        )),
    Conclusion::of("the first call of a later client takes 22 % longer in a conversation than with encrypting before signing", "section 4.1.2, page 13", (3, "figure-4-later"), NEWCOMER, Asks::ratio(
            Of::arms(&["secure-conversation"]),
            Of::arms(&["encrypt-sign"]),
            [1.215, 1.225],
        )),
    Conclusion::of("the size of a small payload does not change the first call (within 10 % here)", "section 4.1.2, page 13", (3, "figures-4-5"), FIRST, Asks::ratio(
            Of::arms(EVERY_ARM).at(&[("payload", "Echo-120")]),
            Of::arms(EVERY_ARM).at(&[("payload", "Echo-12")]),
            [0.9, 1.1],
        )),
    Conclusion::of("the first call with encryption takes as long as with both (within 10 % here)", "section 4.1.2, page 12", (3, "figures-4-5"), FIRST, Asks::ratio(
            Of::arms(&["encrypt"]),
            Of::arms(&["sign-encrypt", "encrypt-sign"]),
            [0.9, 1.1],
        )),
    Conclusion::of("the first call with a complex payload takes longer than with a simple one", "section 4.1.2, page 15", (3, "figures-4-5"), FIRST, Asks::order(
            Of::arms(EVERY_ARM).at(&[("payload", "Echo-12")]),
            Of::arms(EVERY_ARM).at(&[("payload", "EmployeeDetails")]),
        )),
    Conclusion::of("the first call of a later client with a complex payload takes longer than with a simple one", "section 4.1.2, pages 12 and 13", (3, "figure-4-later"), NEWCOMER, Asks::order(
            Of::arms(EVERY_ARM).at(&[("payload", "Echo-12")]),
            Of::arms(EVERY_ARM).at(&[("payload", "EmployeeDetails")]),
        )),
    Conclusion::of("with a complex payload signing costs less in all than encrypting for the first 46 messages", "section 4.1.2, page 14", (4, "figures-6-7"), TOTAL, Asks::Crossover {
            first: Of::arms(&["sign"]).at(&[("operation", "EmployeeDetails")]),
            second: Of::arms(&["encrypt"]).at(&[("operation", "EmployeeDetails")]),
            along: "messages",
            within: [45.5, 46.5],
        }),
    Conclusion::of("with a simple payload signing and then encrypting costs less in all than a conversation for the first 12 messages", "section 4.1.2, page 14", (4, "figures-6-7"), TOTAL, Asks::Crossover {
            first: Of::arms(&["sign-encrypt"]).at(&[("operation", "Echo")]),
            second: Of::arms(&["secure-conversation"]).at(&[("operation", "Echo")]),
            along: "messages",
            within: [11.5, 12.5],
        }),
    Conclusion::of("with a simple payload encrypting and then signing costs less in all than a conversation for the first 12 messages", "section 4.1.2, page 14", (4, "figures-6-7"), TOTAL, Asks::Crossover {
            first: Of::arms(&["encrypt-sign"]).at(&[("operation", "Echo")]),
            second: Of::arms(&["secure-conversation"]).at(&[("operation", "Echo")]),
            along: "messages",
            within: [11.5, 12.5],
        }),
    Conclusion::of("fewer than 50 messages cost less signed than encrypted", "section 4.1.2, page 15", (4, "figures-6-7"), TOTAL, Asks::order(
            Of::arms(&["sign"]).at(&[("messages", "<50")]),
            Of::arms(&["encrypt"]).at(&[("messages", "<50")]),
        )),
    Conclusion::of("fewer than 10 messages cost less with both than in a conversation", "section 4.1.2, page 15", (4, "figures-6-7"), TOTAL, Asks::order(
            Of::arms(&["sign-encrypt", "encrypt-sign"]).at(&[("messages", "<10")]),
            Of::arms(&["secure-conversation"]).at(&[("messages", "<10")]),
        )),
    Conclusion::of("with a simple payload times without security settle before those of every mechanism", "section 4.1.4, pages 17 and 18", (5, "tables-4-5-first-below-mean"), Measure::Shown, Asks::order(
            Of::arms(&["none"]).at(&[("operation", "Echo")]),
            Of::arms(WITH_SECURITY).at(&[("operation", "Echo")]),
        )),
    Conclusion::of("with a complex payload times settle sooner than with a simple one", "section 4.1.4, page 17", (5, "tables-4-5-first-below-mean"), Measure::Shown, Asks::order(
            Of::arms(EVERY_ARM).at(&[("operation", "EmployeeDetails")]),
            Of::arms(EVERY_ARM).at(&[("operation", "Echo")]),
        )),
    Conclusion::of("with a complex payload a conversation settles before calls without security", "section 4.1.4, page 17", (5, "tables-4-5-first-below-mean"), Measure::Shown, Asks::order(
            Of::arms(&["secure-conversation"]).at(&[("operation", "EmployeeDetails")]),
            Of::arms(&["none"]).at(&[("operation", "EmployeeDetails")]),
        )),
    Conclusion::of("a password adds the fewest bytes", "section 4.2, page 19", (6, "table-6"), SECURED, Asks::order(
            Of::arms(&["username"]),
            Of::arms(&["sign", "encrypt", "sign-encrypt", "encrypt-sign"]),
        )),
    Conclusion::of("small messages are smaller encrypted than signed", "section 4.2, page 19", (6, "table-6"), SECURED, Asks::order(
            Of::arms(&["encrypt"]).at(&[("operation", "Echo")]),
            Of::arms(&["sign"]).at(&[("operation", "Echo")]),
        )),
    Conclusion::of("small messages are smaller encrypted before signing than the other way round", "section 4.2, table 6", (6, "table-6"), SECURED, Asks::order(
            Of::arms(&["encrypt-sign"]).at(&[("operation", "Echo")]),
            Of::arms(&["sign-encrypt"]).at(&[("operation", "Echo")]),
        )),
    Conclusion::of("signing and encrypting adds more bytes than either alone", "section 4.2, table 6", (6, "table-6"), SECURED, Asks::order(
            Of::arms(&["sign", "encrypt"]),
            Of::arms(&["sign-encrypt", "encrypt-sign"]),
        )),
    Conclusion::of("what a password or a signature adds does not grow with the payload", "section 4.2, page 18", (6, "figure-10"), SECURED, Asks::Growth {
            of: Of::arms(&["username", "sign"]),
            over: Some("none"),
            along: "characters",
            grows: Grows::Constant,
        }),
    Conclusion::of("what encryption adds grows along a straight line with the payload", "section 4.2, page 18", (6, "figure-10"), SECURED, Asks::Growth {
            of: Of::arms(&["encrypt", "sign-encrypt", "encrypt-sign"]),
            over: Some("none"),
            along: "characters",
            grows: Grows::Linear,
        }),
    Conclusion::of("up to 4 kB of payload encrypting adds fewer bytes than signing", "section 4.2, page 19", (6, "figure-10"), SECURED, Asks::Crossover {
            first: Of::arms(&["encrypt"]),
            second: Of::arms(&["sign"]),
            along: "characters",
            within: [3500.0, 4500.0],
        }),
    Conclusion::of("a conversation answers fewer calls with little memory than with more", "section 4.3, page 19", (7, "figure-11"), RATE, Asks::order(
            Of::arms(&["secure-conversation"]).at(&[("memory", "<25")]),
            Of::arms(&["secure-conversation"]).at(&[("memory", "64")]),
        )),
    Conclusion::of("little memory costs a conversation more than no security (asked as the longest mean time)", "section 4.3, pages 19 and 20", (7, "figure-11-latency"), MEAN, Asks::order(
            Of::arms(&["none"]).at(&[("memory", "<25")]),
            Of::arms(&["secure-conversation"]).at(&[("memory", "<25")]),
        )),
    Conclusion::of("a request that is sent before anybody calls takes the cost of the first call away: without security", "section 4.1.2, page 15", (18, "warm-up"), FIRST, Asks::order(
            Of::arms(&["none+warm-up"]),
            Of::arms(&["none"]),
        )),
    Conclusion::of("a request that is sent before anybody calls takes the cost of the first call away: signed and encrypted", "section 4.1.2, page 15", (18, "warm-up"), FIRST, Asks::order(
            Of::arms(&["sign-encrypt+warm-up"]),
            Of::arms(&["sign-encrypt"]),
        )),
    Conclusion::of("a request that is sent before anybody calls takes the cost of the first call away: in a conversation", "section 4.1.2, page 15", (18, "warm-up"), FIRST, Asks::order(
            Of::arms(&["secure-conversation+warm-up"]),
            Of::arms(&["secure-conversation"]),
        )),
    Conclusion::of("a token that is named takes fewer bytes than one by value (asked of Kerberos tokens)", "section 6.2.6", (19, "tokens-bytes"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt-kerberos-once"]),
            Of::arms(&["sign-encrypt-kerberos"]),
        )),
    Conclusion::of("a token that is named takes less time than one by value (asked of Kerberos tokens)", "section 6.2.6", (19, "tokens"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt-kerberos-once"]),
            Of::arms(&["sign-encrypt-kerberos"]),
        )),
    Conclusion::of("a token by reference, as in SAML, takes fewer bytes than one by value", "section 6.2.6", (19, "tokens-bytes"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt-saml-reference"]),
            Of::arms(&["sign-encrypt-saml-holder"]),
        )).but("the report says that it may, and measures none"),
    Conclusion::of("a token by reference, as in SAML, takes less time than one by value: the receiver keeps it", "section 6.2.6", (19, "tokens"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt-saml-reference"]),
            Of::arms(&["sign-encrypt-saml-holder"]),
        )).but("the report says that it may, and measures none"),
    Conclusion::of("a token by reference, as in SAML, takes less time than one by value: the receiver fetches it each time", "section 6.2.6", (19, "tokens"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt-saml-reference-cold"]),
            Of::arms(&["sign-encrypt-saml-holder"]),
        )).but("the report says that it may, and measures none"),
    Conclusion::of("for constrained devices a token by reference, as in SAML, improves on one by value (asked of a network of 1 Mbit/s)", "section 6.2.6", (19, "tokens-constrained"), Measure::Shown, Asks::order(
            Of::arms(&["sign-encrypt-saml-reference"]).at(&[("limit", "1-Mbit")]),
            Of::arms(&["sign-encrypt-saml-holder"]).at(&[("limit", "1-Mbit")]),
        )).but("the report says that it may, and measures none"),
];
