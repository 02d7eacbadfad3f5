//! Timestamps, and the `wsse:Security` header itself.

use crate::rule::{Profile, Profiles};

const BSP: Profiles = Profiles::of(Profile::Bsp);

rules! { TIMESTAMPS BSP, Timestamp;
"R3203" MUST "wsu:Timestamp" "WSS 1.1.1, 10"
    "A Timestamp says when it was made, once."
    "Write one wsu:Created in the Timestamp.";
"R3224" MUST "wsu:Timestamp" "WSS 1.1.1, 10"
    "A Timestamp ends once at most."
    "Leave one wsu:Expires and remove the others.";
"R3221" MUST "wsu:Timestamp" "WSS 1.1.1, 10"
    "The creation time stands in front of the expiry time."
    "Write wsu:Created first and wsu:Expires behind it.";
"R3222" MUST "wsu:Timestamp" "WSS 1.1.1, 10"
    "A Timestamp holds the two times and no other element."
    "Move other elements out of the Timestamp.";
"R3220" SHOULD "wsu:Created" "WSS 1.1.1, 10"
    "Created is no finer than milliseconds, since some receivers read no more digits."
    "Round the seconds to three digits behind the point.";
"R3229" SHOULD "wsu:Expires" "WSS 1.1.1, 10"
    "Expires is no finer than milliseconds, since some receivers read no more digits."
    "Round the seconds to three digits behind the point.";
"R3213" MUST "wsu:Created" "WSS 1.1.1, 10"
    "Created names no leap second."
    "Write seconds below 60.";
"R3215" MUST "wsu:Expires" "WSS 1.1.1, 10"
    "Expires names no leap second."
    "Write seconds below 60.";
"R3225" MUST "wsu:Created" "WSS 1.1.1, 10"
    "The type of Created is fixed, so that no attribute names one."
    "Remove the ValueType attribute.";
"R3226" MUST "wsu:Expires" "WSS 1.1.1, 10"
    "The type of Expires is fixed, so that no attribute names one."
    "Remove the ValueType attribute.";
"R3217" MUST "wsu:Created" "WSS 1.1.1, 10"
    "Created is an xsd:dateTime in UTC, written with a Z."
    "Convert the time to UTC, as in 2026-01-31T12:00:00Z.";
"R3223" MUST "wsu:Expires" "WSS 1.1.1, 10"
    "Expires is an xsd:dateTime in UTC, written with a Z."
    "Convert the time to UTC, as in 2026-01-31T12:05:00Z.";
"R3227" MUST "wsse:Security" "WSS 1.1.1, 10"
    "A security header has one Timestamp at most, so that its age is not ambiguous."
    "Leave one wsu:Timestamp in the header.";
}

rules! { HEADER BSP, Header;
"R3204" MUST "wsu:Id" "WSS 1.1.1, 4"
    "An id names one element of the message, so that a reference cannot mean another one."
    "Give each element an id of its own.";
"R3206" MUST "wsse:Security" "WSS 1.1.1, 5"
    "One security header at most is for the last receiver, whom no actor names."
    "Merge the headers, or name the actor of each.";
"R3210" MUST "wsse:Security" "WSS 1.1.1, 5"
    "Each actor has one security header at most."
    "Merge the headers of the same actor (SOAP 1.1) or role (SOAP 1.2).";
}
