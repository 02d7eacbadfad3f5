//! The project's own messages (`vectors/messages`), each opened twice: the memory of replays admits
//! it once.

use soapstone::{Memory, Opener};
use soapstone_store::{DEFAULT_CAPACITY, MemoryReplay};
use soapstone_testkit::Case;

/// Opens the message of a case, and says why it is refused.
fn open(case: &Case, replay: &MemoryReplay) -> Result<(), &'static str> {
    let file = case.value["endpoint"].as_str().expect("an endpoint file");
    let opener = Opener::from_file(&case.folder.join(file), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let opened = opener.open(case.input(), Memory::without_conversations(replay));
    opened.map(drop).map_err(|rejected| rejected.name())
}

#[test]
fn every_message_is_admitted_once() {
    let replay = MemoryReplay::new(DEFAULT_CAPACITY);
    let mut cases = soapstone_testkit::cases("endpoint-open");
    // One suite has every mechanism and key reference. Replays do not depend on the suite.
    cases.retain(|case| {
        let of_one_suite =
            case.file.contains("/Basic256GCM_") || case.file.contains("/variations/");
        case.outcome() == "valid" && of_one_suite
    });
    for case in &cases {
        assert_eq!(open(case, &replay), Ok(()), "{}", case.id);
    }
    for case in &cases {
        assert_eq!(open(case, &replay), Err("replayed"), "{}", case.id);
    }
    assert!(cases.len() > 60, "{} messages", cases.len());
}
