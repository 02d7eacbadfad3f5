//! What XPath 1.0 expressions mean, clause by clause, and that none of them runs without end.

use soapstone_xml::{Buffers, Document, DuplicateId, Graft, ParseOptions};
use soapstone_xmltools::dtd::DeclaredId;
use soapstone_xmltools::nodes::xpath::{Evaluation, Expression, Value, XPathError};
use soapstone_xmltools::nodes::{NodeKind, Tree, TreeNode};

const LIBRARY: &str = "<?style sheet?><!-- first --><l:library xmlns:l='urn:l' xml:lang='en-GB' name='central'>\
    <book id='b1' price='10'><title>One</title><price>10</price></book>\
    <book id='b2' price='20.5' xml:lang='de'><title>Zwei &amp; <![CDATA[<mehr>]]></title><price>20.5</price></book>\
    <!-- between --><?note it?>\
    <l:book id='b3' l:price='x' xmlns='urn:d'><title/><price>x</price></l:book></l:library><!-- last -->";

fn document(source: &str) -> Document {
    Document::parse(
        source.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    )
    .unwrap()
}

fn parse(expression: &str) -> Result<Expression, XPathError> {
    Expression::parse(expression, &|prefix| match prefix {
        "l" => Some("urn:l"),
        "d" => Some("urn:d"),
        _ => None,
    })
}

/// The value with the first element as context node: nodes by their names and string-values.
fn evaluate(source: &str, from: &str, expression: &str) -> Result<String, XPathError> {
    let document = document(source);
    let declared = [DeclaredId {
        element: "book".into(),
        attribute: "id".into(),
    }];
    let tree = Tree::new(&document, &declared).unwrap();
    let mut evaluation = Evaluation::new(&tree);
    let Value::Nodes(context) = evaluation.value(&parse(from).unwrap(), TreeNode::ROOT)? else {
        panic!("{from}")
    };
    Ok(match evaluation.value(&parse(expression)?, context[0])? {
        Value::Nodes(nodes) => nodes
            .iter()
            .map(|node| show(&tree, *node))
            .collect::<Vec<_>>()
            .join(" "),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::Number(number) => format!("{number:?}"),
        Value::String(string) => format!("'{string}'"),
    })
}

fn show(tree: &Tree<'_>, node: TreeNode) -> String {
    let (name, value) = (tree.local(node), tree.string_value(node));
    match tree.kind(node) {
        NodeKind::Root => "/".to_owned(),
        NodeKind::Element => match tree.attribute(node, "", "id") {
            Some(id) => format!("{name}#{}", tree.string_value(id)),
            None => name.to_owned(),
        },
        NodeKind::Attribute => format!("@{name}={value}"),
        NodeKind::Namespace => format!("xmlns:{name}={value}"),
        NodeKind::Text => format!("\"{value}\""),
        NodeKind::Comment => format!("<!--{value}-->"),
        NodeKind::Instruction => format!("<?{name} {value}?>"),
    }
}

#[track_caller]
fn assert_values(from: &str, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let found = evaluate(LIBRARY, from, expression);
        assert_eq!(found.as_deref(), Ok(*expected), "{expression}");
    }
}

#[test]
fn axes_select_in_document_order() {
    assert_values(
        "//book[2]",
        &[
            ("self::book", "book#b2"),
            ("child::*", "title price"),
            ("child::node()/child::node()", "\"Zwei & <mehr>\" \"20.5\""),
            ("descendant::text()", "\"Zwei & <mehr>\" \"20.5\""),
            ("descendant-or-self::*", "book#b2 title price"),
            ("parent::l:library", "library"),
            ("parent::library", ""),
            ("ancestor::node()", "/ library"),
            ("ancestor-or-self::*", "library book#b2"),
            (
                "following-sibling::node()",
                "<!-- between --> <?note it?> book#b3",
            ),
            ("preceding-sibling::*", "book#b1"),
            (
                "following::node()",
                "<!-- between --> <?note it?> book#b3 title price \"x\" <!-- last -->",
            ),
            ("preceding::*", "book#b1 title price"),
            ("preceding::comment()", "<!-- first -->"),
            ("attribute::*", "@id=b2 @price=20.5 @lang=de"),
            ("@xml:lang", "@lang=de"),
            ("../@name", "@name=central"),
            (
                "namespace::*",
                "xmlns:l=urn:l xmlns:xml=http://www.w3.org/XML/1998/namespace",
            ),
            (
                "//d:title/namespace::*",
                "xmlns:=urn:d xmlns:l=urn:l xmlns:xml=http://www.w3.org/XML/1998/namespace",
            ),
            ("..", "library"),
            (".", "book#b2"),
            ("/", "/"),
            ("/*", "library"),
        ],
    );
}

#[test]
fn attributes_and_namespaces_have_a_parent_and_are_no_children() {
    assert_values(
        "//book[2]/@price",
        &[
            ("..", "book#b2"),
            ("ancestor::*", "library book#b2"),
            ("following-sibling::node() | preceding-sibling::node()", ""),
            ("following::node()[1]", "title"),
            ("preceding::*", "book#b1 title price"),
            ("descendant-or-self::node()", "@price=20.5"),
            ("self::*", ""),
            ("self::node()", "@price=20.5"),
            (
                "//node()/self::node()[name() = 'price']",
                "price price price",
            ),
            ("ancestor-or-self::node()", "/ library book#b2 @price=20.5"),
        ],
    );
}

#[test]
fn node_tests_go_by_kind_and_expanded_name() {
    assert_values(
        "/*",
        &[
            ("book", "book#b1 book#b2"),
            ("l:book", "book#b3"),
            ("l:*", "book#b3"),
            ("*", "book#b1 book#b2 book#b3"),
            ("//d:price", "price"),
            ("//@l:*", "@price=x"),
            ("//l:book/@price", ""),
            ("processing-instruction()", "<?note it?>"),
            ("/processing-instruction('style')", "<?style sheet?>"),
            ("/processing-instruction('other')", ""),
            (
                "//comment()",
                "<!-- first --> <!-- between --> <!-- last -->",
            ),
            ("//text()[. = 'One']", "\"One\""),
        ],
    );
}

#[test]
fn positions_count_along_the_axis_and_parentheses_count_in_document_order() {
    assert_values(
        "//l:book",
        &[
            ("preceding-sibling::*[1]", "book#b2"),
            ("preceding-sibling::*[last()]", "book#b1"),
            ("(preceding-sibling::*)[1]", "book#b1"),
            ("ancestor-or-self::node()[1]", "book#b3"),
            ("(ancestor-or-self::node())[1]", "/"),
            ("preceding::*[2]", "title"),
            ("//title[1]", "title title"),
            ("(//title)[2]", "title"),
            ("/descendant::title[2]/..", "book#b2"),
            ("../*[position() mod 2 = 1]", "book#b1 book#b3"),
            ("../book[@price][2]", "book#b2"),
            ("../book[@xml:lang][1]", "book#b2"),
            ("../*[2.5]", ""),
            ("../*[position() = last()]/@id", "@id=b3"),
            ("../*['2']", "book#b1 book#b2 book#b3"),
        ],
    );
}

#[test]
fn unions_are_sets_in_document_order() {
    assert_values(
        "/*",
        &[
            ("book[2] | book[1] | book[2]", "book#b1 book#b2"),
            ("count(. | /*)", "1.0"),
            ("count(//. | //@* | //namespace::*)", "53.0"),
            ("(book | l:book)/@id", "@id=b1 @id=b2 @id=b3"),
            ("id('b1') | id('b2 b1')", "book#b1 book#b2"),
        ],
    );
}

#[test]
fn comparisons_with_node_sets_ask_for_some_node() {
    assert_values(
        "/*",
        &[
            ("book/@price = 10", "true"),
            ("book/@price != 10", "true"),
            ("not(book/@price = 10)", "false"),
            ("book/@price > 20", "true"),
            ("book/@price > 20.5", "false"),
            ("20 < book/@price", "true"),
            ("l:book/@l:price > 0", "false"),
            ("book/@price = 'x'", "false"),
            ("book/@price = '20.5'", "true"),
            ("nothing = ''", "false"),
            ("nothing != ''", "false"),
            ("nothing = false()", "true"),
            ("book = true()", "true"),
            ("book/@price = book/price", "true"),
            ("book[1]/@price != book[1]/price", "false"),
            ("book/@price != book/price", "true"),
            ("book/@price < book/price", "true"),
            ("book[2]/@price < book[1]/price", "false"),
            ("//price <= //@price", "true"),
            ("nothing = nothing", "false"),
            ("true() > false()", "true"),
            ("'1' = 1", "true"),
            ("'a' = 'a'", "true"),
            ("'a' < 'b'", "false"),
            ("true() = 'false'", "true"),
            ("1 = 1 = 1", "true"),
            ("3 > 2 > 1", "false"),
        ],
    );
}

#[test]
fn arithmetic_is_that_of_ieee_754() {
    assert_values(
        "/*",
        &[
            ("1 + 2 * 3 - 4 div 2", "5.0"),
            ("5 mod 2", "1.0"),
            ("5 mod -2", "1.0"),
            ("-5 mod 2", "-1.0"),
            ("1.5 mod 0.5", "0.0"),
            ("1 div 0", "inf"),
            ("-1 div 0", "-inf"),
            ("0 div 0", "NaN"),
            ("--1", "1.0"),
            ("-(-1)", "1.0"),
            ("- - '2'", "2.0"),
            ("'a' + 1", "NaN"),
            ("book/@price + 1", "11.0"),
            ("sum(book/price)", "30.5"),
            ("sum(nothing)", "0.0"),
            ("floor(-1.5)", "-2.0"),
            ("ceiling(-1.5)", "-1.0"),
            ("ceiling(-0.5)", "-0.0"),
            ("round(-1.5)", "-1.0"),
            ("round(2.5)", "3.0"),
            ("number(true())", "1.0"),
            ("number()", "NaN"),
            ("number(' 12 ')", "12.0"),
            ("string(1 div 3)", "'0.3333333333333333'"),
            ("string(1000000 * 1000000)", "'1000000000000'"),
            ("string(-0)", "'0'"),
        ],
    );
}

#[test]
fn string_functions_count_characters() {
    assert_values(
        "//book[2]",
        &[
            ("string()", "'Zwei & <mehr>20.5'"),
            ("string(title)", "'Zwei & <mehr>'"),
            ("string(//book)", "'One10'"),
            ("string(nothing)", "''"),
            ("string(true())", "'true'"),
            ("concat(@id, '-', 1, true())", "'b2-1true'"),
            ("starts-with(title, 'Zw')", "true"),
            ("starts-with(title, '')", "true"),
            ("contains('abc', 'bc')", "true"),
            ("substring-before('1999/04/01', '/')", "'1999'"),
            ("substring-after('1999/04/01', '/')", "'04/01'"),
            ("substring-after('1999/04/01', '')", "'1999/04/01'"),
            ("substring-before('abc', 'x')", "''"),
            ("substring('12345', 2, 3)", "'234'"),
            ("substring('12345', 2)", "'2345'"),
            ("substring('12345', 1.5, 2.6)", "'234'"),
            ("substring('12345', 0, 3)", "'12'"),
            ("substring('12345', 0 div 0, 3)", "''"),
            ("substring('12345', 1, 0 div 0)", "''"),
            ("substring('12345', -42, 1 div 0)", "'12345'"),
            ("substring('12345', -1 div 0, 1 div 0)", "''"),
            ("substring('äöüß', 2, 2)", "'öü'"),
            ("string-length('äöü😀')", "4.0"),
            ("string-length()", "17.0"),
            ("normalize-space('  a \t\n b  ')", "'a b'"),
            ("translate('bar', 'abc', 'AB')", "'BAr'"),
            ("translate('--aaa--', 'abc-', 'ABC')", "'AAA'"),
            ("translate('aa', 'aa', 'xy')", "'xx'"),
        ],
    );
}

#[test]
fn names_languages_and_ids_are_told() {
    assert_values(
        "//d:title",
        &[
            ("name(..)", "'l:book'"),
            ("local-name(..)", "'book'"),
            ("namespace-uri()", "'urn:d'"),
            ("name(../@l:price)", "'l:price'"),
            ("name(namespace::*[. = 'urn:l'])", "'l'"),
            ("namespace-uri(namespace::*)", "''"),
            ("name(/processing-instruction())", "'style'"),
            ("name(/)", "''"),
            ("name(nothing)", "''"),
            ("lang('en')", "true"),
            ("lang('EN-gb')", "true"),
            ("lang('e')", "false"),
            ("//book[lang('de')]", "book#b2"),
            ("//book[2]/@price[lang('de')]", "@price=20.5"),
            ("id('b2')/title", "title"),
            ("id(//book/@id)", "book#b1 book#b2"),
            ("id('b3')", ""),
            ("boolean(nothing)", "false"),
            ("boolean('false')", "true"),
            ("boolean(0 div 0)", "false"),
            ("not(0)", "true"),
        ],
    );
}

#[test]
fn text_nodes_are_as_long_as_they_can_be() {
    let source = "<a>one &amp;<![CDATA[ two]]>&#32;three<!-- --> four<b/><![CDATA[]]></a>";
    assert_eq!(
        evaluate(source, "/a", "text()").unwrap(),
        "\"one & two three\" \" four\""
    );
    assert_eq!(evaluate(source, "/a", "count(node())").unwrap(), "4.0");
}

#[test]
fn grafts_stand_where_they_were_made() {
    let mut document = document("<a xmlns:p='urn:p'>x<e/>y</a>");
    let replaced = document.root().first_child().unwrap().id();
    let options = ParseOptions::default();
    document
        .graft(
            replaced,
            b"1<p:b xmlns='urn:q'><c/></p:b>2".to_vec(),
            Graft::Content,
            &options,
        )
        .unwrap();
    let tree = Tree::new(&document, &[]).unwrap();
    let mut evaluation = Evaluation::new(&tree);
    let mut shown = |expression: &str| match evaluation
        .value(&parse(expression).unwrap(), TreeNode::ROOT)
        .unwrap()
    {
        Value::Nodes(nodes) => nodes
            .iter()
            .map(|node| show(&tree, *node))
            .collect::<Vec<_>>()
            .join(" "),
        value => panic!("{value:?}"),
    };
    assert_eq!(shown("/a/node()"), "\"x1\" b \"2y\"");
    assert_eq!(shown("//namespace::*[. = 'urn:q']/.."), "b c");
    assert_eq!(tree.element(replaced), None);
}

#[test]
fn type_errors_are_told() {
    for expression in [
        "count(1)",
        "'a' | book",
        "sum('x')",
        "(1)/book",
        "name(true())",
        "1[1]",
    ] {
        assert_eq!(
            evaluate(LIBRARY, "/*", expression),
            Err(XPathError::NotANodeSet),
            "{expression}"
        );
    }
}

#[test]
fn here_is_the_bearer_of_the_expression_and_an_error_without_one() {
    let document = document("<a><b/><b><c/></b></a>");
    let tree = Tree::new(&document, &[]).unwrap();
    let mut evaluation = Evaluation::new(&tree);
    let expression = parse("count(here()/ancestor::b[1]/preceding-sibling::*)").unwrap();
    assert_eq!(
        evaluation.value(&expression, TreeNode::ROOT),
        Err(XPathError::NoHere)
    );
    let bearer = document
        .root()
        .descendants()
        .find(|element| element.is("", "c"))
        .unwrap();
    evaluation.set_here(tree.element(bearer.id()));
    assert_eq!(
        evaluation.value(&expression, TreeNode::ROOT),
        Ok(Value::Number(1.0))
    );
}

#[test]
fn an_id_of_two_elements_is_an_error() {
    let document = document("<a><book id='x'/><book id='y'/><book id='x'/></a>");
    let declared = [DeclaredId {
        element: "book".into(),
        attribute: "id".into(),
    }];
    let tree = Tree::new(&document, &declared).unwrap();
    let books: Vec<_> = document.root().children().map(|book| book.id()).collect();
    let duplicate = DuplicateId {
        id: "x".into(),
        first: books[0],
        second: books[2],
    };
    let mut evaluation = Evaluation::new(&tree);
    let found = evaluation.value(&parse("id('x')").unwrap(), TreeNode::ROOT);
    assert_eq!(found, Err(XPathError::Duplicate(duplicate)));
    assert!(
        evaluation
            .value(&parse("id('y')").unwrap(), TreeNode::ROOT)
            .is_ok()
    );
}

#[test]
fn evaluation_ends_whatever_the_expression() {
    let document = document(&format!("<a>{}</a>", "<b>x</b>".repeat(2_000)));
    let tree = Tree::new(&document, &[]).unwrap();
    let limit = Err(XPathError::Limit {
        limit: "operations",
        maximum: 1_000_000,
    });
    for expression in [
        "count(//b[count(preceding::b[count(preceding::b) > 0]) > 0])".to_owned(),
        "//b[count(following-sibling::b[position() = last()]) = count(../b)]".to_owned(),
        format!(
            "string-length({}''{})",
            "concat(string(/), ".repeat(29),
            ")".repeat(29)
        ),
        "//b[translate(string(/*), string(/*), string(..)) = '']".to_owned(),
    ] {
        let found = Evaluation::bounded(&tree, 1_000_000)
            .value(&parse(&expression).unwrap(), TreeNode::ROOT);
        assert_eq!(found, limit, "{expression}");
    }
}

#[test]
fn the_bound_covers_all_that_one_evaluation_does() {
    let document = document(&format!("<a>{}</a>", "<b>x</b>".repeat(300)));
    let tree = Tree::new(&document, &[]).unwrap();
    let mut evaluation = Evaluation::bounded(&tree, 1_000_000);
    let expression = parse("count(//b[preceding::b[position() = last()]])").unwrap();
    let mut rounds = 0;
    let end = loop {
        rounds += 1;
        if let Err(error) = evaluation.value(&expression, TreeNode::ROOT) {
            break error;
        }
    };
    assert_eq!(
        end,
        XPathError::Limit {
            limit: "operations",
            maximum: 1_000_000
        }
    );
    assert!((2..20).contains(&rounds), "{rounds}");
}

#[test]
fn a_filter_evaluates_once_per_node_and_keeps_constants() {
    let document = document(&format!(
        "<a><s><t/></s>{}</a>",
        "<b c='d'>x</b>".repeat(2_000)
    ));
    let tree = Tree::new(&document, &[]).unwrap();
    let all = tree.whole(true);
    for (expression, kept) in [
        ("not(ancestor-or-self::s)", all.len() - 4),
        ("ancestor-or-self::b", 8_000),
        ("count(. | //t) = count(//t)", 1),
        ("self::text()", 2_000),
        ("position() = 1 and last() = 1", all.len()),
    ] {
        // Some dozens of operations per node; `//t` for each of them would be 10,000.
        let mut evaluation = Evaluation::bounded(&tree, 400_000);
        let filtered = evaluation
            .filter(&parse(expression).unwrap(), &all)
            .unwrap();
        assert_eq!(filtered.len(), kept, "{expression}");
    }
}

#[test]
fn the_deepest_expressions_fit_on_a_small_stack() {
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(31), close.repeat(31));
    let evaluated = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            for (open, close) in [
                ("(", ")"),
                ("not(", ")"),
                ("/a[", "]"),
                ("(//a)[", "]"),
                ("concat('', 1 + ", ")"),
            ] {
                assert!(
                    evaluate("<a/>", "/a", &nested(open, close)).is_ok(),
                    "{open}"
                );
            }
        });
    evaluated.unwrap().join().unwrap();
}
