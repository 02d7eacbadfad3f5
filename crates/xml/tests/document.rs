//! Reading documents: elements, attributes, text, ids, grafts.

use soapstone_xml::{
    Buffers, Content, Document, DuplicateId, Element, Graft, IdAttributes, ParseOptions, Problem,
};

const WSU: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";

fn parse(source: &str) -> Document {
    Document::parse(source.into(), &ParseOptions::default(), &mut Buffers::new()).unwrap()
}

fn graft(
    document: &mut Document,
    at: &str,
    plaintext: &str,
    kind: Graft,
) -> Result<(), (usize, Problem)> {
    let at = find(document.root(), at).id();
    document
        .graft(at, plaintext.into(), kind, &ParseOptions::default())
        .map(|_| ())
        .map_err(|error| (error.position.offset, error.problem))
}

fn find<'d>(root: Element<'d>, local: &str) -> Element<'d> {
    root.descendants()
        .find(|element| element.local() == local)
        .unwrap()
}

fn locals<'d>(elements: impl Iterator<Item = Element<'d>>) -> Vec<&'d str> {
    elements.map(|element| element.local()).collect()
}

fn written(document: &Document) -> String {
    let mut bytes = Vec::new();
    document.write(document.root().id(), &mut bytes);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn elements_know_their_names_and_their_places() {
    let document = parse("<p:a xmlns:p='urn:p' xmlns='urn:d'><b/>x<p:c><d/><d/></p:c></p:a>");
    let root = document.root();
    assert_eq!(
        (root.prefix(), root.local(), root.namespace()),
        ("p", "a", "urn:p")
    );
    assert_eq!(root.qualified_name(), "p:a");
    assert_eq!(locals(root.children()), ["b", "c"]);
    assert_eq!(locals(root.descendants()), ["a", "b", "c", "d", "d"]);
    let c = root.child("urn:p", "c").unwrap();
    assert_eq!(c.parent(), Some(root));
    assert_eq!(locals(c.ancestors()), ["a"]);
    assert_eq!(c.next_sibling(), None);
    assert_eq!(root.child("urn:d", "c"), None);
    assert!(root.contains(c) && c.contains(c) && !c.contains(root));
    assert_eq!(document.element(c.id()), c);
    assert_eq!(document.element_count(), 5);
    let range = c.range();
    assert_eq!(
        &document.bytes()[range.start as usize..range.end as usize],
        b"<p:c><d/><d/></p:c>"
    );
    assert_eq!(document.source(c.id()), Some(&b"<p:c><d/><d/></p:c>"[..]));
    assert_eq!(document.content_source(c.id()), Some(&b"<d/><d/>"[..]));
}

#[test]
fn attributes_are_normalized_and_resolved() {
    let document = parse("<a xmlns:p='urn:p' p:x='1' x=\" a&#9;b\tc\r\nd &quot;\" xml:lang='en'/>");
    let a = document.root();
    assert_eq!(a.attribute("urn:p", "x").as_deref(), Some("1"));
    assert_eq!(a.attribute("", "x").as_deref(), Some(" a\tb c d \""));
    assert_eq!(
        a.attribute("http://www.w3.org/XML/1998/namespace", "lang")
            .as_deref(),
        Some("en")
    );
    assert_eq!(a.attribute("", "p"), None);
    assert_eq!(a.attribute("http://www.w3.org/2000/xmlns/", "p"), None);
    let names: Vec<_> = a
        .attributes()
        .map(|attribute| attribute.qualified_name())
        .collect();
    assert_eq!(names, ["p:x", "x", "xml:lang"]);
}

#[test]
fn attributes_are_found_however_many_there_are_before() {
    let mut source = String::from("<r xmlns:p='urn:p'>");
    for at in 0..2_000 {
        source += &format!("<e p:b='{at}' a='&lt;{at}' b=''/>");
    }
    let document = parse(&(source + "</r>"));
    for (at, element) in document.root().children().enumerate() {
        let (number, decoded) = (at.to_string(), format!("<{at}"));
        assert_eq!(element.attribute("urn:p", "b").as_deref(), Some(&*number));
        assert_eq!(element.attribute("", "a").as_deref(), Some(&*decoded));
        assert_eq!(element.attribute("", "b").as_deref(), Some(""));
        assert_eq!(element.attribute("urn:p", "a"), None);
        let plain = |name: &str| {
            let found = element.plain_attribute(|one| one == name);
            found.map(|one| one.value().into_owned())
        };
        assert_eq!(plain("a").as_deref(), Some(&*decoded));
        assert_eq!(plain("b").as_deref(), Some(""));
        assert_eq!(plain("p:b"), None);
        let all = element.attributes().map(|one| {
            let name = (one.qualified_name(), one.namespace(), one.local());
            (name, one.value().into_owned())
        });
        assert!(all.eq([
            (("p:b", "urn:p", "b"), number),
            (("a", "", "a"), decoded),
            (("b", "", "b"), String::new()),
        ]));
    }
}

#[test]
fn elements_are_found_by_their_name_whatever_their_prefix() {
    let source = "<a xmlns='urn:n' xmlns:p='urn:n' xmlns:q='urn:q'>\
                  <b/><p:b/><q:b/><c><p:b/></c></a>";
    let prefixes = |document: &Document| -> Vec<String> {
        let found = document.elements_named("urn:n", "b");
        found.map(|one| one.prefix().to_owned()).collect()
    };
    assert_eq!(prefixes(&parse(source)), ["", "p", "p"]);
    // In tables that have more names than the document has elements, too.
    let mut buffers = Buffers::new();
    let others: String = (0..100).map(|number| format!("<n{number}/>")).collect();
    for source in [format!("<m>{others}</m>"), source.to_owned()] {
        let options = ParseOptions::default();
        let document = Document::parse(source.into(), &options, &mut buffers).unwrap();
        let expected: &[&str] = match document.root().local() {
            "m" => &[],
            _ => &["", "p", "p"],
        };
        assert_eq!(prefixes(&document), expected);
        document.recycle(&mut buffers);
    }
}

#[test]
fn long_start_tags_end_where_they_end() {
    let long = "v>".repeat(100);
    let source = format!("<r><a b='{long}' >text</a><c b='{long}'/><d b='{long}'></d></r>");
    let document = parse(&source);
    let texts = document.root().children().map(|child| child.text());
    assert!(texts.eq(["text", "", ""]));
    let tag = find(document.root(), "a").start_tag_range();
    let expected = format!("<a b='{long}' >");
    assert_eq!(source[tag.start as usize..tag.end as usize], expected);
}

#[test]
fn namespaces_in_scope_are_those_of_the_nearest_declaration() {
    let document = parse(
        "<a xmlns='urn:1' xmlns:p='urn:p'><b xmlns='' xmlns:q='urn:q'><c xmlns:p='urn:p2'/></b></a>",
    );
    let c = find(document.root(), "c");
    assert_eq!(c.namespaces_in_scope(), [("p", "urn:p2"), ("q", "urn:q")]);
    assert_eq!(c.namespace_of("p"), Some("urn:p2"));
    assert_eq!(c.namespace_of(""), None);
    assert_eq!(c.namespace_of("r"), None);
    assert_eq!(
        c.namespace_of("xml"),
        Some("http://www.w3.org/XML/1998/namespace")
    );
    assert_eq!(document.root().namespace_of("q"), None);
    assert_eq!(c.declarations().collect::<Vec<_>>(), [("p", "urn:p2")]);
}

#[test]
fn text_is_what_it_stands_for() {
    let document = parse("<a>1&lt;2\r\n<!--c--><![CDATA[<&>]]><b>not this</b>3</a>");
    assert_eq!(document.root().text(), "1<2\n<&>3");
    assert_eq!(document.root().text_strict(), None);
    for (source, text) in [
        ("<a>x</a>", Some("x")),
        ("<a/>", Some("")),
        ("<a>&#120;<![CDATA[]]></a>", Some("x")),
        ("<a><![CDATA[]]></a>", Some("")),
        ("<a>x<!--c--></a>", None),
        ("<a>x<?p?></a>", None),
        ("<a>x<b/></a>", None),
    ] {
        assert_eq!(
            parse(source).root().text_strict().as_deref(),
            text,
            "{source}"
        );
    }
}

#[test]
fn contents_are_in_order_with_text_in_one_piece() {
    let document = parse("<?p d?><a>x<![CDATA[y]]>&#122;<b/><!-->--><?q  e ?></a><!--end-->");
    let text = |text: &'static str| Content::Text(text.into());
    let comment = |text: &'static str| Content::Comment(text.into());
    let instruction = |target: &'static str, data: &'static str| Content::ProcessingInstruction {
        target,
        data: data.into(),
    };
    let root = document.root();
    let inside: Vec<_> = root.contents().collect();
    let b = Content::Element(root.first_child().unwrap());
    assert_eq!(
        inside,
        [text("xyz"), b, comment(">"), instruction("q", "e ")]
    );
    let top: Vec<_> = document.contents().collect();
    assert_eq!(
        top,
        [
            instruction("p", "d"),
            Content::Element(root),
            comment("end")
        ]
    );
}

#[test]
fn ids_are_found_by_the_rules_of_their_elements() {
    let source = format!(
        "<a xmlns:wsu='{WSU}' xmlns:ds='http://www.w3.org/2000/09/xmldsig#'><b wsu:Id='b1'/><c Id='c1'/>\
         <ds:Object Id='o1'/><d xml:id=' d1 '/><s:Assertion xmlns:s='urn:oasis:names:tc:SAML:1.0:assertion' AssertionID='s1'/>\
         <t xmlns='urn:oasis:names:tc:SAML:2.0:assertion' ID='t&#49;'/></a>"
    );
    let document = parse(&source);
    let local = |id: &str| {
        let node = document.by_id(id).unwrap();
        node.map(|node| document.element(node).local())
    };
    assert_eq!(local("b1"), Some("b"));
    assert_eq!(local("c1"), None);
    assert_eq!(local("o1"), Some("Object"));
    assert_eq!(local("d1"), Some("d"));
    assert_eq!(local("s1"), Some("Assertion"));
    assert_eq!(local("t1"), Some("t"));
    assert_eq!(local(""), None);
    let options = ParseOptions {
        ids: IdAttributes::standard().with("Id"),
        ..ParseOptions::default()
    };
    let document = Document::parse(source.into(), &options, &mut Buffers::new()).unwrap();
    assert!(document.by_id("c1").unwrap().is_some());
}

#[test]
fn the_same_id_on_two_elements_is_ambiguous_whatever_the_attribute() {
    let document = parse(&format!(
        "<a xmlns:wsu='{WSU}'><b wsu:Id='x'/><c xml:id='x'/><d xml:id='y'/></a>"
    ));
    let (b, c) = (
        find(document.root(), "b").id(),
        find(document.root(), "c").id(),
    );
    let duplicate = DuplicateId {
        id: "x".into(),
        first: b,
        second: c,
    };
    assert_eq!(document.by_id("x"), Err(duplicate.clone()));
    assert_eq!(document.duplicate_id(), Some(duplicate));
    assert!(document.by_id("y").unwrap().is_some());
}

#[test]
fn an_id_of_another_element_makes_a_lookalike_a_duplicate() {
    let options = ParseOptions {
        ids: IdAttributes::with_lookalikes(),
        ..ParseOptions::default()
    };
    for (content, duplicate) in [
        ("<b wsu:Id='x'/><c Id='x'/>", Some("x")),
        ("<b ID=' x'/><c wsu:Id='x'/>", Some("x")),
        ("<b id='&#120;'/><c wsu:Id='x'/>", Some("x")),
        ("<b wsu:Id='x' Id=' x '/>", None),
        ("<b Id='y'/><c Id='y'/><d wsu:Id='x'/>", None),
        ("<b wsu:Id='x'/><c key='x' o:Id='x' xmlns:o='urn:o'/>", None),
    ] {
        let source = format!("<a xmlns:wsu='{WSU}'>{content}</a>").into_bytes();
        let document = Document::parse(source, &options, &mut Buffers::new()).unwrap();
        let found = document.duplicate_id().map(|duplicate| duplicate.id);
        assert_eq!(found.as_deref(), duplicate, "{content}");
    }
}

#[test]
fn a_graft_takes_the_place_of_its_element() {
    let mut document = parse("<r><a/>1<e><f/></e>2<b/></r>");
    let e = find(document.root(), "e").id();
    graft(&mut document, "e", "x<c><g/></c>y<d/>z", Graft::Content).unwrap();
    let root = document.root();
    assert_eq!(locals(root.children()), ["a", "c", "d", "b"]);
    assert_eq!(locals(root.descendants()), ["r", "a", "c", "g", "d", "b"]);
    assert_eq!(root.text(), "1xyz2");
    assert_eq!(written(&document), "<r><a/>1x<c><g/></c>y<d/>z2<b/></r>");
    assert_eq!(document.source(root.id()), None);
    let c = find(root, "c");
    assert_eq!(c.parent(), Some(root));
    assert!(root.contains(c));
    assert_eq!(document.source(c.id()), Some(&b"<c><g/></c>"[..]));
    assert!(document.element(e).is_replaced() && !c.is_replaced());
    assert!(c.is_live() && !document.element(e).is_live());
    assert!(!document.element(e).first_child().unwrap().is_live());
    assert_eq!(document.source(e), Some(&b"<e><f/></e>"[..]));
    assert_eq!(document.element(e).next_sibling().unwrap().local(), "b");
    assert_eq!(document.bytes(), b"<r><a/>1<e><f/></e>2<b/></r>");
}

#[test]
fn grafts_may_be_empty_or_text_or_follow_each_other() {
    let mut document = parse("<r><e/><f/><g/></r>");
    graft(&mut document, "e", "", Graft::Content).unwrap();
    graft(&mut document, "g", "only &amp; text", Graft::Content).unwrap();
    assert_eq!(locals(document.root().children()), ["f"]);
    graft(&mut document, "f", "<!-- c -->", Graft::Content).unwrap();
    assert_eq!(document.root().first_child(), None);
    assert_eq!(document.root().text(), "only & text");
    assert_eq!(written(&document), "<r><!-- c -->only &amp; text</r>");
}

#[test]
fn a_graft_may_hold_what_is_grafted_next() {
    let mut document = parse("<r xmlns='urn:r'><e/><z/></r>");
    graft(
        &mut document,
        "e",
        "<outer>1<inner/>2</outer>",
        Graft::Element,
    )
    .unwrap();
    graft(&mut document, "inner", "<x><y/></x>", Graft::Element).unwrap();
    graft(&mut document, "y", "deep<w/>", Graft::Content).unwrap();
    let root = document.root();
    assert_eq!(locals(root.descendants()), ["r", "outer", "x", "w", "z"]);
    assert!(
        root.descendants()
            .all(|element| element.namespace() == "urn:r")
    );
    assert_eq!(
        written(&document),
        "<r xmlns='urn:r'><outer>1<x>deep<w/></x>2</outer><z/></r>"
    );
    // Replaced as a whole, with all that was grafted into it.
    graft(&mut document, "outer", "<new/>", Graft::Element).unwrap();
    assert_eq!(written(&document), "<r xmlns='urn:r'><new/><z/></r>");
}

#[test]
fn a_graft_is_in_the_scope_of_the_parent_not_of_what_it_replaces() {
    let mut document =
        parse("<r xmlns:p='urn:p'><e xmlns='urn:e' xmlns:q='urn:q' xmlns:p='urn:e'/></r>");
    let undeclared = Problem::UndeclaredPrefix { prefix: "q".into() };
    assert_eq!(
        graft(&mut document, "e", "<q:x/>", Graft::Element),
        Err((1, undeclared))
    );
    graft(&mut document, "e", "<p:x><y/></p:x>", Graft::Element).unwrap();
    assert_eq!(find(document.root(), "x").namespace(), "urn:p");
    assert_eq!(find(document.root(), "y").namespace(), "");
}

#[test]
fn the_root_may_be_replaced_by_an_element() {
    let mut document = parse("<e/>");
    assert_eq!(
        graft(&mut document, "e", "<a/>", Graft::Content),
        Err((0, Problem::NotGraftable))
    );
    graft(&mut document, "e", " <a><b/></a>\n", Graft::Element).unwrap();
    assert_eq!(document.root().local(), "a");
    assert_eq!(locals(document.root().descendants()), ["a", "b"]);
}

#[test]
fn no_plaintext_breaks_out_of_its_element() {
    let mut document = parse("<r><e/><z/></r>");
    let mut refused = |plaintext: &str, kind| {
        let before = (document.element_count(), written(&document));
        let error = graft(&mut document, "e", plaintext, kind).unwrap_err();
        assert_eq!((document.element_count(), written(&document)), before);
        error
    };
    let inside = |inside| Problem::UnexpectedEnd { inside };
    assert_eq!(
        refused("</r>", Graft::Content),
        (0, Problem::UnexpectedEndTag)
    );
    assert_eq!(
        refused("<a/></r><r>", Graft::Content),
        (4, Problem::UnexpectedEndTag)
    );
    assert_eq!(refused("<a>", Graft::Content), (3, inside("an element")));
    assert_eq!(
        refused("text<!--", Graft::Content),
        (4, inside("a comment"))
    );
    assert_eq!(
        refused("<![CDATA[", Graft::Content),
        (0, inside("a CDATA section"))
    );
    assert_eq!(
        refused("&#60", Graft::Content),
        (0, Problem::MalformedReference)
    );
    assert_eq!(
        refused("<!DOCTYPE a>", Graft::Content),
        (0, Problem::Doctype)
    );
    assert_eq!(
        refused("<?xml version='1.0'?><a/>", Graft::Element),
        (0, Problem::ReservedTarget)
    );
    assert_eq!(
        refused("<a/><b/>", Graft::Element),
        (4, Problem::SecondElement)
    );
    assert_eq!(
        refused("<a/>text", Graft::Element),
        (4, Problem::TextOutsideElement)
    );
    assert_eq!(refused("", Graft::Element), (0, Problem::NoElement));
    assert_eq!(
        refused("\u{FFFE}", Graft::Content),
        (
            0,
            Problem::IllegalCharacter {
                character: '\u{FFFE}'
            }
        )
    );
}

#[test]
fn what_a_refused_graft_brought_is_forgotten() {
    let mut document = parse(&format!("<r xmlns:wsu='{WSU}'><e/><b wsu:Id='x'/></r>"));
    let bad = "<a wsu:Id='x' xmlns:p='urn:p' p:q='1'><c wsu:Id='y'/>";
    assert!(graft(&mut document, "e", bad, Graft::Content).is_err());
    assert_eq!(document.duplicate_id(), None);
    assert_eq!(document.by_id("y"), Ok(None));
    graft(&mut document, "e", "<c wsu:Id='y'/>", Graft::Content).unwrap();
    let c = find(document.root(), "c").id();
    assert_eq!(document.by_id("y"), Ok(Some(c)));
}

#[test]
fn ids_of_grafts_join_the_index_and_may_be_ambiguous() {
    let mut document = parse(&format!("<r xmlns:wsu='{WSU}'><e/><b wsu:Id='x'/></r>"));
    graft(&mut document, "e", "<a wsu:Id='x'/>", Graft::Element).unwrap();
    let (a, b) = (
        find(document.root(), "a").id(),
        find(document.root(), "b").id(),
    );
    assert_eq!(
        document.by_id("x"),
        Err(DuplicateId {
            id: "x".into(),
            first: b,
            second: a
        })
    );
}

#[test]
fn an_element_is_replaced_once() {
    let mut document = parse("<r><e><f/></e></r>");
    let (e, f) = (
        find(document.root(), "e").id(),
        find(document.root(), "f").id(),
    );
    let options = ParseOptions::default();
    document
        .graft(e, b"<a/>".to_vec(), Graft::Element, &options)
        .unwrap();
    for node in [e, f] {
        let error = document
            .graft(node, b"<a/>".to_vec(), Graft::Element, &options)
            .unwrap_err();
        assert_eq!(error.problem, Problem::NotGraftable);
    }
}

#[test]
fn depth_and_elements_count_through_grafts() {
    let mut options = ParseOptions::default();
    options.limits.depth = 3;
    options.limits.elements = 4;
    let mut document =
        Document::parse(b"<r><e/></r>".to_vec(), &options, &mut Buffers::new()).unwrap();
    let e = document.root().first_child().unwrap().id();
    let mut problem = |plaintext: &[u8]| {
        document
            .graft(e, plaintext.to_vec(), Graft::Content, &options)
            .unwrap_err()
            .problem
    };
    use soapstone_xml::Limit;
    assert_eq!(
        problem(b"<a><b><c/></b></a>"),
        Problem::TooMany {
            limit: Limit::Depth,
            allowed: 3
        }
    );
    assert_eq!(
        problem(b"<a/><b/><c/>"),
        Problem::TooMany {
            limit: Limit::Elements,
            allowed: 4
        }
    );
    document
        .graft(e, b"<a><b/></a>".to_vec(), Graft::Content, &options)
        .unwrap();
}

#[test]
fn documents_in_other_encodings_are_the_same_documents() {
    let source = "<?xml version='1.0' encoding='UTF-16'?><a b='é'>€😀</a>";
    let utf16: Vec<u8> = [0xFEFF]
        .into_iter()
        .chain(source.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let document = Document::parse(utf16, &ParseOptions::default(), &mut Buffers::new()).unwrap();
    assert_eq!(document.root().text(), "€😀");
    assert_eq!(document.root().attribute("", "b").as_deref(), Some("é"));
    assert!(
        document
            .bytes()
            .starts_with(b"<?xml version='1.0' encoding='UTF-8'?>")
    );
}

#[test]
fn documents_cross_threads_and_stay_out_of_logs() {
    fn is_shareable<T: Send + Sync>(_: &T) {}
    let mut document = parse("<r>secret<e/></r>");
    is_shareable(&document);
    graft(&mut document, "e", "hidden", Graft::Content).unwrap();
    assert_eq!(
        format!("{document:?}"),
        "Document { bytes: 23, elements: 2, grafts: 1 }"
    );
}

#[test]
fn recycled_memory_holds_nothing_of_the_last_document() {
    let mut buffers = Buffers::new();
    let options = ParseOptions::default();
    for round in 0..3 {
        let source =
            format!("<a{round} xmlns:p{round}='urn:{round}' xml:id='i{round}'><b/></a{round}>");
        let document = Document::parse(source.into(), &options, &mut buffers).unwrap();
        assert_eq!(document.root().local(), format!("a{round}"));
        assert_eq!(document.element_count(), 2);
        assert_eq!(document.root().namespaces_in_scope().len(), 1);
        if round > 0 {
            assert_eq!(document.by_id(&format!("i{}", round - 1)), Ok(None));
            assert_eq!(
                document.root().namespace_of(&format!("p{}", round - 1)),
                None
            );
        }
        document.recycle(&mut buffers);
        // A prefix that the last document declared is not declared in this one.
        let undeclared = format!("<p{round}:a/>");
        let error = Document::parse(undeclared.into(), &options, &mut buffers).unwrap_err();
        assert_eq!(
            error.problem,
            Problem::UndeclaredPrefix {
                prefix: format!("p{round}")
            }
        );
    }
}
