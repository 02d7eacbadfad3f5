//! Properties that hold for every document.

mod generate;

use generate::{root, write};
use proptest::prelude::*;
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Content, Document, Element, Graft,
    NodeId, ParseOptions, canonicalize,
};

fn parse(source: &str) -> Document {
    Document::parse(source.into(), &ParseOptions::default(), &mut Buffers::new())
        .unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn octets(
    document: &Document,
    apex: Apex,
    options: &C14nOptions<'_>,
    scratch: &mut C14nScratch,
) -> String {
    let mut octets = Vec::new();
    canonicalize(document, apex, options, scratch, &mut octets).unwrap();
    String::from_utf8(octets).unwrap()
}

fn nodes(document: &Document) -> Vec<NodeId> {
    document
        .root()
        .descendants()
        .map(|element| element.id())
        .collect()
}

/// What is in an element, as one string.
fn outline(element: Element<'_>) -> String {
    let mut outline = format!("{{{}}}{}", element.namespace(), element.local());
    let mut attributes: Vec<_> = element
        .attributes()
        .map(|attribute| {
            format!(
                " {{{}}}{}={:?}",
                attribute.namespace(),
                attribute.local(),
                attribute.value()
            )
        })
        .collect();
    attributes.sort();
    outline.push_str(&attributes.concat());
    outline.push('[');
    for content in element.contents() {
        match content {
            Content::Element(child) => outline.push_str(&self::outline(child)),
            other => outline.push_str(&format!("{other:?}")),
        }
    }
    outline.push(']');
    outline
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_change_no_octet(root in root(), listed in 0..4usize) {
        let document = parse(&write(&root));
        let prefixes = [&["p"][..], &["#default", "q"], &[], &["wsu", "p", "q", "#default"]][listed];
        let mut scratch = C14nScratch::default();
        for method in Canonicalization::ALL {
            let runs = C14nOptions { inclusive_prefixes: prefixes, ..C14nOptions::new(method) };
            let none = C14nOptions { canonical_runs: false, ..runs };
            let apexes = nodes(&document).into_iter().map(Apex::Element).chain([Apex::Document]);
            for apex in apexes {
                let with = octets(&document, apex, &runs, &mut scratch);
                prop_assert_eq!(with, octets(&document, apex, &none, &mut C14nScratch::default()));
            }
        }
    }

    #[test]
    fn what_was_read_before_changes_nothing(one in root(), other in root()) {
        let with_other_values = write(&one).replace('é', "€€");
        let sources = [write(&one), with_other_values, write(&other)];
        let mut buffers = Buffers::new();
        let mut scratch = C14nScratch::default();
        for source in sources.iter().cycle().take(9) {
            let options = ParseOptions::default();
            let again = Document::parse(source.as_str().into(), &options, &mut buffers).unwrap();
            let fresh = parse(source);
            prop_assert_eq!(outline(again.root()), outline(fresh.root()));
            for method in [Canonicalization::Inclusive10, Canonicalization::Exclusive] {
                let options = C14nOptions::new(method);
                for node in nodes(&fresh) {
                    let found = octets(&again, node.into(), &options, &mut scratch);
                    let expected = octets(&fresh, node.into(), &options, &mut C14nScratch::default());
                    prop_assert_eq!(found, expected);
                    let places = |document: &Document| {
                        let element = document.element(node);
                        (element.start_tag_range(), element.range())
                    };
                    prop_assert_eq!(places(&again), places(&fresh));
                    for attribute in fresh.element(node).attributes() {
                        let id = attribute.value();
                        prop_assert_eq!(again.by_id(&id), fresh.by_id(&id));
                    }
                }
            }
            again.recycle(&mut buffers);
        }
    }

    #[test]
    fn a_canonical_form_is_its_own_canonical_form(root in root()) {
        let document = parse(&write(&root));
        let mut scratch = C14nScratch::default();
        for method in Canonicalization::ALL {
            let options = C14nOptions::new(method);
            for node in nodes(&document) {
                let once = octets(&document, Apex::Element(node), &options, &mut scratch);
                let again = parse(&once);
                prop_assert_eq!(&octets(&again, Apex::Document, &options, &mut scratch), &once);
            }
        }
    }

    #[test]
    fn a_canonical_form_says_the_same(root in root()) {
        let document = parse(&write(&root));
        let options = C14nOptions::new(Canonicalization::ExclusiveWithComments);
        let form = octets(&document, Apex::Document, &options, &mut C14nScratch::default());
        prop_assert_eq!(outline(parse(&form).root()), outline(document.root()));
    }

    #[test]
    fn a_graft_is_what_it_replaces(root in root(), at in any::<prop::sample::Index>(), content in any::<bool>()) {
        let source = write(&root);
        let document = parse(&source);
        let all = nodes(&document);
        let node = all[at.index(all.len())];
        prop_assume!(document.element(node).parent().is_some() || !content);
        // The document with a stand-in, over which the element, or all that is inside its parent,
        // is grafted.
        let (cut, kind) = if content {
            let parent = document.element(node).parent().unwrap().id();
            (parent, Graft::Content)
        } else {
            (node, Graft::Element)
        };
        let plaintext = match kind {
            Graft::Content => document.content_source(cut).unwrap().to_vec(),
            _ => document.source(cut).unwrap().to_vec(),
        };
        let range = document.element(cut).range();
        let (start, end) = match kind {
            Graft::Content => {
                let whole = document.source(cut).unwrap();
                let inside = document.content_source(cut).unwrap();
                let offset = inside.as_ptr() as usize - whole.as_ptr() as usize;
                (range.start as usize + offset, range.start as usize + offset + inside.len())
            }
            _ => (range.start as usize, range.end as usize),
        };
        let stand_in = "<standin xmlns='urn:gone' xmlns:p='urn:gone'>text<b/></standin>";
        let cut_source = format!("{}{stand_in}{}", &source[..start], &source[end..]);
        let mut grafted = parse(&cut_source);
        let place = grafted
            .root()
            .descendants()
            .find(|element| element.range().start as usize == start)
            .unwrap()
            .id();
        let options = ParseOptions::default();
        grafted.graft(place, plaintext, kind, &options).unwrap();

        let mut written = Vec::new();
        grafted.write(grafted.root().id(), &mut written);
        prop_assert_eq!(String::from_utf8(written).unwrap(), source);
        prop_assert_eq!(outline(grafted.root()), outline(document.root()));
        let mut scratch = C14nScratch::default();
        let pairs: Vec<_> = nodes(&document).into_iter().zip(nodes(&grafted)).collect();
        prop_assert_eq!(pairs.len(), all.len());
        for method in Canonicalization::ALL {
            for canonical_runs in [true, false] {
                let options = C14nOptions { canonical_runs, ..C14nOptions::new(method) };
                for &(one, other) in &pairs {
                    let expected = octets(&document, Apex::Element(one), &options, &mut scratch);
                    prop_assert_eq!(octets(&grafted, Apex::Element(other), &options, &mut scratch), expected);
                }
                let expected = octets(&document, Apex::Document, &options, &mut scratch);
                prop_assert_eq!(octets(&grafted, Apex::Document, &options, &mut scratch), expected);
            }
        }
    }

    #[test]
    fn broken_documents_are_refused_without_panic(
        root in root(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"<>&/=\"' !-?[]x\r:\xEF\xBF\x00"[..]), 0..3u8), 1..4),
    ) {
        let mut bytes = write(&root).into_bytes();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => { if bytes.len() > 1 { bytes.remove(at); } }
            }
        }
        let parsed = Document::parse(bytes.clone(), &ParseOptions::default(), &mut Buffers::new());
        let mut scratch = C14nScratch::default();
        match parsed {
            Ok(document) => {
                let options = C14nOptions::new(Canonicalization::Exclusive);
                let once = octets(&document, Apex::Document, &options, &mut scratch);
                prop_assert_eq!(&octets(&parse(&once), Apex::Document, &options, &mut scratch), &once);
                outline(document.root());
            }
            Err(error) => prop_assert!(error.position.offset <= bytes.len()),
        }
    }
}
