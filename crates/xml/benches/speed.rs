//! How fast documents are scanned and canonicalized, beside SHA-256 alone in the same process.
//!
//! `cargo bench -p soapstone-xml` prints medians in MB/s (1 MB = 10⁶ bytes) and their ratio to
//! SHA-256. The rule: everything compared is measured in one run, in turns, since the machine may
//! be noisy.

use aws_lc_rs::digest::{Context, SHA256};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, FnSink, ParseOptions,
    canonicalize,
};
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How the records of a document are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    /// As C14N writes them.
    Canonical,
    /// With a prefix on every name.
    Prefixed,
    /// Pretty-printed, canonical.
    Indented,
    /// Each with an empty-element tag and attributes out of order.
    Rewritten,
    /// Pretty-printed with CR LF.
    CarriageReturns,
    /// With `xsi:type` on every element, as RPC-style services write them.
    Typed,
    /// Employees: eight attributes each.
    Attributes,
    /// Names of 20 to 40 bytes.
    LongNames,
    /// Few tags, much text.
    Text,
    /// Text that is not ASCII.
    Greek,
}

impl Records {
    const ALL: [Records; 10] = [
        Records::Canonical,
        Records::Prefixed,
        Records::Indented,
        Records::Rewritten,
        Records::CarriageReturns,
        Records::Typed,
        Records::Attributes,
        Records::LongNames,
        Records::Text,
        Records::Greek,
    ];
}

fn document(records: Records, bytes: usize) -> String {
    let typed = "xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    let mut text = String::from(
        "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Header></soap:Header><soap:Body><getBooksResponse xmlns=\"urn:soapstone:books\">",
    );
    if records == Records::Prefixed {
        text = text.replace("<getBooksResponse xmlns=", "<b:getBooksResponse xmlns:b=");
    }
    if records == Records::Typed {
        text = text.replace("<soap:Body>", &format!("<soap:Body {typed}>"));
    }
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        record(records, number, &mut text);
    }
    text.push_str(match records {
        Records::Prefixed => "</b:getBooksResponse></soap:Body></soap:Envelope>",
        _ => "</getBooksResponse></soap:Body></soap:Envelope>",
    });
    text
}

fn record(records: Records, number: usize, text: &mut String) {
    let (author, publisher, year) = (number % 997, number % 89, 1950 + number % 70);
    let isbn = 9_780_000_000_000u64 + number as u64 * 7919;
    let record = format!(
        "<book><id>{number}</id><isbn>{isbn}</isbn><title>Title of book {number}</title><price>{}.50</price><year>{year}</year><author><id>{author}</id><name>Author {author}</name></author><publisher><id>{publisher}</id><name>Publisher {publisher}</name></publisher></book>",
        number % 60
    );
    let written = match records {
        Records::Canonical => record,
        Records::Prefixed => record
            .replace("</", "\u{0}")
            .replace('<', "<b:")
            .replace('\u{0}', "</b:"),
        Records::Indented => record.replace("><", ">\n    <"),
        Records::Rewritten => record.replace("<book>", "<book z=\"1\" a=\"2\"><flag/>"),
        Records::CarriageReturns => record.replace("><", ">\r\n    <"),
        Records::Typed => record
            .replace("<isbn>", "<isbn xsi:type=\"xs:string\">")
            .replace("<title>", "<title xsi:type=\"xs:string\">")
            .replace("<price>", "<price xsi:type=\"xs:decimal\">")
            .replace("<year>", "<year xsi:type=\"xs:int\">")
            .replace("<id>", "<id xsi:type=\"xs:int\">")
            .replace("<name>", "<name xsi:type=\"xs:string\">"),
        Records::Attributes => format!(
            "<employee dateOfBirth=\"1970-01-{:02}\" email=\"e{number}@example.org\" empNumber=\"{number}\" homeAddress=\"{number} Long Street, Springfield\" name=\"Employee {number}\" phoneNumber=\"555-{number}\" position=\"Engineer\" ssn=\"{isbn}\"></employee>",
            number % 28 + 1
        ),
        Records::LongNames => record
            .replace("isbn>", "internationalStandardBookNumber>")
            .replace("title>", "titleOfTheBookInEnglish>")
            .replace("name>", "nameOfThePersonOrCompany>"),
        Records::Text => record.replace("Title of", &"Lorem ipsum dolor sit amet, ".repeat(40)),
        Records::Greek => record.replace(
            "Title of book",
            "Τίτλος του βιβλίου και άλλα πολλά λόγια στα ελληνικά",
        ),
    };
    let _ = write!(text, "{written}");
}

/// Runs all of `work` in turns, each of which tells how long it took.
fn in_turns(work: &mut [&mut dyn FnMut() -> Duration], budget: Duration) -> Vec<Times> {
    let mut times = vec![Vec::new(); work.len()];
    let start = Instant::now();
    while start.elapsed() < budget || times[0].len() < 11 {
        for (work, times) in work.iter_mut().zip(&mut times) {
            times.push(work());
        }
    }
    times.into_iter().map(Times::new).collect()
}

/// How long one piece of work took.
#[derive(Clone, Copy)]
struct Times {
    median: Duration,
    /// What it takes when nothing else disturbs it: for comparing short with long work on a busy
    /// machine.
    fastest: Duration,
}

impl Times {
    fn new(mut times: Vec<Duration>) -> Times {
        times.sort_unstable();
        Times {
            median: times[times.len() / 2],
            fastest: times[0],
        }
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e6
}

fn sha256(bytes: &[u8]) {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    black_box(context.finish());
}

fn exclusive() -> C14nOptions<'static> {
    C14nOptions::new(Canonicalization::Exclusive)
}

fn digest(document: &Document, apex: Apex, scratch: &mut C14nScratch, options: &C14nOptions<'_>) {
    let mut context = Context::new(&SHA256);
    let mut sink = FnSink(|bytes: &[u8]| context.update(bytes));
    canonicalize(document, apex, options, scratch, &mut sink).expect("an element of the document");
    black_box(context.finish());
}

/// What one worker keeps from message to message.
#[derive(Default)]
struct Worker {
    options: ParseOptions,
    buffers: Buffers,
    scratch: C14nScratch,
}

impl Worker {
    /// Hands a fresh copy of `source` to the scanner; times the scan and what follows it.
    fn scan(&mut self, source: &[u8], then: impl FnOnce(&Document, &mut C14nScratch)) -> Duration {
        let mut copy = self.buffers.take(source.len());
        copy.extend_from_slice(source);
        let start = Instant::now();
        let document =
            Document::parse(copy, &self.options, &mut self.buffers).expect("well-formed");
        then(&document, &mut self.scratch);
        let time = start.elapsed();
        document.recycle(&mut self.buffers);
        time
    }
}

/// Times per document of: SHA-256 of the canonical bytes, scan, C14N, scan and C14N and SHA-256,
/// and the same without runs.
fn measure(source: &[u8], budget: Duration) -> Vec<Times> {
    let kept = Document::parse(source.to_vec(), &worker_options(), &mut Buffers::new());
    let kept = kept.expect("well-formed");
    let mut canonical = Vec::new();
    let mut scratch = C14nScratch::default();
    let whole = Apex::Document;
    canonicalize(&kept, whole, &exclusive(), &mut scratch, &mut canonical).expect("a root");
    let [mut scanning, mut running, mut rewriting] = [(); 3].map(|()| Worker::default());
    for worker in [&mut scanning, &mut running, &mut rewriting] {
        worker.options = worker_options();
    }
    let without_runs = C14nOptions {
        canonical_runs: false,
        ..exclusive()
    };
    in_turns(
        &mut [
            &mut || timed(|| sha256(&canonical)),
            &mut || scanning.scan(source, |_, _| ()),
            &mut || {
                let mut octets = 0;
                let mut sink = FnSink(|bytes: &[u8]| octets += bytes.len());
                let time = timed(|| {
                    canonicalize(&kept, whole, &exclusive(), &mut scratch, &mut sink)
                        .expect("a root");
                });
                black_box(octets);
                time
            },
            &mut || {
                running.scan(source, |document, scratch| {
                    digest(document, whole, scratch, &exclusive())
                })
            },
            &mut || {
                rewriting.scan(source, |document, scratch| {
                    digest(document, whole, scratch, &without_runs)
                })
            },
        ],
        budget,
    )
}

fn worker_options() -> ParseOptions {
    let mut options = ParseOptions::default();
    options.limits.message = usize::MAX;
    options.limits.elements = u32::MAX;
    options
}

/// One row per way of writing records.
fn records(bytes: usize, only: Option<&str>) {
    println!(
        "documents of {bytes} bytes, exclusive C14N, medians in MB/s; all: scan + C14N + SHA-256, with its ratio to SHA-256 alone"
    );
    println!(
        "{:16}{:>9}{:>9}{:>9}{:>9}{:>7}{:>9}{:>14}{:>7}",
        "records", "SHA-256", "scan", "C14N", "all", "ratio", "fastest", "all, no runs", "ratio"
    );
    for records in Records::ALL {
        let name = format!("{records:?}");
        if only.is_some_and(|only| !name.eq_ignore_ascii_case(only)) {
            continue;
        }
        let source = document(records, bytes).into_bytes();
        let times = measure(&source, Duration::from_millis(700));
        let [sha, scan, c14n, all, rewritten] =
            [0, 1, 2, 3, 4].map(|column| rate(source.len(), times[column].median));
        let fastest = times[0].fastest.as_secs_f64() / times[3].fastest.as_secs_f64();
        println!(
            "{name:16}{sha:>9.0}{scan:>9.0}{c14n:>9.0}{all:>9.0}{:>7.2}{fastest:>9.2}{rewritten:>14.0}{:>7.2}",
            all / sha,
            rewritten / sha
        );
    }
}

/// How time grows with the size of the document: the fastest run of each size.
fn growth() {
    let sizes = [10_000, 100_000, 1_000_000, 10_000_000];
    let times = sizes.map(|bytes| {
        let source = document(Records::Canonical, bytes).into_bytes();
        let time = measure(&source, Duration::from_millis(800))[3].fastest;
        println!(
            "{:>9} bytes: {:>9.1} µs, {:>6.0} MB/s",
            source.len(),
            time.as_secs_f64() * 1e6,
            rate(source.len(), time)
        );
        time.as_secs_f64() / source.len() as f64
    });
    let exponent = 1.0 + (times[3] / times[0]).ln() / 1000f64.ln();
    println!("time grows with size to the power of {exponent:.3}");
}

/// Many small signed elements: one scan, then each found by its id and digested; the fastest run.
fn signed_elements() {
    for count in [10, 500, 5_000] {
        let wsu =
            "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
        let mut source = format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:wsu=\"{wsu}\"><s:Body>"
        );
        for number in 0..count {
            let _ = write!(
                source,
                "<item wsu:Id=\"part-{number}\"><name>Item {number}</name></item>"
            );
        }
        source.push_str("</s:Body></s:Envelope>");
        let ids: Vec<String> = (0..count).map(|number| format!("part-{number}")).collect();
        let mut worker = Worker::default();
        let time = in_turns(
            &mut [&mut || {
                worker.scan(source.as_bytes(), |document, scratch| {
                    for id in &ids {
                        let node = document.by_id(id).expect("unique").expect("there");
                        digest(document, Apex::Element(node), scratch, &exclusive());
                    }
                })
            }],
            Duration::from_millis(300),
        )[0]
        .fastest;
        println!(
            "{count:>5} signed elements: {:>8.1} µs, {:.2} µs each",
            time.as_secs_f64() * 1e6,
            time.as_secs_f64() * 1e6 / count as f64
        );
    }
}

fn main() {
    let only = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    records(1_000_000, only.as_deref());
    if only.is_none() {
        records(1_000, None);
        growth();
        signed_elements();
    }
}
