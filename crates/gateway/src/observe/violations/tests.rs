//! Records as their readers get them, and what is found of those that somebody changed.

use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone::wss::Rejected;
use soapstone_broker::Obligation;
use soapstone_testkit::Folder;
use soapstone_testkit::keys::{self, P256, RSA};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn violation(violating: u64) -> Violation {
    Violation {
        agreement: "gold".to_owned(),
        service: "/books".to_owned(),
        client: "CN=client".to_owned(),
        backend: Some("one\n<two>".to_owned()),
        provider: Some("CN=provider".to_owned()),
        obligation: Obligation::ResponseTime,
        promised: "95% within 200ms".to_owned(),
        measured: "80% within 200ms".to_owned(),
        calls: 100,
        violating,
        window: (
            Duration::from_secs(1_700_000_000),
            Duration::from_millis(1_700_000_060_500),
        ),
        penalty: Some("50 EUR".to_owned()),
        excluded: Some(Duration::from_secs(600)),
    }
}

fn trust(certificates: &[&Certificate]) -> TrustStore {
    let mut rules = TrustRules::default();
    rules.pinned = certificates.iter().copied().cloned().collect();
    TrustStore::new(rules).expect("certificates")
}

fn told(violations: &Violations, counts: impl IntoIterator<Item = u64>) {
    for count in counts {
        let event = AgreementEvent::Violated(Box::new(violation(count)));
        violations.tell(vec![event]);
    }
    violations.flush(PATIENCE);
}

/// A file with so many records, and whom to trust.
fn file(folder: &Folder, count: u64) -> (PathBuf, Arc<Identity>) {
    let file = folder.path("violations.xml");
    let identity = keys::identity("CN=gateway", P256);
    let violations = Violations::default();
    violations.configure(&file, &identity).expect("a file");
    told(&violations, 1..=count);
    assert_eq!((violations.head().number, violations.lost()), (count, 0));
    (file, identity)
}

fn counts(records: &[VerifiedRecord]) -> Vec<&str> {
    let counts = records.iter().map(|record| record.part("Violating"));
    counts.map(|count| count.expect("each has one")).collect()
}

fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).expect("it is there")
}

#[test]
fn records_verify_and_say_what_was_told() {
    let folder = Folder::new();
    let (file, identity) = file(&folder, 3);
    let bytes = read(&file);
    let (records, head) =
        verify_records(&bytes, trust(&[identity.certificate()])).expect("they verify");
    assert_eq!(counts(&records), ["1", "2", "3"]);
    assert_eq!((head.number, &*records[0].signer), (3, "CN=gateway"));
    for (name, expected) in [
        ("Backend", "one <two>"),
        ("Party", "provider"),
        ("Obligation", "response-time"),
        ("Promised", "95% within 200ms"),
        ("Begun", "2023-11-14T22:13:20Z"),
        ("Ended", "2023-11-14T22:14:20.5Z"),
        ("Penalty", "50 EUR"),
        ("ExcludedSeconds", "600"),
    ] {
        assert_eq!(records[0].part(name), Some(expected), "{name}");
    }
}

/// Who keeps the file may want it to say something else.
#[test]
fn records_that_were_changed_removed_or_put_elsewhere_do_not_verify() {
    let folder = Folder::new();
    let (file, identity) = file(&folder, 3);
    let text = String::from_utf8(read(&file)).expect("it is text");
    let lines: Vec<&str> = text.lines().collect();
    let [one, two, three] = [lines[0], lines[1], lines[2]];
    let refused = |text: String| {
        let broken = verify_records(text.as_bytes(), trust(&[identity.certificate()]));
        broken.expect_err(&text).to_string()
    };
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect();
    let number = |line, expected, found| {
        format!("line {line}: expected the record {expected}, found {found}")
    };
    let first_of_line = |line: &str, what: &str| line.starts_with(what);
    // Removed, put elsewhere, told twice.
    assert_eq!(refused(joined(&[two, three])), number(1, 1, 2));
    assert_eq!(refused(joined(&[one, three])), number(2, 2, 3));
    assert_eq!(refused(joined(&[two, one, three])), number(1, 1, 2));
    assert_eq!(refused(joined(&[one, one])), number(2, 2, 1));
    // Changed.
    let changed = text.replacen("<v:Calls>100<", "<v:Calls>999<", 1);
    assert!(first_of_line(
        &refused(changed),
        "line 1: the signature is not accepted: "
    ));
    let renumbered = joined(&[one, &three.replace("number=\"3\"", "number=\"2\"")]);
    assert!(first_of_line(
        &refused(renumbered),
        "line 2: the signature is not accepted: "
    ));
    // Changed where no signature covers it: the next line says what this one was.
    let respelled = text.replacen("<v:Calls>", "<v:Calls >", 1);
    let chain =
        "the record does not follow the line before it: a line was changed, or is another one";
    assert_eq!(refused(respelled), format!("line 2: {chain}"));
    // Beside a record, and in it.
    let beside = "something stands beside the record";
    for (line, what) in [
        (format!("{one} "), beside),
        (format!("{one}{two}"), beside),
        (
            one.replace("<v:Calls>1", "<v:Calls>1<!---->"),
            "it has comments or instructions",
        ),
        (
            one.replace("v:Violation", "v:Other"),
            "expected a violation",
        ),
        ("nothing".to_owned(), "expected a violation"),
        ("<v:Violation".to_owned(), "it is not XML"),
        (String::new(), "expected a violation"),
    ] {
        let expected = format!("line 1: the line is no record: {what}");
        assert_eq!(refused(format!("{line}\n")), expected);
    }
    assert_eq!(
        refused(text.trim_end().to_owned()),
        "line 3: the line is no record: it does not end"
    );
}

#[test]
fn a_record_counts_only_if_the_gateway_signed_it() {
    let folder = Folder::new();
    let (file, identity) = file(&folder, 1);
    let other = keys::identity("CN=gateway", RSA);
    let broken = verify_records(&read(&file), trust(&[other.certificate()]));
    let error = broken.expect_err("another key").error;
    assert!(
        matches!(error, RecordError::Signature(Rejected::Untrusted { .. })),
        "{error}"
    );
    // A record of somebody else at the end of the chain.
    let forger = Violations::default();
    forger.configure(&file, &other).expect("it is ours");
    told(&forger, [2]);
    let broken = verify_records(&read(&file), trust(&[identity.certificate()]));
    assert_eq!(broken.expect_err("another key").line, 2);
}

/// The chain goes on after a restart, after a new key, and after a process that ended while it
/// wrote.
#[test]
fn the_chain_goes_on_where_the_file_ends() {
    let folder = Folder::new();
    let (file, first) = file(&folder, 2);
    let mut torn = OpenOptions::new().append(true).open(&file).expect("ours");
    torn.write_all(b"<v:Violation xmlns:v=\"urn:soap")
        .expect("it takes it");
    drop(torn);
    let next = keys::identity("CN=gateway 2", RSA);
    let violations = Violations::default();
    violations.configure(&file, &first).expect("a file");
    told(&violations, [3]);
    violations.configure(&file, &next).expect("a file");
    told(&violations, [4]);
    let trusted = trust(&[first.certificate(), next.certificate()]);
    let (records, head) = verify_records(&read(&file), trusted).expect("they verify");
    assert_eq!(counts(&records), ["1", "2", "3", "4"]);
    let signers: Vec<&str> = records.iter().map(|record| &*record.signer).collect();
    assert_eq!(signers[2..], ["CN=gateway", "CN=gateway 2"]);
    assert_eq!(head, violations.head());
}

/// What is cut off at the end shows in the head alone, which the gateway tells.
#[test]
fn records_that_were_cut_off_at_the_end_are_missed_by_the_head() {
    let folder = Folder::new();
    let (file, identity) = file(&folder, 2);
    let text = String::from_utf8(read(&file)).expect("it is text");
    let (first, _) = text.split_once('\n').expect("two lines");
    let trusted = trust(&[identity.certificate()]);
    let (_, head) = verify_records(format!("{first}\n").as_bytes(), trusted).expect("a chain");
    assert_eq!(head.number, 1);
}

/// `records` may name any file by mistake: an agreement, for instance.
#[test]
fn a_file_that_is_no_chain_is_not_continued_and_what_is_lost_is_counted() {
    let identity = keys::identity("CN=gateway", P256);
    let known = Folder::new();
    let (known, _) = file(&known, 1);
    let known = read(&known);
    let long = vec![b'x'; 300 << 10];
    for contents in [
        b"something else\n".to_vec(),
        b"name = \"gold\"".to_vec(),
        b"name = \"gold\"\nservice = \"books\"".to_vec(),
        [&*known, b"something else"].concat(),
        [b"something else\n", &*long].concat(),
        [&*known, &vec![0; 300 << 10]].concat(),
    ] {
        let folder = Folder::new();
        let file = folder.path("violations.xml");
        std::fs::write(&file, &contents).expect("it is ours");
        let violations = Violations::default();
        violations.configure(&file, &identity).expect("it opens");
        told(&violations, 1..=3);
        assert_eq!(violations.lost(), 3);
        assert!(read(&file) == contents, "the file was changed");
        // Mended.
        std::fs::write(&file, &known).expect("it is ours");
        told(&violations, [4]);
        assert_eq!((violations.lost(), violations.head().number), (3, 2));
    }
}

/// What is left of a record is cut off, with the zeros that a disk may have in the place of it.
#[test]
fn what_is_left_of_a_record_is_cut_off() {
    let known = Folder::new();
    let (known, identity) = file(&known, 2);
    let known = read(&known);
    let first = 1 + known.iter().position(|it| *it == b'\n').expect("lines");
    let zeros = [0; 100];
    for torn in [
        &b"<v"[..],
        &known[..first - 1],
        &zeros,
        &[&known[..40], &zeros].concat(),
    ] {
        for (whole, number) in [(0, 1), (first, 2)] {
            let folder = Folder::new();
            let file = folder.path("violations.xml");
            std::fs::write(&file, [&known[..whole], torn].concat()).expect("it is ours");
            let violations = Violations::default();
            violations.configure(&file, &identity).expect("it opens");
            told(&violations, [9]);
            let (records, head) =
                verify_records(&read(&file), trust(&[identity.certificate()])).expect("a chain");
            assert_eq!((records.len() as u64, head.number), (number, number));
        }
    }
}

/// What could not be cut off is cut off before the next record, or there is none.
#[test]
#[cfg(target_os = "linux")]
fn nothing_is_written_behind_what_is_no_record() {
    let mut options = OpenOptions::new();
    let full = options.read(true).append(true).open("/dev/full");
    let mut chain = Chain {
        file: full.expect("the system has it"),
        length: 0,
        head: Head::default(),
        torn: false,
    };
    let signing = form::signing(keys::identity("CN=gateway", P256)).expect("it fits");
    let mut append = || chain.append(&signing, &violation(1), Timestamp::now());
    let first = append().expect_err("it is full");
    assert!(
        first.contains("; its beginning could not be cut off: "),
        "{first}"
    );
    let second = append().expect_err("it is torn");
    let expected = "what stands behind the last record cannot be cut off: ";
    assert!(second.starts_with(expected), "{second}");
}

/// The records of the former file may still be written when the next one is in use.
#[test]
fn the_head_is_that_of_the_file_in_use() {
    let folder = Folder::new();
    let (former, identity) = file(&folder, 1);
    let violations = Violations::default();
    violations.configure(&former, &identity).expect("a file");
    for count in 2..=40 {
        violations.tell(vec![AgreementEvent::Violated(Box::new(violation(count)))]);
    }
    let next = folder.path("next.xml");
    violations.configure(&next, &identity).expect("a file");
    told(&violations, [1]);
    let lines = || read(&former).iter().filter(|it| **it == b'\n').count();
    while lines() < 40 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!((violations.head().number, violations.lost()), (1, 0));
}

/// Nowhere to write.
#[test]
fn what_finds_no_file_is_lost_and_counted() {
    let nowhere = Violations::default();
    told(&nowhere, 1..=2);
    assert_eq!(nowhere.lost(), 2);
}
