//! What Shopov and Kakanakov conclude, as questions to the lab's figures.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use crate::study::{Asks, Conclusion, Estimate, Measure, Of, Quantity};

/// Mean times of calls.
const MEAN: Measure = Measure::Itself(Quantity::Time, Estimate::Mean);

/// TLS with a handshake in each call, on whatever stack.
const WITH_HANDSHAKES: &[&str] = &["https-new-connection", "direct+https-new-connection"];

pub(super) const ALL: &[Conclusion] = &[
    Conclusion::of("TLS takes longer than encryption, signatures and both in the message", "section Experimental results", (1, "table-1"), MEAN, Asks::order(
            Of::arms(&["encrypt", "sign", "sign-encrypt"]),
            Of::arms(&["https"]),
        )),
    Conclusion::of("TLS takes longer than encryption, signatures and both in the message: with a handshake in each call", "section Experimental results", (1, "table-1"), MEAN, Asks::order(
            Of::arms(&["encrypt", "sign", "sign-encrypt"]),
            Of::arms(WITH_HANDSHAKES),
        )).but("the paper does not say whether connections are kept; 0.23 s for 1 kB suggest a handshake in each call"),
    Conclusion::of("at 1 MB TLS is an order of magnitude slower than both in the message (5 to 20 times here)", "section Experimental results", (1, "table-1"), MEAN, Asks::ratio(
            Of::arms(&["https"]).at(&[("call", "echo-1-MB")]),
            Of::arms(&["encrypt", "sign", "sign-encrypt"]).at(&[("call", "echo-1-MB")]),
            [5.0, 20.0],
        )).but("table 1 has 1.04 s beside 0.131 s, 0.53 s and 0.391 s: 7.9, 2.0 and 2.7 times"),
    Conclusion::of("at 1 MB TLS is an order of magnitude slower than both in the message (5 to 20 times here): with a handshake in each call", "section Experimental results", (1, "table-1"), MEAN, Asks::ratio(
            Of::arms(WITH_HANDSHAKES).at(&[("call", "echo-1-MB")]),
            Of::arms(&["encrypt", "sign", "sign-encrypt"]).at(&[("call", "echo-1-MB")]),
            [5.0, 20.0],
        )).but("the paper does not say whether connections are kept"),
    Conclusion::of("with its processing a call takes no less than without it", "section Experimental results, table 1", (2, "table-1-exchange"), Measure::Beside(Quantity::Exchange, "table-1-opened", Quantity::Opened), Asks::order(
            Of::arms(&["encrypt", "sign", "sign-encrypt"]),
            Of::arms(&["encrypt", "sign", "sign-encrypt"]),
        )).but("table 1 has 0.53 s for signatures at 1 MB without processing and 0.43 s with it"),
    Conclusion::of("the time of signatures depends less on the size of messages than that of encryption (asked at 1 MB)", "section Experimental results", (1, "table-1"), MEAN, Asks::order(
            Of::arms(&["sign"]).at(&[("call", "echo-1-MB")]),
            Of::arms(&["encrypt"]).at(&[("call", "echo-1-MB")]),
        )).but("from 1 kB to 1 MB table 1 has 0.085 to 0.53 s for signatures and 0.056 to 0.131 s for encryption"),
    Conclusion::of("signing and encrypting takes longer than either alone", "section Experimental results, table 1", (1, "table-1"), MEAN, Asks::order(Of::arms(&["encrypt", "sign"]), Of::arms(&["sign-encrypt"]))).but("at 1 MB table 1 has 0.391 s for both and 0.53 s for signatures alone"),
    Conclusion::of("the Security header is about half of a message that is only signed or only encrypted (45 to 60 % here)", "section Experimental results", (3, "table-2"), Measure::Shown, Asks::value(
            Of::arms(&["encrypt", "sign"]).at(&[("call", "getTemperature")]),
            [45.0, 60.0],
        )),
    Conclusion::of("the Security header is almost 80 % of a message that is signed and encrypted (75 to 80 % here)", "section Experimental results", (3, "table-2"), Measure::Shown, Asks::value(
            Of::arms(&["sign-encrypt"]).at(&[("call", "getTemperature")]),
            [75.0, 80.0],
        )),
    Conclusion::of("signing and encrypting makes the header a larger share of the message than either alone", "section Experimental results", (3, "table-2"), Measure::Shown, Asks::order(
            Of::arms(&["encrypt", "sign"]).at(&[("call", "getTemperature")]),
            Of::arms(&["sign-encrypt"]).at(&[("call", "getTemperature")]),
        )),
];
