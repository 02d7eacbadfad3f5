//! Documents made to cost more than they should.
//!
//! Each is refused by the limit that is meant for it, or costs time in proportion to its size: not
//! more than a document of the largest size many times over, and far less than anything quadratic
//! would take.

use soapstone_testkit::processor_time;
use soapstone_xml::{
    Apex, Buffers, C14nError, C14nOptions, C14nScratch, Canonicalization, Document, FnSink, Graft,
    Limit, NodeId, ParseOptions, Problem, canonicalize, canonicalize_each,
};
use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Duration;

/// How many times as long as the scan of an ordinary document of [`USUAL`] bytes work may take.
const MOST: u32 = 60;
const USUAL: usize = 8 << 20;

/// The processor time of that scan.
static ORDINARY: LazyLock<Duration> = LazyLock::new(|| {
    let item = "<item a='1' b='2'>some text &amp; more of it</item>";
    let source = format!("<r>{}</r>", item.repeat(USUAL / item.len()));
    let (parsed, time) = processor_time(|| parse(source));
    assert!(parsed.is_ok());
    time
});

#[track_caller]
fn within_budget<T>(work: impl FnOnce() -> T) -> T {
    let (result, time) = processor_time(work);
    let most = *ORDINARY * MOST;
    assert!(time < most, "took {time:?} of {most:?}");
    result
}

fn parse(source: String) -> Result<Document, Problem> {
    Document::parse(source.into(), &ParseOptions::default(), &mut Buffers::new())
        .map_err(|error| error.problem)
}

fn too_many(limit: Limit, allowed: usize) -> Option<Problem> {
    Some(Problem::TooMany { limit, allowed })
}

fn canonical_octets(
    document: &Document,
    apex: Apex,
    options: &C14nOptions<'_>,
) -> Result<usize, C14nError> {
    let mut octets = 0;
    let mut sink = FnSink(|bytes: &[u8]| octets += bytes.len());
    canonicalize(
        document,
        apex,
        options,
        &mut C14nScratch::default(),
        &mut sink,
    )?;
    Ok(octets)
}

#[test]
fn a_million_attributes_are_refused() {
    let mut source = String::from("<a");
    for number in 0..700_000 {
        let _ = write!(source, " a{number}=''");
    }
    source.push_str("/>");
    source.truncate(8 << 20);
    assert_eq!(
        within_budget(|| parse(source)).err(),
        too_many(Limit::Attributes, 256)
    );
}

#[test]
fn a_million_open_elements_are_refused() {
    assert_eq!(
        within_budget(|| parse("<a>".repeat(1_000_000))).err(),
        too_many(Limit::Depth, 200)
    );
    let empty = format!("<r>{}</r>", "<a/>".repeat(1_500_000));
    assert_eq!(
        within_budget(|| parse(empty)).err(),
        too_many(Limit::Elements, 1 << 20)
    );
}

#[test]
fn a_million_names_prefixes_or_ids_are_refused() {
    let many = |written: fn(usize) -> String| {
        let mut source = String::from("<r xmlns:p='urn:p'>");
        for number in 0..150_000 {
            source.push_str(&written(number));
        }
        source.push_str("</r>");
        within_budget(|| parse(source)).err()
    };
    let names = many(|number| format!("<a{number}/>"));
    assert_eq!(names, too_many(Limit::Names, 16_384));
    let prefixes = many(|number| format!("<r xmlns:a{number}='u'/>"));
    assert_eq!(prefixes, too_many(Limit::Namespaces, 1_024));
    let uris = many(|number| format!("<r xmlns='{number}'/>"));
    assert_eq!(uris, too_many(Limit::Namespaces, 1_024));
    let ids = many(|number| format!("<r xml:id='{number}'/>"));
    assert_eq!(ids, too_many(Limit::Ids, 1 << 16));
}

#[test]
fn a_name_of_a_megabyte_is_refused() {
    let name = "n".repeat(1 << 20);
    let name = name.as_str();
    assert_eq!(
        parse(format!("<{name}></{name}>")).err(),
        too_many(Limit::Name, 1_024)
    );
    assert_eq!(
        parse(format!("<a {name}=''/>")).err(),
        too_many(Limit::Name, 1_024)
    );
}

#[test]
fn declarations_on_every_element_cost_no_more_than_their_bytes() {
    // The most declarations that one element may have, on as many elements as fit.
    let mut tag = String::from("<e");
    for number in 0..256 {
        let _ = write!(tag, " xmlns:p{number}='u'");
    }
    let source = format!("<r>{}</r>", format!("{tag}></e>").repeat(300));
    let document = within_budget(|| parse(source).unwrap());
    for method in [Canonicalization::Inclusive10, Canonicalization::Exclusive] {
        within_budget(|| {
            canonical_octets(&document, Apex::Document, &C14nOptions::new(method)).unwrap()
        });
    }
}

#[test]
fn a_long_namespace_name_on_many_siblings_does_not_make_a_canonical_form_grow_without_bound() {
    let uri = "u".repeat(1 << 20);
    let source = format!("<r xmlns:p='{uri}'>{}</r>", "<p:a></p:a>".repeat(100_000));
    let bytes = source.len();
    let document = within_budget(|| parse(source).unwrap());
    let options = C14nOptions::new(Canonicalization::Exclusive);
    let refused = within_budget(|| canonical_octets(&document, Apex::Document, &options));
    assert_eq!(
        refused,
        Err(C14nError::TooLarge {
            allowed: 16 * bytes + (64 << 10)
        })
    );
    // The scratch is as good as new afterwards.
    let mut scratch = C14nScratch::default();
    let mut octets = Vec::new();
    let _ = canonicalize(
        &document,
        Apex::Document,
        &options,
        &mut scratch,
        &mut octets,
    );
    let small = parse("<p:a xmlns:p='urn:p'/>".into()).unwrap();
    octets.clear();
    canonicalize(&small, Apex::Document, &options, &mut scratch, &mut octets).unwrap();
    assert_eq!(octets, b"<p:a xmlns:p=\"urn:p\"></p:a>");
}

#[test]
fn what_elements_inherit_is_bounded_for_all_of_them_together() {
    let uri = "u".repeat(1 << 20);
    let source = format!("<r xmlns:p='{uri}'>{}</r>", "<a/>".repeat(100_000));
    let bytes = source.len();
    let document = within_budget(|| parse(source).unwrap());
    let nodes: Vec<NodeId> = document.root().children().map(|a| a.id()).collect();
    let options = C14nOptions::new(Canonicalization::Inclusive10);
    let mut octets = 0;
    let mut sink = FnSink(|bytes: &[u8]| octets += bytes.len());
    let mut scratch = C14nScratch::default();
    let refused =
        within_budget(|| canonicalize_each(&document, &nodes, &options, &mut scratch, &mut sink));
    let allowed = 16 * bytes + (64 << 10);
    assert_eq!(refused, Err(C14nError::TooLarge { allowed }));
    assert!(octets < allowed + 2 * uri.len(), "{octets}");
}

#[test]
fn thousands_of_attributes_are_inherited_in_proportion() {
    let mut source = String::new();
    for around in 0..64 {
        source.push_str("<r");
        for number in 0..250 {
            let _ = write!(source, " xml:a{around}-{number}=''");
        }
        source.push('>');
    }
    source.push_str(&"<a/>".repeat(20));
    source.push_str(&"</r>".repeat(64));
    let document = parse(source).unwrap();
    let options = C14nOptions::new(Canonicalization::Inclusive10);
    let apexes = document.root().descendants().skip(64);
    within_budget(|| {
        for apex in apexes {
            let octets = canonical_octets(&document, Apex::Element(apex.id()), &options);
            assert!(octets.unwrap() > 16_000 * " xml:a0-0=''".len());
        }
    });
}

#[test]
fn a_prefix_list_of_a_million_entries_costs_once() {
    let source = format!(
        "<r xmlns:p='u'>{}</r>",
        "<a xmlns:q='u'></a>".repeat(20_000)
    );
    let document = parse(source).unwrap();
    let prefixes = vec!["p"; 1_000_000];
    let mut options = C14nOptions::new(Canonicalization::Exclusive);
    options.inclusive_prefixes = &prefixes;
    within_budget(|| canonical_octets(&document, Apex::Document, &options).unwrap());
}

#[test]
fn text_of_nothing_but_special_characters_is_linear() {
    for text in [
        ">",
        "&amp;",
        "&#13;",
        "\r",
        "<!---->",
        "<?p?>",
        "<![CDATA[]]>",
        "]]",
        "&gt;",
    ] {
        let source = format!("<a>{}</a>", text.repeat((1 << 19) / text.len()));
        let document = within_budget(|| parse(source).unwrap());
        within_budget(|| document.root().text().len());
        within_budget(|| {
            let options = C14nOptions::new(Canonicalization::Exclusive);
            canonical_octets(&document, Apex::Document, &options).unwrap()
        });
    }
}

#[test]
fn five_thousand_signed_elements_are_found_and_digested_one_by_one() {
    let mut source = String::from("<r xmlns:p='urn:p'>");
    for number in 0..5_000 {
        let _ = write!(
            source,
            "<p:e p:x='' xml:id='i{number}'><f>{number}</f></p:e>"
        );
    }
    source.push_str("</r>");
    let document = parse(source).unwrap();
    let options = C14nOptions::new(Canonicalization::Exclusive);
    within_budget(|| {
        for number in 0..5_000 {
            let node = document.by_id(&format!("i{number}")).unwrap().unwrap();
            canonical_octets(&document, Apex::Element(node), &options).unwrap();
        }
    });
}

#[test]
fn five_thousand_grafts_are_linked_one_by_one() {
    let source = format!("<r>{}</r>", "<e><c/></e>".repeat(5_000));
    let mut document = parse(source).unwrap();
    let nodes: Vec<NodeId> = document
        .root()
        .children()
        .map(|element| element.id())
        .collect();
    let options = ParseOptions::default();
    within_budget(|| {
        for node in nodes {
            document
                .graft(node, b"<d>x</d>".to_vec(), Graft::Content, &options)
                .unwrap();
        }
    });
    within_budget(|| assert_eq!(document.root().descendants().count(), 5_001));
    let options = C14nOptions::new(Canonicalization::Exclusive);
    let expected = "<r></r>".len() + 5_000 * "<d>x</d>".len();
    let octets = within_budget(|| canonical_octets(&document, Apex::Document, &options).unwrap());
    assert_eq!(octets, expected);
    let mut written = Vec::new();
    within_budget(|| document.write(document.root().id(), &mut written));
    assert_eq!(written.len(), expected);
}

#[test]
fn grafts_may_nest_as_deep_as_they_like() {
    let mut document = parse("<r><e/></r>".into()).unwrap();
    let options = ParseOptions::default();
    for _ in 0..2_000 {
        let e = document.root().first_child().unwrap().id();
        document
            .graft(e, b"<e/>".to_vec(), Graft::Element, &options)
            .unwrap();
    }
    let mut written = Vec::new();
    document.write(document.root().id(), &mut written);
    assert_eq!(written, b"<r><e/></r>");
    let options = C14nOptions::new(Canonicalization::Exclusive);
    assert_eq!(
        canonical_octets(&document, Apex::Document, &options),
        Ok(b"<r><e></e></r>".len())
    );
}
