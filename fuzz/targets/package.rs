//! Any bytes as a MIME package or recorded HTTP: looking at it ends, with places that are in the
//! file, and what is accepted has one reading.
//!
//! The other reading is that of [`lines`], which shares no code with the reader: it splits at any
//! line end, and looks for the beginning of the boundary as the most lenient readers do.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use soapstone_lint::{Choice, LintError, MOST_FINDINGS, Profile, Profiles, Report, Subject, lint};

fuzz_target!(|bytes: &[u8]| {
    let all: Profiles = Profile::ALL.into_iter().collect();
    let Ok(report) = look(bytes, Choice::Of(all)) else {
        return;
    };
    assert!(report.findings.len() <= MOST_FINDINGS);
    let count = bytes.split(|byte| *byte == b'\n').count();
    for finding in &report.findings {
        let line = finding.line as usize;
        assert!((1..=count).contains(&line), "{finding:?} of {count} lines");
        assert!(finding.column > 0, "{finding:?}");
    }
    if report.subject == Subject::Package {
        has_one_reading(bytes);
        is_whole(bytes);
    }
    // What fits is a choice of rules and no other reading.
    let fitting = look(bytes, Choice::Fitting).expect("accepted with all rules");
    assert_eq!(fitting.subject, report.subject);
    let rules = |report: &Report| -> BTreeSet<&'static str> {
        report.findings.iter().map(|one| one.rule.id).collect()
    };
    let is_cut = report.further_errors + report.further_warnings > 0;
    assert!(is_cut || rules(&fitting).is_subset(&rules(&report)));
});

fn look(bytes: &[u8], choice: Choice) -> Result<Report, LintError> {
    lint(bytes.to_vec(), &choice, &|_| None)
}

/// The boundary that the header announces; `None` where it takes a whole parser to say.
fn boundary(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let ends: [&[u8]; 2] = [b"\r\n\r\n", b"\n\n"];
    let found = ends.iter().filter_map(|end| {
        let at = bytes.windows(end.len()).position(|window| window == *end)?;
        Some((at, at + end.len()))
    });
    let (end, behind) = found.min()?;
    let header = std::str::from_utf8(&bytes[..end]).ok()?;
    let small = header.to_ascii_lowercase();
    if small.matches("boundary").count() != 1 || small.contains(['(', '\\', '*']) {
        return None;
    }
    let value = &header[small.find("boundary=")? + "boundary=".len()..];
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => value.split([';', ' ', '\t', '\r', '\n']).next()?,
    };
    (!value.is_empty()).then(|| (value.as_bytes().to_vec(), behind))
}

/// The lines behind the header that begin like the boundary, without their line ends.
fn lines<'b>(bytes: &'b [u8], boundary: &[u8]) -> Vec<&'b [u8]> {
    let start = [b"--", boundary].concat();
    let all = bytes.split(|byte| *byte == b'\n');
    let all = all.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    all.filter(|line| line.starts_with(&start)).collect()
}

/// Every line that begins like the boundary is a boundary, and the last one closes.
fn has_one_reading(bytes: &[u8]) {
    let Some((boundary, behind)) = boundary(bytes) else {
        return;
    };
    let found = lines(&bytes[behind..], &boundary);
    let (last, others) = found.split_last().expect("a package has boundaries");
    let next = [b"--", boundary.as_slice()].concat();
    let close = [next.as_slice(), b"--"].concat();
    let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
    assert_eq!(text(trimmed(last)), text(&close));
    assert!(!others.is_empty());
    for line in others {
        assert_eq!(text(trimmed(line)), text(&next));
    }
}

/// Without the white space that transport may add (RFC 2046, 5.1.1).
fn trimmed(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
    &line[..end.map_or(0, |end| end + 1)]
}

/// A package without its last boundary is cut, and is refused.
fn is_whole(bytes: &[u8]) {
    let Some((boundary, behind)) = boundary(bytes) else {
        return;
    };
    let close = [b"\n--", boundary.as_slice(), b"--"].concat();
    let body = &bytes[behind..];
    let mut windows = body.windows(close.len());
    let Some(last) = windows.rposition(|window| window == close) else {
        return;
    };
    let cut = look(&bytes[..=behind + last], Choice::Fitting);
    assert!(matches!(cut, Err(LintError::Package(_))), "{cut:?}");
}
